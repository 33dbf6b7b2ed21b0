"""Manifest of a run: sizes and hashes of its own files and of the data it was trained on.

`manifest.json` has two entries: `assets` maps the names of the options, vocabulary, tokenizer, tag
and label files to their size and SHA-256, and `data` maps the names of options to lists with the
name, size and SHA-256 of each data file.
"""

import hashlib
import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from tfreps._src.files.file_hash import file_hash
from tfreps._src.files.json_files import read_json, write_json

MANIFEST = "manifest.json"
CHECKSUM = "checksum"  # key of results.json
# Options that name data files which are read during training. Other names for the same content are
# allowed when a run is resumed.
TRAINING_DATA = "train", "validation", "vectors", "train_vectors", "validation_vectors"

Files = Mapping[str, Sequence[str | os.PathLike[str]]]
_FIELDS = {"name": str, "bytes": int, "sha256": str}


def record_asset(path: str | os.PathLike[str]) -> None:
    """Writes the size and the SHA-256 of a complete file to the manifest in its folder."""
    path = pathlib.Path(path)
    assets, found = read_manifest(path.parent)["assets"], _file_record(path)
    if assets.get(path.name) != found:
        _write(path.parent, "assets", {**assets, path.name: found})


def forget_asset(path: str | os.PathLike[str]) -> None:
    """Removes a file from the manifest in its folder, before the file changes."""
    path = pathlib.Path(path)
    assets = read_manifest(path.parent)["assets"]
    if assets.pop(path.name, None) is not None:
        _write(path.parent, "assets", assets)


def check_assets(folder: str | os.PathLike[str]) -> None:
    """Raises a ValueError if a file of a run is missing or differs from the manifest."""
    for name, expected in read_manifest(folder)["assets"].items():
        path = pathlib.Path(folder, name)
        if not path.is_file():
            raise ValueError(f"{path} is missing. Put back the file that the run was created with.")
        if (found := _file_record(path)) != expected:
            expected, found = (
                f"{r['bytes']} bytes with SHA-256 {r['sha256']}" for r in (expected, found)
            )
            raise ValueError(
                f"{path} is not the file that the run was created with: expected {expected}; "
                f"found {found}. Put the original file back."
            )


def has_data(folder: str | os.PathLike[str]) -> bool:
    """Returns True if the training data of a run were recorded."""
    return read_manifest(folder)["data"] is not None


def record_data(folder: str | os.PathLike[str], files: Files) -> None:
    """Writes the name, the size and the SHA-256 of each data file to the manifest.

    `files` maps the name of an option to the paths of its files in the order in which they are
    read. A folder counts as one file, whose content is the names and contents of the files
    `CLASS/FILE` in it. Devices and pipes are left out.
    """
    found = {
        name: [{"name": path.name, **_record(path)} for path in _kept(paths)]
        for name, paths in files.items()
    }
    _write(pathlib.Path(folder), "data", found)


def check_data(
    folder: str | os.PathLike[str], files: Files, own: Mapping[str, slice] | None = None
) -> None:
    """Raises a ValueError if data files differ from those that `record_data` recorded.

    If no data were recorded, nothing is checked. The names of the files may differ, but not their
    order. `own` maps the name of an option to the `slice` of its files that this process checks;
    all files of other options are checked.
    """
    known = read_manifest(folder)["data"]
    if known is not None:
        for name in dict.fromkeys([*known, *files]):
            part = (own or {}).get(name, slice(None))
            _check_files(folder, name, known.get(name, []), _kept(files.get(name, ())), part)


def read_manifest(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the entries `assets` and `data` of manifest.json, after checking their form.

    Without the file, `assets` is empty and `data` is `None`.
    """
    path = pathlib.Path(folder, MANIFEST)
    manifest = {"assets": {}, "data": None, **(read_json(path) if path.exists() else {})}
    data = {} if manifest["data"] is None else manifest["data"]
    assets, back = manifest["assets"], "Put the original file back."
    if set(manifest) != {"assets", "data"} or not all(isinstance(x, dict) for x in (assets, data)):
        raise ValueError(
            f"{path} must have the keys assets and data, whose values are JSON objects; got "
            f"the keys {', '.join(sorted(manifest))}. {back}"
        )
    wrong = [
        name
        for name, entry in assets.items()
        if name != pathlib.Path(name).name or not _is_record(entry, "bytes", "sha256")
    ]
    wrong += [
        name
        for name, entries in data.items()
        if not isinstance(entries, list) or not all(_is_record(e, *_FIELDS) for e in entries)
    ]
    if wrong:
        raise ValueError(
            f"{path}: the entry {wrong[0]!r} must have the keys bytes and sha256 or, for data "
            f"files, be a list of objects with the keys {', '.join(_FIELDS)}; got "
            f"{str({**data, **assets}[wrong[0]])[:60]}. {back}"
        )
    return manifest


def _is_record(entry: Any, *fields: str) -> bool:
    is_complete = isinstance(entry, dict) and set(entry) == set(fields)
    return is_complete and all(type(entry[field]) is _FIELDS[field] for field in fields)


def _write(folder: pathlib.Path, part: str, entries: Mapping[str, Any]) -> None:
    found = {name: value for name, value in read_manifest(folder).items() if value is not None}
    write_json(folder / MANIFEST, {**found, part: entries})


def _check_files(
    folder: str | os.PathLike[str],
    name: str,
    entries: list[dict[str, Any]],
    paths: list[pathlib.Path],
    part: slice,
) -> None:
    remedy = "Resume with the original data, or start a new run."
    if len(paths) != len(entries):
        raise ValueError(
            f"`{name}` must be the data that the run in {folder} was started with: expected "
            f"{_names([entry['name'] for entry in entries])}; got "
            f"{_names([path.name for path in paths])}. {remedy}"
        )
    for path, entry in zip(paths[part], entries[part], strict=True):
        # The size is compared first, because this does not read the file.
        size = path.stat().st_size
        if path.is_file() and size != entry["bytes"]:
            expected, found = f"{entry['bytes']:,} bytes", f"{size:,} bytes"
        elif (record := _record(path))["sha256"] != entry["sha256"]:
            expected = f"content with the SHA-256 {entry['sha256']}"
            found = f"{record['bytes']:,} bytes with the SHA-256 {record['sha256']}"
        else:
            continue
        raise ValueError(
            f"`{name}`: {path} is not the file that the run in {folder} was started with: expected "
            f"{expected}; found {found}. {remedy}"
        )


def _kept(paths: Sequence[str | os.PathLike[str]]) -> list[pathlib.Path]:
    """Returns the paths of files and folders as a list.

    Pipes are left out, because they cannot be read again.
    """
    return [path for path in map(pathlib.Path, paths) if path.is_file() or path.is_dir()]


def _file_record(path: pathlib.Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": file_hash(path)}


def _record(path: pathlib.Path) -> dict[str, Any]:
    """Returns a dict of the size and SHA-256 of a file, or of all `CLASS/FILE` in a folder."""
    if path.is_file():
        return _file_record(path)
    digest, size = hashlib.sha256(), 0
    for item in sorted(path.glob("*/*")):
        parts = item.relative_to(path).parts
        if item.is_file() and not any(part.startswith(".") for part in parts):
            found = _file_record(item)
            line = f"{'/'.join(parts)}\0{found['sha256']}\n"
            digest.update(line.encode(errors="surrogateescape"))
            size += found["bytes"]
    return {"bytes": size, "sha256": digest.hexdigest()}


def _names(names: list[str]) -> str:
    """Returns the number of files and up to five names, such as `2 files (a.txt, b.txt)`."""
    few = names if len(names) <= 5 else [*names[:5], "..."]
    count = f"{len(names)} file{'s' * (len(names) != 1)}"
    return f"{count} ({', '.join(few)})" if few else "no files"


def with_checksum(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a JSON object with the additional key `checksum`, the SHA-256 of its content."""
    return {**values, CHECKSUM: _checksum(values)}


def without_checksum(path: pathlib.Path, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JSON object of a file without the key `checksum`, if it has this key.

    Raises a ValueError if the content does not have the checksum.
    """
    content = {name: value for name, value in values.items() if name != CHECKSUM}
    if values.get(CHECKSUM) not in (None, _checksum(content)):
        raise ValueError(
            f"{path} was changed after it was written: its content does not have the `{CHECKSUM}` "
            "that it states. Put the original file back, or remove the file and evaluate the model "
            "again."
        )
    return content


def _checksum(values: Mapping[str, Any]) -> str:
    as_read = json.loads(json.dumps(values))  # for example, with lists in place of tuples
    return hashlib.sha256(json.dumps(as_read, sort_keys=True).encode()).hexdigest()
