"""file_hash: the SHA-256 or another hash of a file."""

import hashlib
import os


def file_hash(path: str | os.PathLike[str], algorithm: str = "sha256") -> str:
    """Returns the hash of a file in hexadecimal digits. The file is read in blocks."""
    digest = hashlib.new(algorithm)
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
