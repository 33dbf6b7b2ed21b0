"""Reads and writes BERT's tokenizers in checkpoints and run folders."""

import os
import pathlib
from typing import Any

from tfreps._src.files.json_files import read_json, write_json
from tfreps._src.text.bert.character_tokens import CharacterTokenizer
from tfreps._src.text.bert.hugging_face_files import (
    SPECIALS,
    added_names,
    check_added,
    check_config,
    check_specials,
    check_truncation,
    config_options,
    difference,
    further_tokens,
    in_order,
    special_tokens,
    with_config,
    wordpiece_options,
)
from tfreps._src.text.bert.json_tokenizer import JsonTokenizer
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer, read_pieces
from tfreps._src.text.bert.wordpiece import WordPieceTokenizer

KINDS: dict[str, type[PieceTokenizer]] = {
    "wordpiece": WordPieceTokenizer,
    "characters": CharacterTokenizer,
    "json": JsonTokenizer,
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
        tokenizer: `WordPieceTokenizer`, `JsonTokenizer` or `CharacterTokenizer`. The tokenizer to
            write.
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
        `WordPieceTokenizer`, `JsonTokenizer` or `CharacterTokenizer`.

    Raises:
        ValueError: If the file is not JSON or was not written by `write_tokenizer`.
    """
    config = read_json(path)
    kind = config.pop("tokenizer", None)
    config.setdefault("max_length", None)
    known = isinstance(kind, str) and kind in KINDS
    if not known or set(config) != {*KINDS[kind].CONTENT, *KINDS[kind].OPTIONS}:
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

    If tokenizer.json does not describe BERT's own tokenizer, a `JsonTokenizer` is returned, which
    can be used in Python but not exported. The parts "padding" and "decoder" and the length in
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
        `WordPieceTokenizer`, `JsonTokenizer` or `CharacterTokenizer`.

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
    whole = folder / WHOLE
    definition = read_json(whole) if whole.is_file() else None
    lines = read_pieces(folder / VOCABULARY) if (folder / VOCABULARY).is_file() else None
    if definition is None and lines is None:
        for name in DICTIONARIES:
            if (folder / name).is_file():
                path = folder / name
                return CharacterTokenizer.from_dictionary(path, vocabulary_size, **options)
        raise ValueError(
            f"{folder} contains no {VOCABULARY}, no {WHOLE} and no {DICTIONARIES[0]}. Add the "
            "vocabulary of the checkpoint as vocab.txt, with one piece per line."
        )
    config, tokens = _read_configs(folder, definition)
    found = config_options(config, folder / CONFIG)
    pieces = lines or []
    if definition is not None:
        check_truncation(definition, whole)
        definition = with_config(definition, config, whole)
        if difference(definition, tokens, whole) is not None:
            given = {"max_length": found["max_length"], **options}
            return _json_tokenizer(definition, tokens, lines, folder, given)
        pieces = in_order(definition["model"].get("vocab"), whole)
        found = {**wordpiece_options(definition, whole), "max_length": found["max_length"]}
        _check_same(lines, pieces, folder)
    if "lowercase" not in found:
        specials = WordPieceTokenizer.SPECIAL_TOKENS
        found["lowercase"] = not any(p != p.lower() for p in pieces if p not in specials)
    source = folder / (WHOLE if lines is None else VOCABULARY)
    return WordPieceTokenizer(pieces, source=str(source), **{**found, **options})


def _read_configs(
    folder: pathlib.Path, definition: dict[str, Any] | None
) -> tuple[dict[str, Any], list[Any]]:
    """Returns tokenizer_config.json, or an empty dict, and the five special tokens."""
    names = [n for n in (SPECIALS_MAP, CONFIG) if (folder / n).is_file()]
    files = {folder / name: read_json(folder / name) for name in names}
    config = files.get(folder / CONFIG, {})
    check_config(config, folder / CONFIG, definition is not None)
    tokens = special_tokens(files.values())
    known = list(SPECIALS.values())
    if definition is not None:
        known = [*tokens, *(name for _, name in added_names(definition, folder / WHOLE))]
    for path, content in files.items():
        if definition is None:
            check_specials(content, path)
        check_added(further_tokens(content, path), known, path)
    if (folder / ADDED).is_file():
        check_added(read_json(folder / ADDED), known, folder / ADDED)
    return config, tokens


def _json_tokenizer(
    definition: dict[str, Any],
    tokens: list[Any],
    lines: list[str] | None,
    folder: pathlib.Path,
    options: dict[str, Any],
) -> JsonTokenizer:
    """Returns the `JsonTokenizer` of a folder; raises a ValueError for options of others."""
    others = [f"`{name}`" for name in options if name != "max_length"]
    if others:
        raise ValueError(
            f"{', '.join(others)} cannot change {folder / WHOLE}, which does not describe BERT's "
            "own tokenizer. Omit the options."
        )
    found = JsonTokenizer(definition, tokens, source=str(folder / WHOLE), **options)
    if lines is not None:
        _check_same(lines, found.vocabulary[: len(lines)], folder)
    return found


def _check_same(lines: list[str] | None, pieces: list[str], folder: pathlib.Path) -> None:
    if lines not in (None, pieces):
        raise ValueError(
            f"{folder / VOCABULARY} and {WHOLE} contain different vocabularies. Remove the one "
            "that does not belong to the model."
        )


def write_checkpoint_tokenizer(tokenizer: PieceTokenizer, folder: str | os.PathLike[str]) -> None:
    """Writes a tokenizer to a checkpoint folder in the format of Hugging Face.

    The vocabulary is written to vocab.txt. The options of a `WordPieceTokenizer` are written to
    tokenizer_config.json, with `max_length` as `model_max_length`; `max_characters_per_word` is not
    written, because this format cannot represent it. A `JsonTokenizer` is written to
    tokenizer.json and tokenizer_config.json, without vocab.txt. Hugging Face has no tokenizer like
    `CharacterTokenizer`, which is therefore also written to tfreps_tokenizer.json.
    `checkpoint_tokenizer` reads both formats.

    Args:
        tokenizer: `WordPieceTokenizer`, `JsonTokenizer` or `CharacterTokenizer`. The tokenizer to
            write.
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
    config: dict[str, Any] = {}
    if isinstance(tokenizer, JsonTokenizer):
        write_json(folder / WHOLE, tokenizer.definition, ensure_ascii=False)
        config = {"tokenizer_class": "PreTrainedTokenizerFast"}
        config |= dict(zip(SPECIALS, tokenizer.special_tokens, strict=True))
    else:
        tokenizer.write_vocabulary(folder / VOCABULARY)
    if isinstance(tokenizer, WordPieceTokenizer):
        config = {
            "tokenizer_class": "BertTokenizer",
            "do_lower_case": tokenizer.lowercase,
            "strip_accents": tokenizer.strip_accents,
            "tokenize_chinese_chars": tokenizer.split_chinese,
        }
    if isinstance(tokenizer, CharacterTokenizer):
        write_tokenizer(tokenizer, folder / OWN)
        return
    if tokenizer.max_length is not None:
        config["model_max_length"] = tokenizer.max_length
    write_json(folder / CONFIG, config)
