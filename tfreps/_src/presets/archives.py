"""unpack: safely extracts a zip or tar archive of a published model into the cache."""

import bz2
import errno
import gzip
import os
import pathlib
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from tfreps._src.files.atomic_files import replacing
from tfreps._src.files.disk_errors import check_space
from tfreps._src.presets.cache_folder import folder_of, missing

LARGEST_RATIO = 100  # an archive may unpack to at most this many times its size
MOST_MEMBERS = 10_000
LARGEST_READ = 1 << 20  # maximum number of bytes that are read at once
LARGEST_HEADER = 1 << 16  # maximum number of bytes of the headers before one file of a tar archive
# Long runs of digits and repeated keys in a header, which `tarfile` parses in quadratic time.
SLOW = re.compile(rb"\d{64}|hdrcharset=.*hdrcharset=", re.DOTALL)
MACOS = ("__MACOSX", ".DS_Store")  # entries that macOS adds to archives
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError),
    *(tarfile.TarError, gzip.BadGzipFile, OverflowError),
)
TARS = {".tar.gz": gzip.open, ".tgz": gzip.open, ".tar.bz2": bz2.open}
SUFFIXES = ".zip", *TARS


def is_archive(path: str | os.PathLike[str]) -> bool:
    """Returns True if a path has the name of an archive that `unpack` reads."""
    return os.fspath(path).endswith(SUFFIXES)


def unpack(path: str | os.PathLike[str]) -> pathlib.Path:
    """Extracts an archive into a folder in the cache, and returns the path of this folder.

    If the archive contains nothing but one folder, the path of that folder is returned. An archive
    is extracted only once. The files that macOS adds to archives are ignored. Raises a
    ValueError for an archive that is damaged or encrypted, that contains links or unsafe paths, or
    whose content has more than `MOST_MEMBERS` files or more than `LARGEST_RATIO` times the size of
    the archive.
    """
    path = pathlib.Path(path).resolve()
    found = path.stat()
    folder = folder_of("zips", f"{path} {found.st_size} {found.st_mtime_ns}")
    with missing(folder) as is_missing:
        if is_missing:
            extract = _extract_zip if path.suffix == ".zip" else _extract_tar
            try:
                extract(path, folder)
            except BROKEN as error:
                raise _broken(path, error) from error
            except OSError as error:
                if error.errno != errno.EINVAL:  # the error for a zip file with a missing part
                    raise
                raise _broken(path, error) from error
    inside = list(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def _extract_zip(path: pathlib.Path, folder: pathlib.Path) -> None:
    with zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if not _is_of_macos(m.filename)]
        for member in members:
            is_link = stat.S_ISLNK(member.external_attr >> 16)
            _check_member(path, member.filename, is_link)
            if member.flag_bits & 1:
                raise ValueError(
                    f"{path} must not be encrypted, because tfreps cannot decrypt archives. "
                    "Extract the archive yourself and pass the folder."
                )
        size = sum(member.file_size for member in members)
        _check_sizes(path, len(members), size)
        check_space(folder, size)
        with replacing(folder) as temporary:
            temporary.mkdir()
            archive.extractall(temporary, members)  # extraction also checks the CRC of each file


def _extract_tar(path: pathlib.Path, folder: pathlib.Path) -> None:
    """Extracts a tar archive into a folder.

    Each file is checked when it is read, because a tar archive contains no list of its files.
    """
    [opened] = [opener for suffix, opener in TARS.items() if path.name.endswith(suffix)]
    check_space(folder, path.stat().st_size)
    with opened(path) as file, replacing(folder) as temporary:
        temporary.mkdir()
        try:
            reads: Any = _Headers(file)
            with tarfile.open(fileobj=reads, mode="r:") as archive:
                for member in _checked_members(path, archive, reads):
                    target = temporary / member.name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    source: Any = archive.extractfile(member)
                    with open(target, "wb") as copy:
                        shutil.copyfileobj(source, copy)
            rest = 0
            while block := file.read(LARGEST_READ):  # reading to the end checks the CRC
                rest += len(block)
                _check_sizes(path, 0, rest)
        except OSError as error:
            if error.errno is not None:  # the disk raised the error, not a decompressor
                raise
            raise _broken(path, error) from error  # decompressors raise an OSError without a number
        except ValueError as error:
            if str(path) in str(error):
                raise
            # `tarfile` raises a ValueError for numbers that are not valid.
            raise _broken(path, error) from error


def _checked_members(
    path: pathlib.Path, archive: tarfile.TarFile, reads: "_Headers"
) -> Iterator[tarfile.TarInfo]:
    size = 0
    for count, member in enumerate(archive, 1):
        size += member.size
        _check_sizes(path, count, size)
        if not _is_of_macos(member.name) and not member.isdir():
            _check_member(path, member.name, not member.isreg())
            reads.left = None  # the headers end here, and the content is read next
            yield member
        reads.left = LARGEST_HEADER


class _Headers:
    """Binary file that limits the size of the headers that `tarfile` reads from it.

    The limit is needed because `tarfile` parses long headers slowly. `left` is the number of bytes
    that the headers before the next file of the archive may still have, or `None` while the content
    of a file is read.
    """

    def __init__(self, file: BinaryIO):
        self.file, self.seek, self.tell = file, file.seek, file.tell
        self.left: int | None = LARGEST_HEADER

    def read(self, size: int) -> bytes:
        if self.left is None:
            return self.file.read(size)
        if not 0 <= size <= self.left:
            raise tarfile.ReadError(
                f"a header in the archive has {size:,} bytes, which is too many"
            )
        self.left -= size
        header = self.file.read(size)
        if size > tarfile.BLOCKSIZE and SLOW.search(header):
            raise tarfile.ReadError("a header in the archive is not valid")
        return header


def _is_of_macos(name: str) -> bool:
    return bool({*name.split("/")} & {*MACOS}) or name.rpartition("/")[2].startswith("._")


def _check_member(path: pathlib.Path, name: str, is_link: bool) -> None:
    """Raises a ValueError if a member of an archive is not safe to extract."""
    parts = name.replace("\\", "/").split("/")
    is_unsafe = name.startswith(("/", "\\")) or "\\" in name or name.splitlines() != [name]
    if is_unsafe or ".." in parts or ":" in parts[0]:
        raise ValueError(
            f"{path} contains {name!r}, which is not a safe path: it is empty or absolute, or "
            "contains '..', a drive, a backslash or a line break. tfreps does not extract such "
            "archives. Download the archive again from its publisher."
        )
    if is_link:
        raise ValueError(
            f"{path} contains the link {name!r}, which tfreps does not extract. Extract the "
            "archive yourself, and pass the folder."
        )


def _check_sizes(path: pathlib.Path, count: int, size: int) -> None:
    most = LARGEST_RATIO * path.stat().st_size
    if size > most or count > MOST_MEMBERS:
        raise ValueError(
            f"{path} would unpack to {count:,} files and {size:,} bytes; at most "
            f"{MOST_MEMBERS:,} files and {most:,} bytes ({LARGEST_RATIO} times its own size) are "
            "accepted. If you trust the archive, extract it and pass the folder."
        )


def _broken(path: pathlib.Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path} cannot be extracted: {error or type(error).__name__}. The file may be "
        "incomplete: compare its size with that of the original, and download it again."
    )
