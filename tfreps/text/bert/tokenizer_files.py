"""Reads and writes BERT's tokenizers in checkpoints and run folders."""

import os
import pathlib

from tfreps.files.json_files import read_json, write_json
from tfreps.text.bert.character_tokens import CharacterTokenizer, count_tokens
from tfreps.text.bert.piece_tokenizer import PieceTokenizer, read_pieces
from tfreps.text.bert.wordpiece import WordPieceTokenizer

__all__ = [
    "CharacterTokenizer",
    "PieceTokenizer",
    "WordPieceTokenizer",
    "checkpoint_tokenizer",
    "count_tokens",
    "read_tokenizer",
    "write_checkpoint_tokenizer",
    "write_tokenizer",
]

KINDS = {"wordpiece": WordPieceTokenizer, "characters": CharacterTokenizer}
VOCABULARY = "vocab.txt"
CONFIG = "tokenizer_config.json"
WHOLE = "tokenizer.json"
ADDED = "added_tokens.json"
OWN = "tfreps_tokenizer.json"
SPECIALS_MAP = "special_tokens_map.json"
DICTIONARIES = ("bert_word2idx_extend.json", "bert_word2idx.json")  # files of aespresso
SOURCES = (OWN, VOCABULARY, WHOLE, *DICTIONARIES)  # files from which a tokenizer can be read
# Maps option names in tokenizer_config.json and in the normalizer of tokenizer.json to the names
# and types in tfreps.
_NAMES = {
    "do_lower_case": ("lowercase", bool),
    "lowercase": ("lowercase", bool),
    "strip_accents": ("strip_accents", bool | None),
    "tokenize_chinese_chars": ("split_chinese", bool),
    "handle_chinese_chars": ("split_chinese", bool),
}
# Tokenizer classes of transformers that are BERT's, or whose files must show that they are.
_CLASSES = (
    "BertTokenizer",
    "BertTokenizerFast",
    "DistilBertTokenizer",
    "DistilBertTokenizerFast",
    "ElectraTokenizer",
    "ElectraTokenizerFast",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
    None,
)
_NO_LIMIT = 10**9
_SPECIALS = dict(
    zip(
        ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"),
        WordPieceTokenizer.SPECIAL_TOKENS,
        strict=True,
    )
)


def write_tokenizer(tokenizer: PieceTokenizer, path: str | os.PathLike) -> None:
    """Writes a tokenizer and its vocabulary to one JSON file. The write is atomic.

    Args:
        tokenizer: `WordPieceTokenizer` or `CharacterTokenizer`. The tokenizer to write.
        path: str or path-like object. Path of the file.

    Example:
        >>> import tempfile
        >>> from tfreps.text.bert import CharacterTokenizer, read_tokenizer, write_tokenizer
        >>> path = tempfile.mkdtemp() + "/tokenizer.json"
        >>> write_tokenizer(CharacterTokenizer.from_texts(["两 3"]), path)
        >>> read_tokenizer(path).ids("两 4")
        [20, 5]
    """
    kind = next(name for name, its in KINDS.items() if type(tokenizer) is its)
    config = {"tokenizer": kind, **tokenizer.get_config()}
    if tokenizer.max_length is None:  # keeps the file identical to those of older versions
        del config["max_length"]
    write_json(path, config, indent=0, ensure_ascii=False)


def read_tokenizer(path: str | os.PathLike) -> PieceTokenizer:
    """Reads a tokenizer from a file written by `write_tokenizer`.

    Args:
        path: str or path-like object. Path of the file.

    Returns:
        `WordPieceTokenizer` or `CharacterTokenizer`.

    Raises:
        ValueError: If the file cannot be read or does not contain such a tokenizer.

    Example:
        >>> import tempfile
        >>> from tfreps.text.bert import CharacterTokenizer, read_tokenizer, write_tokenizer
        >>> path = tempfile.mkdtemp() + "/tokenizer.json"
        >>> write_tokenizer(CharacterTokenizer.from_texts(["两 3"]), path)
        >>> read_tokenizer(path).tokenize("两 4")
        ['两', '#NUM#']
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
    folder: str | os.PathLike,
    lowercase: bool | None = None,
    vocabulary_size: int | None = None,
    **options,
) -> PieceTokenizer:
    """Reads the tokenizer of a checkpoint folder.

    If the folder contains tfreps_tokenizer.json, written by `write_checkpoint_tokenizer` or
    `write_tokenizer`, the tokenizer is read from this file, and the other files are ignored.
    Otherwise, the vocabulary of a `WordPieceTokenizer` is read from vocab.txt, and its options are
    read from tokenizer_config.json. If there is no vocab.txt, as in some newer checkpoints, the
    vocabulary and further options are read from tokenizer.json. If tokenizer.json is also missing,
    a `CharacterTokenizer` is read from aespresso's dictionary (bert_word2idx_extend.json or
    bert_word2idx.json).

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
        ValueError: If the folder has no vocabulary, the vocabulary is invalid, or the files
            contain options that tfreps does not support.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.text import checkpoint_tokenizer
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "run", "##s"]
        >>> _ = (folder / "vocab.txt").write_text("\\n".join(pieces))
        >>> checkpoint_tokenizer(folder).batch(["Runs", "run run runs"])["token_ids"].tolist()
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
            named = folder / name
            _check_specials(read_json(named), named)
    if (folder / VOCABULARY).is_file():
        source = folder / VOCABULARY
        found = {}
        pieces = read_pieces(source)
    elif (folder / WHOLE).is_file():
        source = folder / WHOLE
        pieces, found = _whole(source)
    else:
        for name in DICTIONARIES:
            if (folder / name).is_file():
                path = folder / name
                return CharacterTokenizer.from_dictionary(path, vocabulary_size, **options)
        raise ValueError(
            f"{folder} contains no {VOCABULARY}, no {WHOLE} and no {DICTIONARIES[0]}. Add the "
            "vocabulary of the checkpoint as vocab.txt, with one piece per line."
        )
    if source.name == VOCABULARY and (folder / WHOLE).is_file():  # transformers reads it too
        whole = read_json(folder / WHOLE)
        _refuse_added(_part(whole, "added_tokens", list, folder / WHOLE), folder / WHOLE)
    if (folder / ADDED).is_file():
        _refuse_added(read_json(folder / ADDED), folder / ADDED)
    if (folder / CONFIG).is_file():
        path = folder / CONFIG
        config = read_json(path)
        found |= {**_options(config, path), "max_length": _longest(config, path)}
    if "lowercase" not in found:
        specials = WordPieceTokenizer.SPECIAL_TOKENS
        found["lowercase"] = not any(p != p.lower() for p in pieces if p not in specials)
    return WordPieceTokenizer(pieces, source=str(source), **{**found, **options})


def write_checkpoint_tokenizer(tokenizer: PieceTokenizer, folder: str | os.PathLike) -> None:
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
        >>> from tfreps.text.bert import CharacterTokenizer, write_checkpoint_tokenizer
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


def _options(config: dict, path: pathlib.Path) -> dict:
    """Returns the options of `WordPieceTokenizer`; rejects those of other tokenizers."""
    found = {}
    kind = config.get("tokenizer_class")
    if kind not in _CLASSES:
        raise ValueError(
            f"{path}: 'tokenizer_class' must be the class of a WordPiece tokenizer, such as "
            f"'BertTokenizer', because tfreps supports no others; got {kind!r}."
        )
    if config.get("truncation_side", "right") != "right":
        raise ValueError(
            f"{path}: 'truncation_side' must be 'right', because tfreps truncates long texts at "
            f"the end; got {config['truncation_side']!r}."
        )
    if config.get("do_basic_tokenize", True) is not True or config.get("never_split"):
        raise ValueError(
            f"{path}: 'do_basic_tokenize' must be true and 'never_split' must be empty, because "
            "tfreps does not support other values; got "
            f"{config.get('do_basic_tokenize', True)!r} and {config.get('never_split')!r}."
        )
    _refuse_added(_part(config, "added_tokens_decoder", dict, path).values(), path)
    for theirs, (ours, kind) in _NAMES.items():
        if theirs in config:
            if not isinstance(config[theirs], kind):
                raise ValueError(
                    f"{path}: {theirs!r} must be true or false; got {config[theirs]!r}."
                )
            found[ours] = config[theirs]
    return found


def _longest(config: dict, path: pathlib.Path) -> int | None:
    """Returns `model_max_length`, or `None` if it is missing or huge, which means no limit."""
    longest = config.get("model_max_length")
    if longest is None or isinstance(longest, int | float) and longest > _NO_LIMIT:
        return None
    if type(longest) is not int or longest < 3:
        raise ValueError(
            f"{path}: 'model_max_length' must be an integer of at least 3, for one piece and two "
            f"special tokens; got {longest!r}."
        )
    return longest


def _check_specials(config: dict, path: pathlib.Path) -> None:
    """Rejects special tokens other than BERT's."""
    for name, expected in _SPECIALS.items():
        given = _content(config.get(name, expected))
        if given not in (expected, None):
            raise ValueError(f"{path}: {name!r} must be {expected!r}, as in BERT; got {given!r}.")


def _check_ends(post_processor: dict, path: pathlib.Path) -> None:
    """Rejects start and separator tokens other than BERT's in the post-processor."""
    ends = [*_part(post_processor, "special_tokens", dict, path)]
    for end in "cls", "sep":  # each a token and its id
        ends += _part(post_processor, end, list, path)[:1]
    others = [repr(token) for token in ends if token not in WordPieceTokenizer.SPECIAL_TOKENS]
    if others:
        raise ValueError(
            f"{path}: 'post_processor' must enclose a text in '[CLS]' and '[SEP]', as in BERT; "
            f"got {', '.join(others)}."
        )


def _content(token):
    """Returns the text of a special token, which some files store in an object."""
    return token.get("content") if isinstance(token, dict) else token


def _refuse_added(tokens, path: pathlib.Path) -> None:
    """Rejects added tokens other than BERT's special tokens.

    Added tokens are matched before a text is split, which tfreps does not support.
    """
    specials = WordPieceTokenizer.SPECIAL_TOKENS
    more = [repr(token) for token in map(_content, tokens) if token not in specials]
    if more:
        raise ValueError(
            f"{path} adds tokens to the vocabulary ({', '.join(more[:3])}) that are matched before "
            "a text is split. tfreps does not support this. Remove them from the file if your "
            "texts do not contain them."
        )


def _part(config: dict, name: str, kind: type, path: pathlib.Path):
    """Returns the object or list called `name`, or an empty one if it is missing."""
    found = config.get(name)
    if found is not None and not isinstance(found, kind):
        raise ValueError(
            f"{path}: {name!r} must be {'an object' if kind is dict else 'a list'}; "
            f"got {found!r:.60}."
        )
    return found or kind()


def _whole(path: pathlib.Path) -> tuple[list[str], dict]:
    """Returns the pieces in a tokenizer.json file, in the order of their ids, and the options."""
    config = read_json(path)
    model, normalizer = (_part(config, name, dict, path) for name in ("model", "normalizer"))
    kinds = model.get("type"), normalizer.get("type")
    if kinds != ("WordPiece", "BertNormalizer") or not isinstance(model.get("vocab"), dict):
        raise ValueError(
            f"{path}: 'model' must be of type 'WordPiece' and contain a 'vocab', and 'normalizer' "
            f"must be of type 'BertNormalizer'; got the types {kinds[0]!r} and {kinds[1]!r}. "
            "tfreps supports only BERT's own tokenizers."
        )
    _check_ends(_part(config, "post_processor", dict, path), path)
    _refuse_added(_part(config, "added_tokens", list, path), path)
    ids = model["vocab"]
    if {type(n) for n in ids.values()} != {int} or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(
            f"{path}: the ids in 'vocab' must be the integers from 0 to {len(ids) - 1}, each of "
            "them used once."
        )
    found = _options(normalizer, path)
    if "max_input_chars_per_word" in model:
        longest = found["max_characters_per_word"] = model["max_input_chars_per_word"]
        if type(longest) is not int or longest < 1:
            raise ValueError(
                f"{path}: 'max_input_chars_per_word' must be an integer of at least 1; "
                f"got {longest!r:.60}."
            )
    return sorted(ids, key=ids.get), found
