"""Saves and loads checkpoints: safetensors files, of which only the newest are kept."""

import json
import logging
import os
import pathlib
import re
import zlib

import numpy as np
import safetensors
import safetensors.numpy

from tfreps._src.files.atomic_files import is_temporary, replacing

FORMAT = "tfreps-checkpoint-2"
NAME = re.compile(r"step-(\d{8,})\.safetensors")
# Names of the temporary files that safetensors does not delete if a save is interrupted.
UNFINISHED = re.compile(r"\.tmp\w{6}")

Checkpoint = tuple[int, dict[str, np.ndarray], dict]


def save_checkpoint(
    folder: str | os.PathLike[str],
    step: int,
    arrays: dict[str, np.ndarray],
    state: dict,
    keep: int = 2,
) -> pathlib.Path:
    """Writes a checkpoint file, completely or not at all, and deletes old checkpoints.

    The file, such as `step-00000123.safetensors`, also contains a checksum of the arrays and of
    `state`. If an OSError is raised, for example because the disk is full, the older checkpoints
    are unchanged.

    Args:
        folder: str or path-like. Folder of the checkpoints.
        step: int. Number of training steps so far.
        arrays: dict from names to the arrays to store.
        state: dict. JSON-serializable values to store.
        keep: int. Number of checkpoints to keep; older ones are deleted. Checkpoints of later
            steps than `step` count as newer, and are never deleted. Defaults to 2.

    Returns:
        `pathlib.Path` of the new file.

    Raises:
        ValueError: If JSON cannot represent `state`, or safetensors cannot store `arrays`.
        OSError: If the file cannot be written.

    >>> import numpy as np, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> path = save_checkpoint(folder, 5, {"w": np.ones(2)}, {"seed": 1})
    >>> step, arrays, state = load_latest_checkpoint(folder)
    >>> step, arrays["w"].tolist(), state
    (5, [1.0, 1.0], {'seed': 1})
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{step:08d}.safetensors"
    remove_unfinished(folder)
    # safetensors copies the memory unchanged, so arrays must be in C order (0-d stays 0-d).
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_whole(path, arrays, as_metadata(step, arrays, state))
    for old_step, old in list_checkpoints(folder)[keep:]:
        if old_step < step:
            old.unlink(missing_ok=True)
    return path


def load_latest_checkpoint(folder: str | os.PathLike[str]) -> Checkpoint | None:
    """Returns the step, arrays and state of the newest checkpoint that is intact, or `None`.

    If a file cannot be read or its content differs from its checksum, the next older one is tried.
    A warning names the file, the reason and the checkpoint that is used instead.
    """
    found = list_checkpoints(pathlib.Path(folder))
    for number, (step, path) in enumerate(found, 1):
        try:
            return read(path, step)
        except (ValueError, OSError, safetensors.SafetensorError) as error:
            rest = f"{found[number][1].name} is used" if found[number:] else "no older one is left"
            text = "skipped the checkpoint %s (%s); %s"
            logging.getLogger(__name__).warning(text, path, error, rest)
    return None


def list_checkpoints(folder: pathlib.Path) -> list[tuple[int, pathlib.Path]]:
    """Returns a list of `(step, path)` for the checkpoint files in a folder, the newest first."""
    if not folder.is_dir():
        return []
    named = ((NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted(((int(match[1]), path) for match, path in named if match), reverse=True)


def as_metadata(step: int, arrays: dict[str, np.ndarray], state: dict) -> dict[str, str]:
    """Returns the metadata in the header of a checkpoint: format, step, state and checksum."""
    try:
        text = json.dumps(state, allow_nan=False)
        changed = json.loads(text) != state
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`state` must contain only values that JSON can represent ({error}). Convert "
            "arrays and other objects to numbers, strings, lists and dicts."
        ) from error
    if changed:
        raise ValueError(
            "`state` must not change when it is written as JSON and read again; got "
            f"{state!r}. Use str keys, and lists instead of tuples."
        )
    metadata = {"format": FORMAT, "step": str(step), "state": text}
    return {**metadata, "checksum": checksum(arrays, text)}


def checksum(arrays: dict[str, np.ndarray], text: str) -> str:
    """Returns the CRC-32 of a text and of arrays (names, dtypes, shapes and bytes) in hex."""
    found = zlib.crc32(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        found = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), found)
        found = zlib.crc32(array.reshape(-1).view(np.uint8), found)
    return f"{found:08x}"


def write_whole(path: pathlib.Path, arrays: dict, metadata: dict[str, str]) -> None:
    """Writes arrays and metadata to a temporary file, which then replaces the file `path`."""
    try:
        with replacing(path, durable=True) as temporary:
            safetensors.numpy.save_file(arrays, temporary, metadata=metadata)
            # Safetensors creates files that only their owner can read.
            temporary.chmod(path.parent.stat().st_mode & 0o666)
    except safetensors.SafetensorError as error:
        remove_unfinished(path.parent)
        if "I/O error" in str(error):
            raise OSError(
                f"The checkpoint {path} could not be written: {error}. Check that the disk has "
                "free space and that the folder is writable."
            ) from error
        raise ValueError(
            f"`arrays` must contain only NumPy arrays that safetensors can store; {path} could "
            f"not be written: {error}. Convert the arrays to another dtype."
        ) from error
    except BaseException:
        remove_unfinished(path.parent)
        raise


def read(path: pathlib.Path, step: int) -> Checkpoint:
    """Reads a checkpoint file and returns its step, arrays and state.

    Raises:
        ValueError: If the file is damaged, has a different format, or contains a different step
            than `step`.
    """
    with safetensors.safe_open(path, framework="np") as file:
        metadata = file.metadata() or {}
        if metadata.get("format") != FORMAT:
            raise ValueError(
                f"the format in the header must be {FORMAT!r}; got {metadata.get('format')!r}"
            )
        if metadata.get("step") != str(step):
            raise ValueError(
                f"the file name states step {step}, but the header states {metadata.get('step')!r}"
            )
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    text = metadata.get("state", "")
    if metadata.get("checksum") != checksum(arrays, text):
        raise ValueError("the file is damaged: its content differs from its checksum")
    return step, arrays, json.loads(text)


def remove_unfinished(folder: pathlib.Path) -> None:
    """Deletes the temporary files that an interrupted or failed save left behind."""
    for path in folder.iterdir():
        if UNFINISHED.fullmatch(path.name) or is_temporary(path.name):
            path.unlink(missing_ok=True)
