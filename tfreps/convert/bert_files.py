"""Detects the format of a checkpoint of BERT, and opens it with the converter for it."""

import os
from pathlib import Path

from tfreps.convert import aespresso_bert, google_bert, hugging_face
from tfreps.convert.bert_checkpoint import Checkpoint
from tfreps.convert.safetensors_files import INDEX, SINGLE, conversion

EXPECTED = (
    "Expected a folder of Hugging Face (config.json and model.safetensors), a folder of Google "
    "(bert_config.json and bert_model.ckpt.index), or a model of aespresso as .safetensors"
)

CONFIGS = ("config.json", "bert_config.json")
PICKLES = (b"\x80", b"PK\x03\x04")  # how a pickle begins, and a ZIP archive, PyTorch's newer way


def open_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Opens a checkpoint of Google, Hugging Face or aespresso.

    Args:
        path: a folder, a `.safetensors` file, or a TF 1 checkpoint without its endings.

    Raises:
        ValueError: for what is none of them, is incomplete or damaged, or has a `vocab.txt`
            with more tokens than its table has rows.
    """
    path = Path(path)
    if path.name == SINGLE and (path.parent / "config.json").is_file():
        path = path.parent
    if path.is_dir():
        checkpoint = _folder(path)
        check_vocabulary(path / "vocab.txt", checkpoint)
    elif path.suffix == ".safetensors":
        checkpoint = aespresso_bert.open_checkpoint(path)
    elif Path(f"{path}.index").is_file() or path.suffix == ".index":
        checkpoint = google_bert.open_checkpoint(path)
        check_vocabulary(path.parent / "vocab.txt", checkpoint)
    elif path.is_file() and _start(path).startswith(PICKLES):
        raise ValueError(conversion([path], f"{path}.safetensors"))
    elif path.is_file():
        raise ValueError(f"{path} is no checkpoint of BERT. {EXPECTED}.")
    else:
        raise ValueError(f"{path}: there is no such file or folder. {EXPECTED}.")
    return checkpoint


def is_checkpoint(path: str | os.PathLike) -> bool:
    """Whether a path looks like what `open_checkpoint` reads; run folders do not."""
    path = Path(path)
    if path.is_dir():
        return any((path / name).is_file() for name in CONFIGS)
    return path.suffix in (".safetensors", ".index") or Path(f"{path}.index").is_file()


def check_vocabulary(path: Path, checkpoint: Checkpoint) -> None:
    """Raises a ValueError for a vocabulary with more tokens than the checkpoint's table has rows.

    Fewer are right: some tables were rounded up, and their last rows have no token.

    Raises:
        ValueError: for such a file; there may be none.
    """
    if not path.is_file():
        return
    lines = path.read_bytes().split(b"\n")
    count = len(lines) - (not lines[-1])
    size = checkpoint.options["vocabulary_size"]
    if count > size:
        raise ValueError(
            f"{path} has {count} tokens, but the table of {checkpoint.source} has {size} rows: "
            "that is another model's vocabulary."
        )


def _folder(path: Path) -> Checkpoint:
    is_ours = (path / SINGLE).exists() or (path / INDEX).exists()
    if (path / "config.json").is_file() and (is_ours or not any(path.glob("*.index"))):
        return hugging_face.open_checkpoint(path)
    if any(path.glob("*.index")):
        return google_bert.open_checkpoint(path)
    if is_ours:
        raise ValueError(
            f"{path}: expected config.json next to the weights; there is none. Nothing else tells "
            "the number of attention heads, or which gelu it is."
        )
    found = ", ".join(sorted(file.name for file in path.iterdir())) or "nothing"
    raise ValueError(f"{path}: found {found}. {EXPECTED}.")


def _start(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(4)
