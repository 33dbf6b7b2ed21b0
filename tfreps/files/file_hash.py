"""file_hash: the SHA-256 or another hash of a file."""

import hashlib
import os


def file_hash(path: str | os.PathLike, algorithm: str = "sha256") -> str:
    """Returns the hash of a file in hexadecimal digits. The file is read in blocks.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tags.txt")
    >>> _ = path.write_text("O")
    >>> file_hash(path)
    'c4694f2e93d5c4e7d51f9c5deb75e6cc8be5e1114178c6a45b6fc2c566a0aa8c'
    """
    digest = hashlib.new(algorithm)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
