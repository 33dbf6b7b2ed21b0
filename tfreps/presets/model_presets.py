"""`from_preset` and `save_preset` of all models, and uploads to the Hugging Face Hub."""

import os
import pathlib
import tempfile

from tfreps.files.json_files import read_json
from tfreps.models import BiLM, Elmo
from tfreps.presets import hub_repositories
from tfreps.presets.sources import fetch
from tfreps.runs.preset_run import write_preset
from tfreps.runs.run_folder import OPTIONS, RunFolder


def read(cls: type, source: str | os.PathLike, **options):
    """Loads a model; see `WholeModel.from_preset`."""
    path = fetch(source)
    if _is_run(path):
        return _from_run(cls, path, source, options)
    if cls is Elmo:
        return Elmo(BiLM.from_pretrained(path, trainable=False), **options)
    if not hasattr(cls, "from_pretrained"):
        raise ValueError(
            f"{source} must be a folder that `save_preset` or a tfreps program wrote: models of "
            f"the class {cls.__name__} have no other format."
        )
    return cls.from_pretrained(path, **options)


def write(model, folder: str | os.PathLike) -> None:
    """Writes a model; see `WholeModel.save_preset`."""
    write_preset(model, folder)


def upload_preset(
    model, address: str, message: str = "Upload with tfreps", private: bool | None = None
) -> str:
    """Uploads a model to the Hugging Face Hub.

    Args:
        model: Model of `tfreps.models`, or object that `tfreps.load` returned. The latter is
            uploaded with its vocabulary and reads raw text when it is loaded again.
        address: str. `hf://owner/repository[@branch][/folder]`. The repository is created if it
            does not exist; the branch must exist.
        message: str. Message of the commit. Defaults to "Upload with tfreps".
        private: bool. Whether a new repository is private. If `None`, the owner's default setting
            applies. Defaults to `None`.

    Returns:
        str. URL of the commit.

    Raises:
        ValueError: If the address is not valid, the model cannot be stored, or the upload fails.
    """
    repository = hub_repositories.parse(address)
    name = (repository.folder or repository.name).rsplit("/", 1)[-1]
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent, name)
        model.save_preset(folder)
        return hub_repositories.upload(folder, address, message, private)


def _from_run(cls, path, source, options):
    model = RunFolder.open(path).load_model()
    found = model.find(cls)
    if found is None and cls is Elmo and (bilm := model.find(BiLM)) is not None:
        bilm.trainable = False
        return Elmo(bilm, **options)
    if found is None:
        raise ValueError(
            f"{source} contains a model of the class {type(model).__name__}; expected one of the "
            f"class {cls.__name__}."
        )
    if options:
        raise ValueError(
            f"`{next(iter(options))}` cannot be changed: {source} contains a complete "
            f"{type(model).__name__}. Omit the option."
        )
    return found


def _is_run(path: pathlib.Path) -> bool:
    file = path / OPTIONS
    return file.is_file() and "lstm" not in read_json(file)  # bilm-tf has a file of that name
