"""Writes a folder of files, completely or not at all, on any of Beam's file systems."""

import contextlib
import os
import pathlib
import shutil
import uuid

from apache_beam.io.filesystems import FileSystems

from tfreps._src.files.atomic_files import replacing

SCHEMA = "schema.json"  # written last; marks a folder that `annotate_corpus` wrote


def check_output_folder(output: str, overwrite: bool, inputs: list[str]) -> None:
    """Raises a ValueError if the folder `output` must not be written.

    The folder must be new or empty or, if `overwrite` is `True`, have been written by
    `annotate_corpus`. It must not contain any of the files `inputs`.
    """
    folder = pathlib.Path(output).resolve() if is_local(output) else None
    if folder and folder.is_file():
        raise ValueError(f"{output} is a file. Give the name of a folder.")
    files = files_in(output)
    for path in inputs:
        if path in files or (is_local(path) and folder in pathlib.Path(path).resolve().parents):
            raise ValueError(
                f"{output} contains {path}, which is an input, and inputs are never overwritten. "
                "Choose another output folder."
            )
    if not files:
        return
    if not overwrite:
        raise ValueError(
            f"{output} already exists. Choose another folder, or set `overwrite` to replace it."
        )
    if FileSystems.join(output.rstrip("/"), SCHEMA) not in files:
        raise ValueError(
            f"{output} was not written by `tfreps annotate` (it has no {SCHEMA}), so it is not "
            "replaced. Choose another folder."
        )


@contextlib.contextmanager
def staged_folder(output: str):
    """Context manager that yields a temporary folder, which becomes `output` at the end.

    An earlier folder is replaced. If the block raises an error, the temporary folder is removed and
    the earlier folder is unchanged. On an object store, which cannot rename a folder, the files are
    renamed one by one, with `schema.json` as the last.
    """
    if is_local(output):
        with _local_folder(output) as folder:
            yield folder
        return
    output = output.rstrip("/")
    folder = f"{output}-unfinished-{uuid.uuid4().hex}"
    try:
        yield folder
        earlier = files_in(output)
        if earlier:
            FileSystems.delete(earlier)
        written = sorted(files_in(folder), key=lambda path: path.endswith("/" + SCHEMA))
        for path in written:
            FileSystems.rename([path], [output + path[len(folder) :]])
    finally:
        left = files_in(folder)
        if left:
            FileSystems.delete(left)


@contextlib.contextmanager
def _local_folder(output):
    target = pathlib.Path(output).resolve()
    old = None
    try:
        with replacing(output, parents=True) as temporary:
            # A container that was killed may have left files of the same name.
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            yield str(temporary)
            if target.exists():
                old = temporary.with_name(temporary.name.replace(".tmp", ".old.tmp"))
                os.rename(target, old)
    finally:
        if old is not None and target.exists():
            shutil.rmtree(old)
        elif old is not None:
            os.rename(old, target)


def files_in(folder: str) -> list[str]:
    """Returns a sorted list of the paths of all files in a folder and its subfolders."""
    if is_local(folder):
        return [str(path) for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()]
    found = FileSystems.match([folder.rstrip("/") + "/**"])[0].metadata_list
    return sorted(file.path for file in found)


def is_local(path: str) -> bool:
    """Returns True if a path has no scheme such as `gs://`."""
    return FileSystems.get_scheme(path) is None
