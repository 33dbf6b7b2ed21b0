"""Checks that a command may write to its output files."""

import glob
import os
import pathlib
from collections.abc import Iterable

from tfreps._src.cli.options import Option
from tfreps._src.files.atomic_files import check_place, is_stream

Path = str | os.PathLike[str]
OUTPUT = Option(str, None, "File to write. Defaults to standard output.", metavar="FILE")
# The folder that demo-corpus and demo-tags write.
CORPUS = {
    "output": Option(
        str, None, "Folder in which to write the corpus.", required=True, metavar="DIR"
    ),
    "overwrite": Option(bool, False, "Replace the corpus in the --output folder."),
}
OVERWRITE = Option(bool, False, "Replace the output file if it exists.")


def check_output(path: Path | None, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raises a ValueError if a command must not write its output to `path`.

    A command may write to a file that does not exist or is empty, if the folder of the file exists,
    and to devices and pipes such as `/dev/stdout`. It may replace any other file if `overwrite` is
    `True`, except an input of the command. `inputs` is a list of files, folders, glob patterns,
    and `"-"` for standard input. All files in an input folder are inputs, and a link to an input is
    an input. If `path` is `None`, nothing is checked.
    """
    if path is None or is_stream(path):
        return
    check_place(path)
    check_overwrite(path, overwrite, inputs)


def check_overwrite(path: Path, overwrite: bool = False, inputs: Iterable[Path] = ()) -> None:
    """Raises a ValueError if a command must not replace the file `path`, if it exists.

    The rules are the same as in `check_output`, except that the parent folder may be missing.
    """
    given = path
    path = pathlib.Path(path).resolve()  # also resolves "missing/../a.txt" to "a.txt"
    if not path.exists():
        return
    if path.is_dir():
        raise ValueError(f"Cannot write to {given}: it is a folder. Give the name of a file.")
    for each in inputs:
        if any(_holds(found, path) for found in _found(each)):
            raise ValueError(
                f"{given} is an input of this command ({each}), and inputs are never overwritten. "
                "Choose another output file."
            )
    if path.stat().st_size and not overwrite:
        raise ValueError(f"{given} already exists. Choose another file, or give --overwrite.")


def _found(given: Path) -> list[Path | int]:
    """Returns a list of the files and folders that an input of a command refers to.

    An input is a path, a glob pattern or `"-"`. For `"-"`, which is standard input, the list
    contains the file descriptor 0.
    """
    if given == "-":
        return [0]
    return [given] if os.path.exists(given) else glob.glob(os.fspath(given), recursive=True)


def _holds(found: Path | int, path: pathlib.Path) -> bool:
    """Returns True if `found` is the file `path`, or a folder that contains `path` at any depth.

    `found` is the path of an input, or 0 for standard input.
    """
    try:
        is_same = os.path.samestat(os.stat(found), path.stat())
    except OSError:
        return False
    is_inside = found != 0 and pathlib.Path(found).resolve() in path.resolve().parents
    return is_same or is_inside
