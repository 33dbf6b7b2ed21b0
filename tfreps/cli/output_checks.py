"""What a program may write to: never an input, and an existing file with --overwrite alone."""

import glob
import os
import pathlib
from collections.abc import Iterable

from tfreps.files.atomic_files import check_place, is_stream

Path = str | os.PathLike


def check_output(path: Path | None, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raises a ValueError if a program must not write to a file; changes nothing.

    A file that holds something is replaced with `overwrite` alone, and an input never. An empty
    file may be written to, and so may devices and pipes such as `/dev/stdout`.

    Args:
        path: the output file; None passes.
        overwrite: whether the user gave `--overwrite`.
        inputs: what the program reads: files, folders (with all that is in them), patterns, and
            "-" for standard input. Links to the same file are recognised.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "vocabulary.txt")
        >>> check_output(path)
        >>> _ = path.write_text("my own notes")
        >>> check_output(path, overwrite=True)
        >>> check_output(path, overwrite=True, inputs=[path])
        Traceback (most recent call last):
        ValueError: ...vocabulary.txt is an input of this command...
    """
    if path is None or is_stream(path):
        return
    check_place(path)
    check_overwrite(path, overwrite, inputs)


def check_overwrite(path: Path, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """The same for a file in a folder that need not exist yet."""
    given = path
    path = pathlib.Path(path).resolve()  # as it is written: "missing/../a.txt" is "a.txt"
    if not path.exists():
        return
    if path.is_dir():
        raise ValueError(f"Cannot write to {given}: it is a folder.")
    for each in inputs:
        if any(_holds(found, path) for found in _found(each)):
            raise ValueError(
                f"{given} is an input of this command ({each}), which is never written over: "
                "choose another file for the output."
            )
    if path.stat().st_size and not overwrite:
        raise ValueError(f"{given} exists already: choose another file, or give --overwrite.")


def _found(given: Path) -> list[Path | int]:
    """The files and folders that an input names; 0 for standard input."""
    if given == "-":
        return [0]
    return [given] if os.path.exists(given) else glob.glob(os.fspath(given), recursive=True)


def _holds(found: Path | int, path: pathlib.Path) -> bool:
    """Whether an input is a file, or a folder with it somewhere inside."""
    try:
        is_same = os.path.samestat(os.stat(found), path.stat())
    except OSError:
        return False
    is_inside = found != 0 and pathlib.Path(found).resolve() in path.resolve().parents
    return is_same or is_inside
