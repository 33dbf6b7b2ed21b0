"""run_card: the training options, data and metrics of a run for its model card."""

from tfreps.files.model_card import measured
from tfreps.runs.run_folder import RunFolder

DATA = ("train", "dev", "validation", "test")  # options that name data files
# Options that say where files are or how the process ran, but nothing about the model.
NOT_SHOWN = {*DATA, "run", "config", "resume", "overwrite", "minutes", "checkpoint_every"}


def run_card(run: RunFolder) -> dict:
    """Returns the arguments of `tfreps.files.model_card.ModelCard` that a run folder provides.

    Args:
        run: `RunFolder` of a run that saved a model.

    Returns:
        dict with `training` (the program and the options that have a value), `data` (the names of
        the files that the user gave, without their folders) and `metrics`.

    Example:
        >>> import tempfile
        >>> run = RunFolder.create(tempfile.mkdtemp() + "/run", "train-hmm", {"train": ["a/b.txt"]})
        >>> run_card(run)["data"]
        {'train': ['b.txt']}
    """
    options = {
        name: value
        for name, value in run.options.items()
        if name not in NOT_SHOWN and value not in (None, False, [])
    }
    return {
        "training": {"program": f"tfreps {run.program}", **options},
        "data": {part: _names(run.options[part]) for part in DATA if run.options.get(part)},
        "metrics": measured(run.results()),
    }


def _names(files: str | list[str]) -> list[str]:
    files = [files] if isinstance(files, str) else files
    return [str(file).replace("\\", "/").rsplit("/", 1)[-1] for file in files]
