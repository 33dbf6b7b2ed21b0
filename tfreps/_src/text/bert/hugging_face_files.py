"""Reads the tokenizer files of Hugging Face: tokenizer.json and tokenizer_config.json."""

import pathlib
from collections.abc import Iterable
from typing import Any

from tfreps._src.files.json_files import read_json
from tfreps._src.text.bert.wordpiece import CONTINUATION, WordPieceTokenizer

# Maps option names in tokenizer_config.json and in the normalizer of tokenizer.json to the names
# and types in tfreps.
_NAMES = {
    "do_lower_case": ("lowercase", bool),
    "lowercase": ("lowercase", bool),
    "strip_accents": ("strip_accents", bool | None),
    "tokenize_chinese_chars": ("split_chinese", bool),
    "handle_chinese_chars": ("split_chinese", bool),
}
# Tokenizer classes of transformers that read any tokenizer.json. If tokenizer_config.json names
# one, the options in tokenizer.json apply.
_GENERAL = ("PreTrainedTokenizerFast", "TokenizersBackend")
_CLASSES = (
    "BertTokenizer",
    "BertTokenizerFast",
    "DistilBertTokenizer",
    "DistilBertTokenizerFast",
    "ElectraTokenizer",
    "ElectraTokenizerFast",
    *_GENERAL,
    None,
)
_NO_LIMIT = 10**9
_PADDING, _UNKNOWN, _START, _SEPARATOR, _MASK = WordPieceTokenizer.SPECIAL_TOKENS
_SPECIALS = {
    "pad_token": _PADDING,
    "unk_token": _UNKNOWN,
    "cls_token": _START,
    "sep_token": _SEPARATOR,
    "mask_token": _MASK,
}
# Values of the parts of tokenizer.json, by part and key, that BERT's tokenizers have. The types of
# the parts must be given; the other keys may be missing.
_PARTS = {
    "model": {
        "type": ("WordPiece",),
        "unk_token": (_UNKNOWN,),
        "continuing_subword_prefix": (CONTINUATION,),
    },
    "normalizer": {"type": ("BertNormalizer",), "clean_text": (True,)},
    "pre_tokenizer": {"type": ("BertPreTokenizer",)},
    "post_processor": {"type": ("BertProcessing", "TemplateProcessing")},
    "truncation": {"direction": ("Right",)},
}
# How a TemplateProcessing encloses one text and two texts: the parts and their segments.
_TEMPLATES = {
    "single": [(_START, 0), ("A", 0), (_SEPARATOR, 0)],
    "pair": [(_START, 0), ("A", 0), (_SEPARATOR, 0), ("B", 1), (_SEPARATOR, 1)],
}


def read_whole(path: pathlib.Path) -> tuple[list[str], dict[str, Any]]:
    """Returns the pieces, in the order of their ids, and the options of a tokenizer.json.

    Raises a ValueError if a part of the file does not describe a tokenizer like BERT's.
    """
    config = read_json(path)
    for name, keys in _PARTS.items():
        _check_part(name, keys, _part(config, name, dict, path), path)
    model = config["model"]
    ids = _part(model, "vocab", dict, path)
    if not ids:
        raise ValueError(
            f"{path}: expected a vocabulary in 'vocab' of 'model'; the file has none. Use the "
            "original tokenizer.json."
        )
    missing = set(range(len(ids))) - {n for n in ids.values() if type(n) is int}
    if missing:
        raise ValueError(
            f"{path}: the ids in 'vocab' must be the integers from 0 to {len(ids) - 1}, each used "
            f"by one piece; no piece has the id {min(missing)}. Restore the original file."
        )
    _check_ends(config["post_processor"], ids, path)
    check_added(_part(config, "added_tokens", list, path), path)
    found = _options(config["normalizer"], path)
    if "max_input_chars_per_word" in model:
        longest = found["max_characters_per_word"] = model["max_input_chars_per_word"]
        if type(longest) is not int or longest < 1:
            raise ValueError(
                f"{path}: 'max_input_chars_per_word' must be an integer of at least 1; "
                f"got {longest!r:.60}."
            )
    return sorted(ids, key=ids.get), found


def read_config(path: pathlib.Path, whole: dict[str, Any]) -> dict[str, Any]:
    """Returns a dict of the options of tokenizer_config.json and of `whole`, a tokenizer.json.

    If both define an option, the one in tokenizer_config.json is used, unless the class of the
    tokenizer is in `_GENERAL`.
    """
    config = read_json(path)
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
    check_added(_part(config, "added_tokens_decoder", dict, path).values(), path)
    own = _options(config, path)
    found = {**own, **whole} if kind in _GENERAL else {**whole, **own}
    return {**found, "max_length": _longest(config, path)}


def check_specials(config: dict[str, Any], path: pathlib.Path) -> None:
    """Raises a ValueError if a file has special tokens other than BERT's."""
    for name, expected in _SPECIALS.items():
        given = _content(config.get(name, expected))
        if given not in (expected, None):
            raise ValueError(f"{path}: {name!r} must be {expected!r}, as in BERT; got {given!r}.")
    for name in "additional_special_tokens", "extra_special_tokens":
        given = config.get(name)
        listed = given.values() if isinstance(given, dict) else _part(config, name, list, path)
        check_added(listed, path)


def check_added(tokens: Iterable[object], path: pathlib.Path) -> None:
    """Raises a ValueError if one of the added tokens is not a special token of BERT.

    Hugging Face recognizes added tokens in a text before it splits the text into words.
    """
    specials = WordPieceTokenizer.SPECIAL_TOKENS
    more = [repr(token) for token in map(_content, tokens) if token not in specials]
    if more:
        raise ValueError(
            f"{path} adds tokens to the vocabulary ({', '.join(more[:3])}) that are matched before "
            "a text is split. tfreps does not support this. Remove them from the file if your "
            "texts do not contain them."
        )


def _check_part(
    name: str, keys: dict[str, tuple], part: dict[str, Any], path: pathlib.Path
) -> None:
    """Raises a ValueError if a part of tokenizer.json has a value that is not supported.

    `name` is the name of the part, and `keys` maps each of its keys to the supported values.
    """
    for key, accepted in keys.items():
        given = part.get(key, None if key == "type" else accepted[0])
        if given not in accepted:
            raise ValueError(
                f"{path}: {key!r} of {name!r} must be {' or '.join(map(repr, accepted))}; got "
                f"{given!r:.60}. tfreps supports only BERT's own tokenizers."
            )


def _check_ends(processor: dict[str, Any], ids: dict[str, int], path: pathlib.Path) -> None:
    """Raises a ValueError unless a post-processor encloses texts in `[CLS]` and `[SEP]`.

    Also raises a ValueError if segments are not numbered as in BERT. `ids` maps pieces to ids.
    """
    if processor["type"] == "BertProcessing":
        found = [processor.get(end) for end in ("cls", "sep")]
        expected = [[token, ids.get(token)] for token in (_START, _SEPARATOR)]
    else:
        tokens = _part(processor, "special_tokens", dict, path)
        used = {_START: [ids.get(_START)], _SEPARATOR: [ids.get(_SEPARATOR)]}
        found = [_template(processor, name, path) for name in _TEMPLATES]
        found += [{name: _part(tokens, name, dict, path).get("ids") for name in tokens}]
        expected = [*_TEMPLATES.values(), used]
    if found != expected:
        raise ValueError(
            f"{path}: 'post_processor' must be {expected!r}, which encloses a text in '[CLS]' "
            f"and '[SEP]' and numbers the segments, as in BERT; got {found!r}. Use the "
            "original file."
        )


def _template(processor: dict[str, Any], name: str, path: pathlib.Path) -> list:
    """Returns a template of a post-processor as a list of tuples `(part, segment id)`."""
    items = _part(processor, name, list, path)
    values = [v for item in items for v in (item.values() if isinstance(item, dict) else [item])]
    return [(v.get("id"), v.get("type_id")) if isinstance(v, dict) else v for v in values]


def _options(config: dict[str, Any], path: pathlib.Path) -> dict[str, Any]:
    """Returns a dict of the options of `WordPieceTokenizer` that a config or normalizer sets."""
    found = {}
    for theirs, (ours, kind) in _NAMES.items():
        if theirs in config:
            if not isinstance(config[theirs], kind):
                raise ValueError(
                    f"{path}: {theirs!r} must be true or false; got {config[theirs]!r}."
                )
            found[ours] = config[theirs]
    return found


def _longest(config: dict[str, Any], path: pathlib.Path) -> int | None:
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


def _content(token: Any) -> Any:
    """Returns the text of a special token, which some files store in a JSON object."""
    return token.get("content") if isinstance(token, dict) else token


def _part(config: dict[str, Any], name: str, kind: type, path: pathlib.Path) -> Any:
    """Returns the dict or list called `name` in `config`, or an empty one if it is missing."""
    found = config.get(name)
    if found is not None and not isinstance(found, kind):
        raise ValueError(
            f"{path}: {name!r} must be {'a JSON object' if kind is dict else 'a JSON list'}; "
            f"got {found!r:.60}."
        )
    return found or kind()
