"""Writes and loads `.keras` files; checks them for damage and explains errors."""

import os
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import keras

PARTS = {"config.json", "metadata.json", "model.weights.h5"}
# Keras does not compress archives. An archive that was compressed later may unpack to at most
# this many times its size.
LARGEST_RATIO = 100
UNSAFE = "safe_mode", "unsafe_deserialization"  # words in Keras's errors about code in a file
BROKEN = zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError


def save_archive(model: "keras.Model", path: str | os.PathLike[str]) -> None:
    """Saves a `.keras` file without the state of the optimizer, the loss and the metrics.

    The state of Adam is twice as large as the weights. Compile the loaded model before
    training it further.
    """
    if not model.compiled:
        model.save(path)
        return
    optimizer = model.optimizer
    model.optimizer, model.compiled = None, False  # Keras saves what these attributes refer to
    try:
        model.save(path)
    finally:
        model.optimizer, model.compiled = optimizer, True


def load_archive(path: str | os.PathLike[str]) -> Any:
    """Loads a `.keras` file, without compiling the model or running any code from the file."""
    check_archive(path)
    import keras

    import tfreps._src.models.saved_classes  # noqa: F401

    try:
        return keras.models.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # the readers of zip, HDF5, JSON and Keras raise different errors
        raise ValueError(refusal(path, error)) from error


def check_archive(path: str | os.PathLike[str]) -> None:
    """Raises a ValueError if a `.keras` file is damaged, incomplete or too large when unpacked."""
    size = os.path.getsize(path)
    if not zipfile.is_zipfile(path):
        raise ValueError(_damaged(path, f"it is not a complete zip archive ({size:,} bytes)"))
    try:
        with zipfile.ZipFile(path) as archive:
            if missing := PARTS - set(archive.namelist()):
                raise ValueError(_damaged(path, f"it lacks {', '.join(sorted(missing))}"))
            claimed = sum(part.file_size for part in archive.infolist())
            if claimed > LARGEST_RATIO * size:
                reason = f"its {size:,} bytes would unpack to {claimed:,} bytes, which is too many"
                raise ValueError(_damaged(path, reason))
            if (bad := archive.testzip()) is not None:
                raise ValueError(_damaged(path, f"its member {bad} has a wrong checksum"))
    except BROKEN as error:
        raise ValueError(_damaged(path, str(error) or type(error).__name__)) from error


def refusal(path: str | os.PathLike[str], error: Exception) -> str:
    """Returns the message for an error that Keras raised when it loaded an archive.

    Keras's advice to turn safe mode off is left out of the message.
    """
    message = " ".join(str(error).split())
    if any(word in message for word in UNSAFE):
        return (
            f"{path} contains code or refers to files outside the archive, which tfreps never runs "
            "or reads. No tfreps command writes such a file. Get the model from a trusted source "
            "or train it again."
        )
    return (
        f"{path} cannot be loaded ({type(error).__name__}: {message[:500]}). The file is damaged "
        "or was written by another version of Keras or tfreps. Train or convert the model again."
    )


def _damaged(path: str | os.PathLike[str], reason: str) -> str:
    return (
        f"{path} is damaged: {reason}. The file may be incomplete: compare its size with that "
        "of the original, and copy it again or train the model again."
    )
