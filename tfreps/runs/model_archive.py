"""Archives of models (.keras): damage is found before they are loaded, and code is refused."""

import os
import zipfile
import zlib

PARTS = {"config.json", "metadata.json", "model.weights.h5"}
# Keras does not compress; an archive that was packed again may unpack to so many times its size.
LARGEST_RATIO = 100
UNSAFE = "safe_mode", "unsafe_deserialization"  # what Keras says of code in a file
BROKEN = zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError


def check_archive(path: str | os.PathLike) -> None:
    """Raises a ValueError for a file that is no whole archive; all its checksums are compared.

    Args:
        path: of the `.keras` file.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.keras")
    >>> _ = path.write_bytes(b"PK and then nothing")
    >>> check_archive(path)
    Traceback (most recent call last):
    ValueError: ...model.keras is damaged: it is no complete zip archive...
    """
    size = os.path.getsize(path)
    if not zipfile.is_zipfile(path):
        raise ValueError(_damaged(path, f"it is no complete zip archive ({size:,} bytes)"))
    try:
        with zipfile.ZipFile(path) as archive:
            if missing := PARTS - set(archive.namelist()):
                raise ValueError(_damaged(path, f"it holds no {', '.join(sorted(missing))}"))
            claimed = sum(part.file_size for part in archive.infolist())
            if claimed > LARGEST_RATIO * size:
                raise ValueError(_damaged(path, f"its {size:,} bytes claim to hold {claimed:,}"))
            if (bad := archive.testzip()) is not None:
                raise ValueError(_damaged(path, f"the checksum of its {bad} is wrong"))
    except BROKEN as error:
        raise ValueError(_damaged(path, str(error) or type(error).__name__)) from error


def refusal(path: str | os.PathLike, error: Exception) -> str:
    """The sentence about an archive that Keras does not load, without Keras's advice to trust it.

    Args:
        path: of the `.keras` file.
        error: what Keras raised.
    """
    message = " ".join(str(error).split())
    if any(word in message for word in UNSAFE):
        return (
            f"{path} holds code, or names files outside of it, which tfreps never runs or reads. "
            "No tfreps program writes such a file: get the model from somebody whom you trust, "
            "or train it again."
        )
    return (
        f"{path} cannot be loaded ({type(error).__name__}: {message[:500]}). The file is damaged "
        "or was made by another version: train or convert again."
    )


def _damaged(path: str | os.PathLike, reason: str) -> str:
    return (
        f"{path} is damaged: {reason}. It may have been cut short: compare its size with the "
        "original's, and copy it again or train again."
    )
