"""Detects the format of a BERT checkpoint and opens it with the matching converter."""

import os
from pathlib import Path

from tfreps.convert import aespresso_bert, google_bert, hugging_face
from tfreps.convert.bert_checkpoint import Checkpoint
from tfreps.convert.safetensors_files import INDEX, SINGLE, conversion

EXPECTED = (
    "Expected a Hugging Face folder (config.json and model.safetensors), a Google folder "
    "(bert_config.json and bert_model.ckpt.index), or a .safetensors file of an aespresso model"
)

CONFIGS = ("config.json", "bert_config.json")
PICKLES = (b"\x80", b"PK\x03\x04")  # first bytes of a pickle and of PyTorch's newer ZIP archives


def open_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Opens a BERT checkpoint in the format of Google, Hugging Face or aespresso.

    Args:
        path: str or path-like. Path of a folder, of a `.safetensors` file, or of a TF 1 checkpoint
            without its file extensions.

    Returns:
        `Checkpoint`. Its arrays are not read yet.

    Raises:
        ValueError: If the path is not such a checkpoint, if the checkpoint is incomplete or
            damaged, or if its `vocab.txt` has more tokens than its token table has rows.
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
        raise ValueError(f"{path} is not a BERT checkpoint. {EXPECTED}.")
    else:
        raise ValueError(f"{path} does not exist. {EXPECTED}.")
    return checkpoint


def is_checkpoint(path: str | os.PathLike) -> bool:
    """Returns True if a path looks like a BERT checkpoint and not like a run folder."""
    path = Path(path)
    if path.is_dir():
        return any((path / name).is_file() for name in CONFIGS)
    return path.suffix in (".safetensors", ".index") or Path(f"{path}.index").is_file()


def check_vocabulary(path: Path, checkpoint: Checkpoint) -> None:
    """Checks that a vocabulary file has no more tokens than the checkpoint's token table has rows.

    Fewer tokens are accepted: the sizes of some tables were rounded up, and no token belongs to
    their last rows. A missing file is accepted as well.

    Raises:
        ValueError: If the vocabulary has more tokens than the token table has rows.
    """
    if not path.is_file():
        return
    lines = path.read_bytes().split(b"\n")
    count = len(lines) - (not lines[-1])
    size = checkpoint.options["vocabulary_size"]
    if count > size:
        raise ValueError(
            f"{path} has {count} tokens, but the token table of {checkpoint.source} has {size} "
            "rows, so it is the vocabulary of another model. Put the original file back."
        )


def _folder(path: Path) -> Checkpoint:
    is_ours = (path / SINGLE).exists() or (path / INDEX).exists()
    if (path / "config.json").is_file() and (is_ours or not any(path.glob("*.index"))):
        return hugging_face.open_checkpoint(path)
    if any(path.glob("*.index")):
        return google_bert.open_checkpoint(path)
    if is_ours:
        raise ValueError(
            f"{path}: expected config.json next to the weights; there is none. Add the original "
            "file: no other file states the number of attention heads or the variant of GELU."
        )
    found = ", ".join(sorted(file.name for file in path.iterdir())) or "nothing"
    raise ValueError(f"{path} is not a BERT checkpoint: it contains {found}. {EXPECTED}.")


def _start(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(4)
