"""cached_export, find_cached: exports for other engines, which are kept next to their models."""

import hashlib
import json
import os
import pathlib
import shutil
import site
from collections.abc import Mapping
from typing import Any

from tfreps import __version__
from tfreps._src.files.version_folders import version_folder, versions_of
from tfreps._src.inference.opening_exports import ENGINES
from tfreps._src.presets.adapter_bases import local_base
from tfreps._src.presets.cache_folder import cache_folder
from tfreps._src.runs.run_folder import CHECKPOINTS, LOGS, PLOTS, RESULTS

FOLDER = "engines"  # folder of the exports, next to the files of the model
# Parts of a run, and of a Python package, that are not read for an export.
OTHERS = FOLDER, CHECKPOINTS, LOGS, PLOTS, RESULTS, "__pycache__"


def find_cached(
    source: str | os.PathLike[str], engine: str, options: Mapping[str, Any]
) -> pathlib.Path | None:
    """Returns the folder that `cached_export` wrote for a local model, or `None` if there is none.

    The arguments are those of `cached_export`. Nothing is downloaded or written.
    """
    path = pathlib.Path(source)
    if not path.exists():
        # Imported here, because most exports start faster without them.
        from tfreps._src.presets.preset_table import rows
        from tfreps._src.presets.sources import cached_path

        preset = rows().get(os.fspath(source))
        if preset is None or preset.package is None:
            return None
        path = cached_path(source)  # the folder of an installed package
    base = _base(path, engine, options)
    return version_folder(base) if versions_of(base) else None


def cached_export(
    source: str | os.PathLike[str], engine: str, options: Mapping[str, Any]
) -> pathlib.Path:
    """Exports a model for an engine unless an export exists; returns the folder of the export.

    The export is below the folder `engines` next to the files of the model or, if these belong to a
    Python package, in the cache folder of tfreps. It is written again if these files, the options
    or the version of tfreps have changed; the old one is then removed.

    Args:
        source: str or path-like. Path, name or address of the model.
        engine: str. Engine, a key of `ENGINES`.
        options: dict. Other options of `tfreps.load`, such as `scheme`.

    Raises:
        ValueError: If the model cannot be loaded or exported, or `engines` cannot be written.
    """
    found = find_cached(source, engine, options)
    if found is not None:
        return found
    # Imported here, because they import TensorFlow, which an existing export does not need.
    from tfreps._src.export.opening import open_for_export
    from tfreps._src.export.portable.portable_export import write_portable_export
    from tfreps._src.presets.sources import cached_path

    base = _base(cached_path(source), engine, options)
    if versions_of(base):
        return version_folder(base)
    format = ENGINES[engine].format
    try:
        written = write_portable_export(open_for_export(source, **options), base, format)
    except PermissionError as error:
        raise ValueError(
            f"The export of {source} for `engine={engine!r}` cannot be written to {base}: "
            f"{error.strerror}. Export the model to another folder, and load this folder."
        ) from error
    for other in base.parent.glob(f"{format}-*"):
        if other != base:
            shutil.rmtree(other, ignore_errors=True)
    return written.folder


def _base(path: pathlib.Path, engine: str, options: Mapping[str, Any]) -> pathlib.Path:
    """Returns the folder for the versions of an export.

    Its name contains a hash of the options, the version of tfreps, and the names, sizes and times
    of the files of the model, of the base model of an adapter, and of files that the options name.
    """
    folder = path if path.is_dir() else path.parent
    state = [__version__, path.name, _stats(folder)]
    if (base := local_base(folder)) is not None:
        state += _stats(base)
    for name, value in sorted(options.items()):
        state += [name, getattr(value, "tokens", str(value))]  # a `Vocabulary` has tokens
        state += _stats(pathlib.Path(value)) if os.path.isfile(str(value)) else []
    digest = hashlib.sha256(json.dumps(state).encode("utf-8")).hexdigest()[:12]
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    is_packaged = any(map(folder.is_relative_to, installed))
    parent = cache_folder() / FOLDER / folder.name if is_packaged else folder / FOLDER
    return parent / f"{ENGINES[engine].format}-{digest}"


def _stats(path: pathlib.Path) -> list:
    """Returns a list of the name, size and time of a file, or a list of these for a folder.

    Hidden files and `OTHERS` are left out.
    """
    if path.is_file():
        return [path.name, path.stat().st_size, path.stat().st_mtime_ns]
    kept = (each for each in path.iterdir() if each.name not in OTHERS)
    return [_stats(each) for each in sorted(kept) if not each.name.startswith(".")]
