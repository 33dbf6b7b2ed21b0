"""Checkpoints to resume from: one safetensors file per step, the last good ones kept."""

import json
import logging
import os
import pathlib
import re

import numpy as np
import safetensors
import safetensors.numpy

from tfreps.files.atomic_files import is_temporary, replacing

FORMAT = "tfreps-checkpoint-1"
NAME = re.compile(r"step-(\d{8,})\.safetensors")
# What a killed writer leaves besides our temporary file: the one that safetensors makes.
UNFINISHED = re.compile(r"\.tmp\w{6}")

Checkpoint = tuple[int, dict[str, np.ndarray], dict]


def save_checkpoint(
    folder: str | os.PathLike,
    step: int,
    arrays: dict[str, np.ndarray],
    state: dict,
    keep: int = 2,
) -> pathlib.Path:
    """Writes one checkpoint, whole or not at all, then removes older ones beyond `keep`.

    Args:
        folder: where the checkpoints of a run are; made if absent.
        step: int, 0 or more. Updates done so far; names the file, `step-00000123.safetensors`.
            A checkpoint of the same step is replaced.
        arrays: name -> array of any shape, 0-d included: floats (bfloat16 too), integers, bool.
        state: whatever else resuming needs, of JSON types.
        keep: int, 1 or more. How many checkpoints up to this step stay.

    Returns:
        The path of the file.

    Raises:
        OSError: the file could not be written (disk full ...). Older checkpoints are untouched.
        ValueError: `state` is not JSON, or an array has a type that the format lacks.

    Example:
    >>> import numpy as np, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = save_checkpoint(folder, 5, {"w": np.ones(2)}, {"seed": 1})
    >>> step, arrays, state = load_latest_checkpoint(folder)
    >>> step, arrays["w"].tolist(), state
    (5, [1.0, 1.0], {'seed': 1})
    """
    if keep < 1 or step < 0:
        raise ValueError(f"`keep` must be at least 1 and `step` at least 0; got {keep} and {step}.")
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{step:08d}.safetensors"
    remove_unfinished(folder)
    write_whole(path, arrays, as_metadata(step, state))
    for old_step, old in list_checkpoints(folder)[keep:]:
        if old_step < step:
            old.unlink(missing_ok=True)
    return path


def load_latest_checkpoint(folder: str | os.PathLike) -> Checkpoint | None:
    """The newest checkpoint that can be read, or None where there is none.

    A file that cannot be read (torn, cut short, not ours) is named in a logged warning, and
    the one before it is tried.

    Returns:
        `(step, arrays, state)` as they were given to `save_checkpoint`, or None.
    """
    for step, path in list_checkpoints(pathlib.Path(folder)):
        try:
            return read(path, step)
        except (ValueError, OSError, safetensors.SafetensorError) as error:
            logging.getLogger(__name__).warning("skipped the checkpoint %s: %s", path, error)
    return None


def list_checkpoints(folder: pathlib.Path) -> list[tuple[int, pathlib.Path]]:
    """`(step, path)` of the files named like checkpoints, newest first."""
    if not folder.is_dir():
        return []
    named = ((NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted(((int(match[1]), path) for match, path in named if match), reverse=True)


def as_metadata(step: int, state: dict) -> dict[str, str]:
    """What the header of the file says beside the arrays."""
    try:
        text = json.dumps(state, allow_nan=False)
        changed = json.loads(text) != state
    except (TypeError, ValueError) as error:
        raise ValueError(f"The state of a checkpoint must be of JSON types: {error}.") from error
    if changed:
        raise ValueError(
            "The state of a checkpoint must come back from JSON as it went in: use str keys, "
            f"and lists instead of tuples; got {state!r}."
        )
    return {"format": FORMAT, "step": str(step), "state": text}


def write_whole(path: pathlib.Path, arrays: dict, metadata: dict[str, str]) -> None:
    """Writes under a temporary name, waits for the disk, and renames."""
    # safetensors copies the memory as it lies, so it has to lie in C order (0-d stays 0-d).
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    try:
        with replacing(path, durable=True) as temporary:
            safetensors.numpy.save_file(arrays, temporary, metadata=metadata)
            temporary.chmod(path.parent.stat().st_mode & 0o666)  # safetensors leaves it private
    except safetensors.SafetensorError as error:
        remove_unfinished(path.parent)
        if "I/O error" in str(error):
            raise OSError(f"The checkpoint {path} could not be written: {error}.") from error
        raise ValueError(f"The arrays cannot be saved to {path}: {error}.") from error
    except BaseException:
        remove_unfinished(path.parent)
        raise


def read(path: pathlib.Path, step: int) -> Checkpoint:
    """One checkpoint; ValueError where the file is not what its name says."""
    with safetensors.safe_open(path, framework="np") as file:
        metadata = file.metadata() or {}
        if metadata.get("format") != FORMAT:
            raise ValueError(f"expected the format {FORMAT!r}, found {metadata.get('format')!r}")
        if metadata.get("step") != str(step):
            raise ValueError(f"its name says step {step}, its header {metadata.get('step')!r}")
        if "state" not in metadata:
            raise ValueError("its header has no 'state'")
        try:
            state = json.loads(metadata["state"])
        except RecursionError:
            raise ValueError("the state in its header is nested too deeply") from None
        return step, {name: file.get_tensor(name) for name in file.keys()}, state  # noqa: SIM118


def remove_unfinished(folder: pathlib.Path) -> None:
    """Removes what an interrupted or failed save left."""
    for path in folder.iterdir():
        if UNFINISHED.fullmatch(path.name) or is_temporary(path.name):
            path.unlink(missing_ok=True)
