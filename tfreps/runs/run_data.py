"""Records and checks the sizes and hashes of the data files that a run was trained on."""

import hashlib
import os
import pathlib
from collections.abc import Mapping, Sequence

from tfreps.files.json_files import read_json, write_json
from tfreps.runs.run_assets import fingerprint

DATA = "data.json"
# Options that name data files which are read during training. Other names for the same content are
# allowed when a run is resumed.
TRAINING_DATA = "train", "dev", "validation", "vectors", "train_vectors", "dev_vectors"

Files = Mapping[str, Sequence[str | os.PathLike]]
_KEYS = {"name", "bytes", "sha256"}


def record_data(folder: str | os.PathLike, files: Files) -> None:
    """Writes the name, the size and the SHA-256 of each data file to `data.json`.

    Args:
        folder: str or path-like. Run folder.
        files: dict from the name of an option to the paths of its files, in the order in which they
            are read. A folder counts as one file, whose content is the names and contents of the
            files `CLASS/FILE` in it. Devices and pipes are left out.
    """
    found = {
        name: [{"name": pathlib.Path(path).name, **_fingerprint(path)} for path in _kept(paths)]
        for name, paths in files.items()
    }
    write_json(pathlib.Path(folder, DATA), found)


def check_data(
    folder: str | os.PathLike, files: Files, own: Mapping[str, slice] | None = None
) -> None:
    """Checks that data files have the content that `record_data` recorded.

    The names of the files may differ, but not their order. Nothing is checked if the folder has no
    `data.json`.

    Args:
        folder: str or path-like. Run folder.
        files: dict from the name of an option to the paths of its files, as in `record_data`.
        own: dict from the name of an option to the `slice` of its files that this process reads
            and checks. All files of other options are checked. If `None` (the default), all files
            are checked.

    Raises:
        ValueError: If the number of files of an option differs (the message names the option), if
            the size or the SHA-256 of a file differs (the message names the option and the file),
            or if `data.json` is not valid.

    Example:
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> path = folder / "train.txt"
    >>> _ = path.write_text("a rose")
    >>> record_data(folder, {"train": [path]})
    >>> check_data(folder, {"train": [path]})
    >>> _ = path.write_text("a tulip")
    >>> check_data(folder, {"train": [path]})
    Traceback (most recent call last):
    ValueError: `train`: ...train.txt is not the file that the run in ... was started with: ...
    """
    record = pathlib.Path(folder, DATA)
    if not record.exists():
        return
    known = read_json(record)
    for name, entries in known.items():
        _check_entries(record, name, entries)
    for name in dict.fromkeys([*known, *files]):
        part = (own or {}).get(name, slice(None))
        _check_files(folder, name, known.get(name, []), _kept(files.get(name, ())), part)


def _check_files(
    folder, name: str, entries: list[dict], paths: list[pathlib.Path], part: slice
) -> None:
    remedy = "Resume with the original data, or start a new run."
    if len(paths) != len(entries):
        raise ValueError(
            f"`{name}` must be the data that the run in {folder} was started with: expected "
            f"{_names([entry['name'] for entry in entries])}; got "
            f"{_names([path.name for path in paths])}. {remedy}"
        )
    for path, entry in zip(paths[part], entries[part], strict=True):
        size = path.stat().st_size  # without reading the file
        if path.is_file() and size != entry["bytes"]:
            expected, found = f"{entry['bytes']:,} bytes", f"{size:,} bytes"
        elif (print_ := _fingerprint(path))["sha256"] != entry["sha256"]:
            expected = f"content with the SHA-256 {entry['sha256']}"
            found = f"{print_['bytes']:,} bytes with the SHA-256 {print_['sha256']}"
        else:
            continue
        raise ValueError(
            f"`{name}`: {path} is not the file that the run in {folder} was started with: expected "
            f"{expected}; found {found}. {remedy}"
        )


def _check_entries(record: pathlib.Path, name: str, entries) -> None:
    """Raises a ValueError unless an entry of data.json has the form that `record_data` writes."""
    is_list = isinstance(entries, list)
    if not is_list or not all(isinstance(e, dict) and set(e) == _KEYS for e in entries):
        raise ValueError(
            f"{record} was not written by a tfreps program: its entry {name!r} is not valid. Put "
            "the original file back."
        )
    if not all(map(_is_valid, entries)):
        raise ValueError(
            f"{record}: the entry {name!r} must consist of names, sizes and hashes. Put the "
            "original file back."
        )


def _is_valid(entry: dict) -> bool:
    kinds = {"name": str, "bytes": int, "sha256": str}
    return all(type(entry[key]) is kind for key, kind in kinds.items())


def _kept(paths: Sequence[str | os.PathLike]) -> list[pathlib.Path]:
    """Returns the files and folders among the paths, but no pipes, which cannot be read again."""
    return [path for path in map(pathlib.Path, paths) if path.is_file() or path.is_dir()]


def _fingerprint(path: str | os.PathLike) -> dict:
    """Returns the size and the SHA-256 of a file, or of all files of a folder of classes."""
    path = pathlib.Path(path)
    if path.is_file():
        return fingerprint(path)
    digest, size = hashlib.sha256(), 0
    for item in sorted(path.glob("*/*")):
        parts = item.relative_to(path).parts
        if item.is_file() and not any(part.startswith(".") for part in parts):
            found = fingerprint(item)
            digest.update(
                f"{'/'.join(parts)}\0{found['sha256']}\n".encode(errors="surrogateescape")
            )
            size += found["bytes"]
    return {"bytes": size, "sha256": digest.hexdigest()}


def _names(names: list[str]) -> str:
    """Formats the number of files and up to five names, as in `2 files (a.txt, b.txt)`."""
    few = names if len(names) <= 5 else [*names[:5], "..."]
    count = f"{len(names)} file{'s' * (len(names) != 1)}"
    return f"{count} ({', '.join(few)})" if few else "no files"
