"""Reads and writes BERT's tokenizers in checkpoints and run folders."""

import os
import pathlib
from typing import Any

from tfreps._src.files.json_files import read_json, write_json
from tfreps._src.text.bert.character_tokens import CharacterTokenizer
from tfreps._src.text.bert.hugging_face_files import (
    check_added,
    check_specials,
    read_config,
    read_whole,
)
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer, read_pieces
from tfreps._src.text.bert.wordpiece import WordPieceTokenizer

KINDS: dict[str, type[PieceTokenizer]] = {
    "wordpiece": WordPieceTokenizer,
    "characters": CharacterTokenizer,
}
VOCABULARY = "vocab.txt"
CONFIG = "tokenizer_config.json"
WHOLE = "tokenizer.json"
ADDED = "added_tokens.json"
OWN = "tfreps_tokenizer.json"
SPECIALS_MAP = "special_tokens_map.json"
# Dictionaries that aespresso's code writes.
DICTIONARIES = ("bert_word2idx_extend.json", "bert_word2idx.json")
SOURCES = (OWN, VOCABULARY, WHOLE, *DICTIONARIES)  # files from which a tokenizer can be read


def write_tokenizer(tokenizer: PieceTokenizer, path: str | os.PathLike[str]) -> None:
    """Writes a tokenizer and its vocabulary to one JSON file. The write is atomic.

    Args:
        tokenizer: `WordPieceTokenizer` or `CharacterTokenizer`. The tokenizer to write.
        path: str or path-like object. Path of the file.

    Example:
        >>> import tempfile
        >>> from tfreps.text import CharacterTokenizer, read_tokenizer, write_tokenizer
        >>> path = tempfile.mkdtemp() + "/tokenizer.json"
        >>> write_tokenizer(CharacterTokenizer.from_texts(["两 3"]), path)
        >>> read_tokenizer(path).text_to_ids("两 4")
        [20, 5]
    """
    kind = next(name for name, its in KINDS.items() if type(tokenizer) is its)
    write_json(path, {"tokenizer": kind, **tokenizer.get_config()}, indent=0, ensure_ascii=False)


def read_tokenizer(path: str | os.PathLike[str]) -> PieceTokenizer:
    """Reads a tokenizer from a file that `write_tokenizer` wrote, and returns it.

    Args:
        path: str or path-like object. Path of the file.

    Returns:
        `WordPieceTokenizer` or `CharacterTokenizer`.

    Raises:
        ValueError: If the file is not JSON or was not written by `write_tokenizer`.
    """
    config = read_json(path)
    kind = config.pop("tokenizer", None)
    config.setdefault("max_length", None)
    known = isinstance(kind, str) and kind in KINDS
    if not known or set(config) != {"vocabulary", *KINDS[kind].OPTIONS}:
        raise ValueError(
            f"{path} does not contain a tokenizer written by tfreps. Expected the file "
            "tfreps_tokenizer.json of a run of `tfreps pretrain-bert`, or of a tagger or "
            "classifier with a BERT encoder."
        )
    return KINDS[kind].from_config({**config, "source": str(path)})


def checkpoint_tokenizer(
    folder: str | os.PathLike[str],
    lowercase: bool | None = None,
    vocabulary_size: int | None = None,
    **options: Any,
) -> PieceTokenizer:
    """Reads the tokenizer of a checkpoint folder.

    If the folder contains tfreps_tokenizer.json, written by `write_checkpoint_tokenizer` or
    `write_tokenizer`, the tokenizer is read from this file, and the other files are ignored.
    Otherwise, the vocabulary of a `WordPieceTokenizer` is read from vocab.txt or tokenizer.json,
    and its options are read from tokenizer.json and tokenizer_config.json. If both files define an
    option, tokenizer_config.json applies, as in transformers. If there is neither a vocab.txt nor
    a tokenizer.json, a `CharacterTokenizer` is read from aespresso's dictionary
    (bert_word2idx_extend.json or bert_word2idx.json).

    Every part of tokenizer.json that changes the pieces of a text must describe BERT's tokenizer;
    otherwise, an error names the part. The parts "padding" and "decoder" and the length in
    "truncation" have no effect, as in transformers.

    Args:
        folder: str or path-like object. Folder of a BERT checkpoint from Google, Hugging Face
            or aespresso.
        lowercase: bool or None. Whether text is lowercased. If `None`, the option in the
            files is used. Without such an option, as in Google's checkpoints, text is lowercased
            if and only if no piece other than the special tokens contains a capital letter; with
            aespresso's dictionary, it is always lowercased. Defaults to `None`.
        vocabulary_size: int or None. Number of rows in the model's embedding table. Tokens of
            aespresso's dictionary with this id or a larger one are treated as unknown. The
            argument has no effect on other vocabularies. If `None`, all tokens are known. Defaults
            to `None`.
        **options: Options of the tokenizer that override those in the files.

    Returns:
        `WordPieceTokenizer` or `CharacterTokenizer`.

    Raises:
        ValueError: If the folder has no vocabulary, the vocabulary is invalid, vocab.txt and
            tokenizer.json have different vocabularies, or the files contain options that tfreps
            does not support.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.text import checkpoint_tokenizer
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "run", "##s"]
        >>> _ = (folder / "vocab.txt").write_text("\\n".join(pieces))
        >>> checkpoint_tokenizer(folder).build_batch(["Runs", "run run runs"])["token_ids"].tolist()
        [[2, 5, 6, 3, 0, 0], [2, 5, 5, 5, 6, 3]]
    """
    folder = pathlib.Path(folder)
    if lowercase is not None:
        options["lowercase"] = lowercase
    if (folder / OWN).is_file():
        tokenizer = read_tokenizer(folder / OWN)
        return type(tokenizer).from_config({**tokenizer.get_config(), **options})
    # Checked first, because a file with other special tokens also has added tokens.
    for name in SPECIALS_MAP, CONFIG:
        if (folder / name).is_file():
            check_specials(read_json(folder / name), folder / name)
    has_whole = (folder / WHOLE).is_file()
    pieces, found = read_whole(folder / WHOLE) if has_whole else (None, {})
    source = folder / (VOCABULARY if (folder / VOCABULARY).is_file() else WHOLE)
    if source.name == VOCABULARY:
        lines = read_pieces(source)
        if pieces not in (None, lines):
            raise ValueError(
                f"{source} and {WHOLE} contain different vocabularies. Remove the one that does "
                "not belong to the model."
            )
        pieces = lines
    elif pieces is None:
        for name in DICTIONARIES:
            if (folder / name).is_file():
                path = folder / name
                return CharacterTokenizer.from_dictionary(path, vocabulary_size, **options)
        raise ValueError(
            f"{folder} contains no {VOCABULARY}, no {WHOLE} and no {DICTIONARIES[0]}. Add the "
            "vocabulary of the checkpoint as vocab.txt, with one piece per line."
        )
    if (folder / ADDED).is_file():
        check_added(read_json(folder / ADDED), folder / ADDED)
    if (folder / CONFIG).is_file():
        found = read_config(folder / CONFIG, found)
    if "lowercase" not in found:
        specials = WordPieceTokenizer.SPECIAL_TOKENS
        found["lowercase"] = not any(p != p.lower() for p in pieces if p not in specials)
    return WordPieceTokenizer(pieces, source=str(source), **{**found, **options})


def write_checkpoint_tokenizer(tokenizer: PieceTokenizer, folder: str | os.PathLike[str]) -> None:
    """Writes a tokenizer to a checkpoint folder in the format of Hugging Face.

    The vocabulary is written to vocab.txt. The options of a `WordPieceTokenizer` are written to
    tokenizer_config.json, with `max_length` as `model_max_length`; `max_characters_per_word` is not
    written, because this format cannot represent it. Hugging Face has no tokenizer like
    `CharacterTokenizer`, which is therefore also written to tfreps_tokenizer.json.
    `checkpoint_tokenizer` reads both formats.

    Args:
        tokenizer: `WordPieceTokenizer` or `CharacterTokenizer`. The tokenizer to write.
        folder: str or path-like object. An existing folder.

    Raises:
        ValueError: If a piece is blank or contains a line break.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.text import CharacterTokenizer, write_checkpoint_tokenizer
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> write_checkpoint_tokenizer(CharacterTokenizer.from_texts(["两 3"]), folder)
        >>> sorted(path.name for path in folder.iterdir())
        ['tfreps_tokenizer.json', 'vocab.txt']
    """
    folder = pathlib.Path(folder)
    tokenizer.write_vocabulary(folder / VOCABULARY)
    if isinstance(tokenizer, WordPieceTokenizer):
        config = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": tokenizer.lowercase,
            "strip_accents": tokenizer.strip_accents,
            "tokenize_chinese_chars": tokenizer.split_chinese,
        }
        if tokenizer.max_length is not None:
            config["model_max_length"] = tokenizer.max_length
        write_json(folder / CONFIG, config)
    else:
        write_tokenizer(tokenizer, folder / OWN)
