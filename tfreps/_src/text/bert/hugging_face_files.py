"""Reads the tokenizer files of Hugging Face: tokenizer.json and tokenizer_config.json."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

CONTINUATION = "##"
SPECIALS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
# Option names in tokenizer_config.json, in the normalizer of tokenizer.json, and in tfreps.
_SWITCHES = [
    ("do_lower_case", "lowercase", "lowercase", bool),
    ("strip_accents", "strip_accents", "strip_accents", bool | None),
    ("tokenize_chinese_chars", "handle_chinese_chars", "split_chinese", bool),
]
# Tokenizer classes of transformers that apply the options of tokenizer_config.json.
_CLASSES = (
    "BertTokenizer",
    "BertTokenizerFast",
    "DistilBertTokenizer",
    "DistilBertTokenizerFast",
    "ElectraTokenizer",
    "ElectraTokenizerFast",
    None,
)
# Tokenizer classes that read any tokenizer.json.
_GENERAL = ("PreTrainedTokenizerFast", "TokenizersBackend")
_NO_LIMIT = 10**9
# Values of the parts of tokenizer.json, by part and key, that the graph of `WordPieceTokenizer`
# supports. The types of the parts must be given; the other keys may be missing.
_PARTS = {
    "model": {
        "type": "WordPiece",
        "unk_token": SPECIALS["unk_token"],
        "continuing_subword_prefix": CONTINUATION,
    },
    "normalizer": {"type": "BertNormalizer", "clean_text": True},
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}
Path = str | os.PathLike[str]


def difference(definition: dict[str, Any], tokens: Sequence[str], path: Path) -> str | None:
    """Returns the first part of a tokenizer.json that differs from those of BERT's tokenizers.

    Returns `None` if the file describes a `WordPieceTokenizer`. `tokens` are the special tokens.
    """
    for name, keys in _PARTS.items():
        part = _part(definition, name, dict, path)
        for key, expected in keys.items():
            given = part.get(key, None if key == "type" else expected)
            if given != expected:
                return f"{key!r} of {name!r} must be {expected!r}; got {given!r:.60}"
    for name, given in zip(SPECIALS, tokens, strict=True):
        if given != SPECIALS[name]:
            return f"{name!r} must be {SPECIALS[name]!r}; got {given!r}"
    ids = definition["model"].get("vocab")
    known = [name for name in in_order(ids, path) if name in SPECIALS.values()]
    more = [name for _, name in added_names(definition, path) if name not in known]
    if more:
        return f"it adds tokens that are matched before a text is split, such as {more[0]!r}"
    pair = pair_of(definition.get("post_processor"), ("[CLS]", "[SEP]"), ids, path)
    return None if pair == (1, 1) else "'post_processor' must join two texts like BERT"


def model_pieces(definition: dict[str, Any]) -> set[str]:
    """Returns the pieces in the model of a tokenizer.json, without added tokens."""
    model = definition.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    pieces = (item[:1] if isinstance(item, list) else [item] for item in vocabulary or ())
    return {piece for one in pieces for piece in one if isinstance(piece, str)}


def in_order(ids: Any, path: Path) -> list[str]:
    """Returns the pieces in the order of their ids, which must be the integers from 0 onwards."""
    if not isinstance(ids, dict) or not ids:
        raise ValueError(
            f"{path}: expected a vocabulary in 'vocab' of 'model'; the file has none. Use the "
            "original tokenizer.json."
        )
    missing = set(range(len(ids))) - {n for n in ids.values() if type(n) is int}
    if missing:
        raise ValueError(
            f"{path}: the ids of pieces must be the integers from 0 to {len(ids) - 1}, each used "
            f"by one piece; no piece has the id {min(missing)}. Restore the original file."
        )
    return sorted(ids, key=lambda piece: ids[piece])


def added_names(definition: dict[str, Any], path: Path) -> list[tuple[Any, Any]]:
    """Returns the added tokens of a tokenizer.json as pairs of the JSON value and its text."""
    return [(t, _content(t)) for t in _part(definition, "added_tokens", list, path)]


def pair_of(processor: Any, ends: Sequence[str], ids: Any, path: Path) -> tuple[int, int]:
    """Returns how a post-processor joins two texts.

    The result is a tuple of the number of separators after the first text, and the segment id of
    the second text. Raises a ValueError unless each text is enclosed in the start and separator
    tokens `ends`. `ids` maps pieces to ids.
    """
    start, end = ends
    kind = processor.get("type") if isinstance(processor, dict) else None
    if kind in ("BertProcessing", "RobertaProcessing"):
        found = [processor.get("cls"), processor.get("sep")]
        if found == [[token, ids.get(token)] for token in ends]:
            return (1, 1) if kind == "BertProcessing" else (2, 0)
    elif kind == "TemplateProcessing":
        tokens = _part(processor, "special_tokens", dict, path)
        used = {name: _part(tokens, name, dict, path).get("ids") for name in tokens}
        single, pair = (_template(processor, name, path) for name in ("single", "pair"))
        found = [single, pair, used]
        one = [(start, 0), ("A", 0)]
        for separators, segment in ((1, 1), (1, 0), (2, 0), (2, 1)):
            two = [*one, *[(end, 0)] * separators, ("B", segment), (end, segment)]
            if found == [[*one, (end, 0)], two, {token: [ids.get(token)] for token in ends}]:
                return separators, segment
    else:
        found = kind
    raise ValueError(
        f"{path}: 'post_processor' must enclose each text in {start!r} and {end!r}, as in BERT; "
        f"got {found!r}. Use the original file."
    )


def wordpiece_options(definition: dict[str, Any], path: Path) -> dict[str, Any]:
    """Returns the options of the `WordPieceTokenizer` that a tokenizer.json describes."""
    normalizer, model = definition["normalizer"], definition["model"]
    found = _switches(normalizer, {theirs: (ours, t) for _, theirs, ours, t in _SWITCHES}, path)
    if "max_input_chars_per_word" in model:
        longest = found["max_characters_per_word"] = model["max_input_chars_per_word"]
        if type(longest) is not int or longest < 1:
            raise ValueError(
                f"{path}: 'max_input_chars_per_word' must be an integer of at least 1; "
                f"got {longest!r:.60}."
            )
    return found


def config_options(config: dict[str, Any], path: Path) -> dict[str, Any]:
    """Returns the options of a `WordPieceTokenizer` in tokenizer_config.json."""
    names = {theirs: (ours, kind) for theirs, _, ours, kind in _SWITCHES}
    return {**_switches(config, names, path), "max_length": _longest(config, path)}


def with_config(definition: dict[str, Any], config: dict[str, Any], path: Path) -> dict[str, Any]:
    """Returns a tokenizer.json whose `BertNormalizer` has the options of tokenizer_config.json.

    Returns `definition` if it has another normalizer, or if the class of the tokenizer in `config`
    ignores these options.
    """
    normalizer = _part(definition, "normalizer", dict, path)
    if config.get("tokenizer_class") not in _CLASSES or normalizer.get("type") != "BertNormalizer":
        return definition
    names = {theirs: (other, kind) for theirs, other, _, kind in _SWITCHES}
    return {**definition, "normalizer": {**normalizer, **_switches(config, names, path)}}


def check_config(config: dict[str, Any], path: Path, has_whole: bool) -> None:
    """Raises a ValueError for a tokenizer_config.json that tfreps does not support.

    `has_whole` is True if there also is a tokenizer.json, to which any class may apply.
    """
    kind = config.get("tokenizer_class")
    if not (has_whole and isinstance(kind, str)) and kind not in (*_CLASSES, *_GENERAL):
        raise ValueError(
            f"{path}: 'tokenizer_class' must be the class of a WordPiece tokenizer, such as "
            "'BertTokenizer', because tfreps supports others only if there is a tokenizer.json; "
            f"got {kind!r}."
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


def check_truncation(definition: dict[str, Any], path: Path) -> None:
    """Raises a ValueError if a tokenizer.json truncates texts at their start."""
    given = _part(definition, "truncation", dict, path).get("direction", "Right")
    if given != "Right":
        raise ValueError(
            f"{path}: 'direction' of 'truncation' must be 'Right', because tfreps truncates long "
            f"texts at the end; got {given!r:.60}."
        )


def special_tokens(configs: Iterable[dict[str, Any]]) -> list[Any]:
    """Returns the five special tokens; later files override earlier ones and BERT's tokens."""
    found = dict(SPECIALS)
    for config in configs:
        given = {name: _content(config.get(name)) for name in SPECIALS}
        found |= {name: token for name, token in given.items() if token is not None}
    return list(found.values())


def check_specials(config: dict[str, Any], path: Path) -> None:
    """Raises a ValueError if a file next to vocab.txt has special tokens other than BERT's."""
    for name, expected in SPECIALS.items():
        given = _content(config.get(name, expected))
        if given not in (expected, None):
            raise ValueError(
                f"{path}: {name!r} must be {expected!r}, as in BERT, unless there is a "
                f"tokenizer.json; got {given!r}."
            )


def further_tokens(config: dict[str, Any], path: Path) -> list[Any]:
    """Returns the tokens that a tokenizer_config.json or special_tokens_map.json adds."""
    found = list(_part(config, "added_tokens_decoder", dict, path).values())
    for name in "additional_special_tokens", "extra_special_tokens":
        given = config.get(name)
        found += given.values() if isinstance(given, dict) else _part(config, name, list, path)
    return found


def check_added(tokens: Iterable[object], known: Iterable[Any], path: Path) -> None:
    """Raises a ValueError if one of the added tokens is not among the known ones.

    Hugging Face recognizes added tokens in a text before it splits the text into words.
    """
    known = list(known)
    more = [repr(token) for token in map(_content, tokens) if token not in known]
    if more:
        raise ValueError(
            f"{path} adds tokens to the vocabulary ({', '.join(more[:3])}) that are matched before "
            "a text is split. tfreps supports this only if tokenizer.json contains them. Save the "
            "tokenizer with transformers, which writes this file, or remove them if your texts do "
            "not contain them."
        )


def _template(processor: dict[str, Any], name: str, path: Path) -> list:
    """Returns a template of a post-processor as a list of tuples `(part, segment id)`."""
    items = _part(processor, name, list, path)
    values = [v for item in items for v in (item.values() if isinstance(item, dict) else [item])]
    return [(v.get("id"), v.get("type_id")) if isinstance(v, dict) else v for v in values]


def _switches(
    config: dict[str, Any], names: dict[str, tuple[str, Any]], path: Path
) -> dict[str, Any]:
    """Returns the given options under other names; `names` maps each to its new name and type."""
    found = {}
    for theirs, (name, kind) in names.items():
        if theirs in config:
            if not isinstance(config[theirs], kind):
                raise ValueError(
                    f"{path}: {theirs!r} must be true or false; got {config[theirs]!r}."
                )
            found[name] = config[theirs]
    return found


def _longest(config: dict[str, Any], path: Path) -> int | None:
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


def _part(config: dict[str, Any], name: str, kind: type, path: Path) -> Any:
    """Returns the dict or list called `name` in `config`, or an empty one if it is missing."""
    found = config.get(name)
    if found is not None and not isinstance(found, kind):
        raise ValueError(
            f"{path}: {name!r} must be {'a JSON object' if kind is dict else 'a JSON list'}; "
            f"got {found!r:.60}."
        )
    return found or kind()
