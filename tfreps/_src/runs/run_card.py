"""run_card: the training options, data and metrics of a run for its model card."""

import logging
from typing import Any

from tfreps._src.files.model_card import measured
from tfreps._src.runs.run_folder import INPUTS, RunFolder

DATA = ("train", "validation", "test")  # options that name data files
# Options that say where files are or how the process ran, but nothing about the model.
NOT_SHOWN = {
    *DATA,
    "run",
    "config",
    "resume",
    "overwrite",
    "time_limit_minutes",
    "checkpoint_every",
    "keep_checkpoints",
    "output",
    "output_format",
}
# Options that name other files or folders.
PATHS = {*INPUTS, "init_config", "model", "checkpoint"} - set(DATA)


def run_card(run: RunFolder) -> dict[str, Any]:
    """Returns a dict of the arguments of `files.model_card.model_card` that a run folder provides.

    Only the last component of each path of a file or folder is included. Logs a warning if the
    run was interrupted.
    """
    options = {
        name: _last_part(value) if name in PATHS else value
        for name, value in run.options.items()
        if _is_shown(run, name, value)
    }
    unfinished = stopped_where(run)
    if unfinished:
        logging.getLogger(__name__).warning("%s", unfinished)
    return {
        "training": {"command": f"tfreps {run.command}", **options},
        "data": {part: _last_part(run.options[part]) for part in DATA if run.options.get(part)},
        "metrics": measured(run.results()),
        **({"unfinished": unfinished} if unfinished else {}),
    }


def shared_options(run: RunFolder) -> dict[str, Any]:
    """Returns a dict of the options that are published with the model of a run.

    Only the last component of each path is included. Options that say where the output is or how
    the process ran are left out.
    """
    return {
        name: _last_part(value) if value and (name in DATA or name in PATHS) else value
        for name, value in run.options.items()
        if name in DATA or name not in NOT_SHOWN
    }


def stopped_where(run: RunFolder) -> str:
    """Returns a sentence that says where an unfinished run stopped, or `""` for a finished run."""
    found = run.results().get("unfinished")
    if not isinstance(found, dict) or set(found) != {"unit", "done", "planned"}:
        return ""
    unit, done, planned = found["unit"], found["done"], found["planned"]
    if not done:
        return f"The run stopped in {unit} 1 of {planned}."
    return f"The run stopped after {unit} {done} of {planned}."


def _is_shown(run: RunFolder, name: str, value: object) -> bool:
    """Returns True if a model card shows an option, because it has an effect and a value."""
    if name in NOT_SHOWN or value is None or value == []:
        return False
    # Without `unused`, an option that is False counts as one that was not set.
    return value is not False if run.unused is None else name not in run.unused


def _last_part(path: Any) -> Any:
    """Returns the last component of a path or, for a list of paths, a list of last components."""
    if isinstance(path, list):
        return [_last_part(each) for each in path]
    return str(path).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
