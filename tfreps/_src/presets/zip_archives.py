"""unpack: safely extracts a zip archive of a published model into the cache."""

import os
import pathlib
import stat
import zipfile
import zlib

from tfreps._src.files.atomic_files import replacing
from tfreps._src.files.disk_errors import check_space
from tfreps._src.presets.cache_folder import folder_of, missing

LARGEST_RATIO = 100  # an archive may unpack to at most this many times its size
MOST_MEMBERS = 10_000
MACOS = ("__MACOSX", ".DS_Store")  # what the archives of macOS contain in addition to the files
BROKEN = zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError


def unpack(path: str | os.PathLike[str]) -> pathlib.Path:
    """Extracts a zip archive into the cache, once; returns the folder, or the only folder in it.

    The files that macOS adds to archives are ignored. An archive that is damaged or encrypted,
    contains links or unsafe paths, or would unpack to more than `MOST_MEMBERS` files or more than
    `LARGEST_RATIO` times its size is a ValueError.
    """
    path = pathlib.Path(path).resolve()
    found = path.stat()
    folder = folder_of("zips", f"{path} {found.st_size} {found.st_mtime_ns}")
    with missing(folder) as is_missing:
        if is_missing:
            _extract(path, folder)
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _extract(path: pathlib.Path, folder: pathlib.Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if not {*m.filename.split("/")} & {*MACOS}]
            size = _check(path, members)
            check_space(folder, size)
            with replacing(folder) as temporary:
                temporary.mkdir()
                archive.extractall(temporary, members)  # checks the CRC
    except BROKEN as error:
        raise ValueError(
            f"{path} cannot be extracted: {error or type(error).__name__}. It may be incomplete: "
            "compare its size with that of the original, and download it again."
        ) from error


def _check(path: pathlib.Path, members: list[zipfile.ZipInfo]) -> int:
    """Returns the unpacked size; raises a ValueError if the archive is not safe to extract."""
    for member in members:
        name = member.filename
        parts = name.replace("\\", "/").split("/")
        is_absolute = not name or name.startswith(("/", "\\"))
        if is_absolute or ".." in parts or ":" in parts[0] or "\\" in name:
            raise ValueError(
                f"{path} contains {name!r}, which is not a safe path: it is empty or absolute, or "
                "contains '..', a drive or a backslash. tfreps does not extract such archives. "
                "Download the archive again from its publisher."
            )
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ValueError(f"{path} contains the link {name!r}, which tfreps does not extract.")
        if member.flag_bits & 1:
            raise ValueError(f"{path} is encrypted. Extract it and pass the folder.")
    size, most = sum(member.file_size for member in members), LARGEST_RATIO * path.stat().st_size
    if size > most or len(members) > MOST_MEMBERS:
        raise ValueError(
            f"{path} would unpack to {len(members):,} files and {size:,} bytes; at most "
            f"{MOST_MEMBERS:,} files and {most:,} bytes ({LARGEST_RATIO} times its own size) are "
            "accepted. If you trust the archive, extract it and pass the folder."
        )
    return size
