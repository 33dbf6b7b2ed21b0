"""`from_preset` and `save_preset` of all models, and uploads to the Hugging Face Hub."""

import os
import pathlib
import tempfile

from tfreps.models import BiLM, Elmo
from tfreps.models.registry import converter
from tfreps.presets import hub_repositories
from tfreps.presets.sources import fetched
from tfreps.runs.preset_run import write_preset
from tfreps.runs.run_folder import RunFolder, is_run_folder


def read(cls: type, source: str | os.PathLike, **options):
    """Loads a model; see `WholeModel.from_preset`."""
    with fetched(source) as path:
        if is_run_folder(path):
            return _from_run(cls, path, source, options)
        if cls is Elmo:
            return Elmo(BiLM.from_pretrained(path, trainable=False), **options)
        if not hasattr(cls, "from_pretrained"):
            raise ValueError(
                f"{source} must be a folder that `save_preset` or a tfreps program wrote: models "
                f"of the class {cls.__name__} have no other format."
            )
        return cls.from_pretrained(path, **options)


def read_pretrained(cls: type, source: str | os.PathLike, *args, **options):
    """Loads published weights; see `from_pretrained` of the class."""
    with fetched(source) as path:
        return converter(cls, "pretrained").read(path, *args, **options)


def write(model, folder: str | os.PathLike) -> None:
    """Writes a model; see `WholeModel.save_preset`."""
    write_preset(model, folder)


def upload(model, address: str, message: str, private: bool | None) -> str:
    """Uploads a model; see `WholeModel.upload_preset`."""
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
