"""cached_path: returns the local path of a model or file that is given by name, address or path."""

import contextlib
import difflib
import os
import pathlib
import re
from collections.abc import Iterator

from tfreps._src.presets import hub_repositories, preset_table
from tfreps._src.presets.archives import is_archive, unpack
from tfreps._src.presets.cache_folder import cache_folder
from tfreps._src.presets.remote_files import copy_remote, is_remote
from tfreps._src.presets.web_files import download_file

# Endings of the file names of a biLM's options and weights.
PAIR = "options.json", "weights.hdf5"


def cached_path(source: str | os.PathLike[str]) -> pathlib.Path:
    """Returns the local path of a model, which is downloaded first if it is not local.

    `source` is one of:

    - A local path, also with `file://`, which is returned unchanged unless it is an archive. A TF 1
      checkpoint is given by its prefix, such as `bert_model.ckpt`, without `.index`.
    - A name in the table of published weights, such as `"elmo_original"`, unless a local file or
      folder has this name.
    - `hf://owner/repository[@revision][/folder]`: a model on the Hugging Face Hub.
    - A URL with `http` or `https`. For `X_options.json` or `X_weights.hdf5`, both files of the biLM
      are downloaded, and the path of `X_options.json` is returned.
    - A path in a file system of TensorFlow, such as `gs://bucket/folder`.

    Archives (`.zip`, `.tar.gz`, `.tgz`, `.tar.bz2`) are extracted into the cache, and the extracted
    folder is returned.

    Args:
        source: str or path-like. The path, name or address.

    Returns:
        `pathlib.Path`. The local file or folder. Files that were downloaded are in the cache of
        `huggingface_hub`, or in `tfreps` in the folder `KERAS_HOME` (by default `~/.keras`), and
        must not be changed.

    Raises:
        ValueError: If `source` does not exist or cannot be downloaded, copied or extracted. If it
            resembles a known name, the message suggests that name.
        OSError: If the disk is full.

    Example:
    >>> cached_path("elmo_orginal")
    Traceback (most recent call last):
    ValueError: elmo_orginal does not exist. ... Did you mean 'elmo_original'?
    """
    if not isinstance(source, str | os.PathLike):
        raise ValueError(
            f"A model or file must be given as a path, a name or an address; got {source!r}. "
            "`tfreps.presets.list_presets()` lists the names."
        )
    path = _local(os.fspath(source))
    if not path.exists() and not path.with_name(f"{path.name}.index").exists():
        raise ValueError(
            f"{source} does not exist. Expected a local path, a name that `tfreps presets` prints, "
            "a URL, or a repository such as hf://google-bert/bert-base-chinese."
            + _suggestion(os.fspath(source))
        )
    if not is_archive(path) or not path.is_file():
        return path
    try:
        return unpack(path)
    except ValueError as error:
        if error.__cause__ is None or not _is_download(path):
            # The error does not mean that a downloaded archive is damaged.
            raise
        path.unlink()
        raise ValueError(f"{error} The downloaded file was removed.") from error


@contextlib.contextmanager
def local_copy(
    source: str | os.PathLike[str], suffixes: tuple[str, ...] | None = None
) -> Iterator[pathlib.Path]:
    """Context manager that yields the local path of a source, as `cached_path` returns it.

    In a ValueError that the block raises, the path in the cache is replaced with `source`, because
    users do not know the paths of downloaded and extracted files.

    Args:
        source: str or path-like. The path, name or address, as in `cached_path`.
        suffixes: tuple of str or None. If `source` is a folder or an archive, it must contain
            exactly one file whose name ends with one of these suffixes, such as `.vec` for word
            vectors, and the path of this file is yielded. If `None`, the path of the source is
            yielded. Defaults to `None`.

    Raises:
        ValueError: If `cached_path` or the block raises a ValueError, or if a folder or archive
            does not contain exactly one file with these suffixes.
    """
    path = cached_path(source)
    local, given = str(path), os.fspath(source)
    if path.is_file():  # errors may name either file of a biLM
        local, given = str(path.parent), given.rpartition("/")[0] or "."
    try:
        yield path if suffixes is None or path.is_file() else _only_file(path, suffixes)
    except ValueError as error:
        if path != pathlib.Path(source):
            text = str(error)
            files = [] if not _is_download(path) else sorted(pathlib.Path(local).iterdir())
            parts = [x.replace(local, given) if isinstance(x, str) else x for x in error.args]
            damaged = next((file for file in files if str(file) in text), None)
            if damaged is not None:
                parts[0] = f"{parts[0]} If the downloaded file is damaged, delete {damaged}."
            error.args = tuple(parts)
        raise


def _local(source: str) -> pathlib.Path:
    if source.startswith(hub_repositories.SCHEME):
        return hub_repositories.download_repository(source)
    if source.startswith(("https://", "http://")):
        return _from_url(source)
    if source.startswith("file://"):
        return pathlib.Path(source.removeprefix("file://"))
    if is_remote(source):
        return copy_remote(source)
    path = pathlib.Path(source)
    if not path.exists() and source in preset_table.rows():
        return preset_table.download_preset(source)
    return path


def _is_download(path: pathlib.Path) -> bool:
    """Returns True if a path is in one of the folders of the cache for files from URLs."""
    return any(cache_folder() / kind in path.parents for kind in ("urls", "presets"))


def _only_file(folder: pathlib.Path, suffixes: tuple[str, ...]) -> pathlib.Path:
    found = sorted(file for file in folder.iterdir() if file.name.endswith(suffixes))
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise ValueError(
            f"{folder} must contain one file that ends in {' or '.join(suffixes)}; found {names}. "
            "Pass the path of one file instead."
        )
    return found[0]


def _suggestion(source: str) -> str:
    """Suggests a known name or address for a source that does not exist.

    Returns a question for the end of an error message, with a space before it, or `""` if no name
    in the table of presets is similar and the source does not look like a repository.
    """
    found = difflib.get_close_matches(source.lower(), preset_table.rows(), 1, cutoff=0.75)
    is_repository = re.fullmatch(r"\w[^/\s]*/\w[^/\s]*", source) is not None
    if is_repository and not pathlib.Path(source).parent.exists():
        found = [hub_repositories.SCHEME + source]
    return f" Did you mean {found[0]!r}?" if found else ""


def _from_url(url: str) -> pathlib.Path:
    """Downloads the file at a URL, and returns its path in the cache.

    For the options or weights of a biLM, both files are downloaded, and the path of the options
    file is returned.
    """
    for own, other in (PAIR, PAIR[::-1]):
        if (address := url.partition("?")[0]).endswith(own):
            pair = url.replace(address, address.removesuffix(own) + other, 1)
            paths = {other: download_file(pair), own: download_file(url)}
            return paths[PAIR[0]]
    return download_file(url)
