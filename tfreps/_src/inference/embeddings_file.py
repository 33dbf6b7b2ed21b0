"""EmbeddingsFile: writes sentence vectors to an HDF5 file and can resume after an interruption."""

import contextlib
import json
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import h5py
import numpy as np

from tfreps._src.data.labeled.sentence_vectors import TOKEN_DIGESTS
from tfreps._src.files.atomic_files import replacing
from tfreps._src.files.disk_errors import check_space, naming
from tfreps._src.files.hdf5_files import naming_damage, open_hdf5

OPTIONS_ATTRIBUTE = "tfreps_options"
SENTENCE_INDEX = "sentence_to_index"


class EmbeddingsFile:
    """HDF5 file of sentence vectors in the layout of bilm-tf and AllenNLP.

        "0", "1", ...       vectors of the sentence with this number; any shape
        sentence_to_index   str, shape (1,): JSON object from sentences to their numbers as strings
        token_digests       uint64, shape (N,): digest of the tokens of each sentence

    The file is created only when it is complete. Until then, the vectors are collected in the
    folder `PATH.part`. A window is a group of sentences whose vectors are written together, to one
    file in this folder. Each window is written atomically, so an interrupted run loses at most one
    window. While the windows are merged, the disk needs twice the space of the complete file.

    Args:
        path: str or path-like. Path of the file.
        options: JSON-serializable dict. All options that the vectors depend on. The file
            stores this dict as the attribute `tfreps_options`.
        resume: bool. Whether to continue an earlier run with the same options. Defaults to
            `False`.
        overwrite: bool. Whether to replace an existing file. An unfinished file is deleted at
            once; a complete file is replaced when the new file is complete. Has no effect if
            `resume` is `True`. Defaults to `False`.

    Attributes:
        complete: bool. Whether the file is complete.
        windows: int. Number of windows written so far; 0 if the file was already complete.

    Raises:
        ValueError: If `path` is a folder; if a complete or unfinished file exists and neither
            `resume` nor `overwrite` is set; if `resume` is set and the existing file was written
            with other options or was not written by tfreps; or if `PATH.part` exists but does not
            contain an unfinished run.

    Example:
    >>> import tempfile
    >>> file = EmbeddingsFile(tempfile.mkdtemp() + "/vectors.hdf5", {"layers": "top"})
    >>> with file.open_window() as put:
    ...     put(0, np.ones([3, 8], "float32"))
    >>> file.finish({"I see .": "0"})
    >>> with h5py.File(file.path) as result:
    ...     print(sorted(result), result["0"].shape)
    ['0', 'sentence_to_index'] (3, 8)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        options: dict[str, Any],
        resume: bool = False,
        overwrite: bool = False,
    ):
        self.path: pathlib.Path = pathlib.Path(path)
        if self.path.is_dir():
            raise ValueError(f"Cannot write to {path}: it is a folder. Pass the path of a file.")
        self.options: dict[str, Any] = options
        self.part: pathlib.Path = self.path.with_name(self.path.name + ".part")
        self.complete: bool = False
        if overwrite and not resume:
            if self.part.exists():
                _read_marker(self.part / "options.json")
                shutil.rmtree(self.part)
            self._begin()
        elif not resume:
            _check_new(self.path)
            if self.part.exists():
                raise ValueError(
                    f"{self.part} contains an unfinished run. Pass `resume=True` to continue it "
                    "or `overwrite=True` to start again."
                )
            self._begin()
        elif self.path.exists():
            _check_same(self.path, read_options(self.path), options)
            self.complete = True
            shutil.rmtree(self.part, ignore_errors=True)
        elif self.part.exists():
            _check_same(self.part, _read_marker(self.part / "options.json"), options)
        else:
            self._begin()
        self.windows: int = len(self._windows())

    @contextlib.contextmanager
    def open_window(self) -> Iterator[Callable[[int, np.ndarray], None]]:
        """Opens the next window, the file for the vectors of the next group of sentences.

        Returns a context manager, which yields a function `put(number, vectors)` that stores the
        vectors of the sentence with this number. The window is complete when the block ends.
        """
        target = self._window(self.windows)
        with naming(self.path, self.part), replacing(target, durable=True) as temporary:
            with h5py.File(temporary, "w") as file:

                def put(number: int, vectors: np.ndarray) -> None:
                    check_space(target, vectors.nbytes)
                    file.create_dataset(str(number), data=vectors)

                yield put
        self.windows += 1

    def finish(
        self, sentence_to_index: dict[str, str] | None, digests: Sequence[int] | None = None
    ) -> None:
        """Merges the windows into the complete file and removes their folder.

        Args:
            sentence_to_index: dict from each sentence to its number as a string. If `None`, the
                array `sentence_to_index` is not written.
            digests: list of int. Digest of the tokens of each sentence, in the order of the
                sentence numbers. If `None`, the array `token_digests` is not written. Defaults to
                `None`.

        Raises:
            ValueError: If the file is already complete.
            OSError: If the disk is full or the file cannot be written.
        """
        if self.complete:
            raise ValueError(
                f"{self.path} is already complete. Call `finish` once, and pass `overwrite=True` "
                "to write the file again."
            )
        text = "" if sentence_to_index is None else json.dumps(sentence_to_index)
        size = sum(window.stat().st_size for window in self._windows()) + len(text)
        check_space(self.path, size)
        with (
            replacing(self.path, durable=True) as temporary,
            h5py.File(temporary, "w") as whole,
        ):
            whole.attrs[OPTIONS_ATTRIBUTE] = np.bytes_(json.dumps(self.options).encode())
            for window in self._windows():
                with h5py.File(window) as file:
                    for number in file:
                        file.copy(number, whole)
            if digests is not None:
                whole[TOKEN_DIGESTS] = np.array(digests, np.uint64)
            if sentence_to_index is not None:
                index = whole.create_dataset(SENTENCE_INDEX, (1,), h5py.string_dtype())
                index[0] = text
        shutil.rmtree(self.part)
        self.complete = True

    def _begin(self) -> None:
        """Creates the folder `PATH.part`, which collects the windows, with its `options.json`.

        The folder is created atomically, so that it never exists without `options.json`.
        """
        with naming(self.path, self.part), replacing(self.part, parents=True) as temporary:
            temporary.mkdir()
            (temporary / "options.json").write_text(json.dumps(self.options), encoding="utf-8")

    def _window(self, number: int) -> pathlib.Path:
        return self.part / f"{number:08d}.hdf5"

    def _windows(self) -> list[pathlib.Path]:
        return sorted(self.part.glob("[0-9]*.hdf5"))


def read_options(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the dict of options with which `tfreps embed` wrote a complete file."""
    try:
        with open_hdf5(path) as file, naming_damage(path, OPTIONS_ATTRIBUTE):
            # The kind "S" means bytes of fixed size.
            if file.attrs.get_id(OPTIONS_ATTRIBUTE).dtype.kind != "S":
                raise ValueError(f"`{OPTIONS_ATTRIBUTE}` must be a byte string")
            text: Any = file.attrs[OPTIONS_ATTRIBUTE]
            found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError(
                f"{path}: the attribute `{OPTIONS_ATTRIBUTE}` must be a JSON object; got {found!r}."
            )
    except ValueError as error:
        raise ValueError(
            f"{path} exists but was not written by `tfreps embed`, or is damaged. Choose another "
            "path."
        ) from error
    return found


def _check_new(path: pathlib.Path) -> None:
    if path.exists() and path.stat().st_size:
        raise ValueError(f"{path} already exists. Choose another file or pass `overwrite=True`.")


def _read_marker(path: pathlib.Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path.parent} exists but does not contain an unfinished run of tfreps: its "
            "options.json is missing or damaged. Remove the folder or choose another path."
        ) from error


def _check_same(path: pathlib.Path, found: dict[str, Any], options: dict[str, Any]) -> None:
    names = [name for name in {**found, **options} if found.get(name) != options.get(name)]
    if names:
        was = ", ".join(f"{name} {found.get(name)!r}" for name in names)
        now = ", ".join(f"{name} {options.get(name)!r}" for name in names)
        raise ValueError(
            f"{path} was written with the options {was}; this call has {now}. Use the original "
            f"options, or remove {path} to start again."
        )
