"""Reads and writes BERT's tokenizers: those of checkpoints, and those of run folders."""

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
DICTIONARIES = ("bert_word2idx_extend.json", "bert_word2idx.json")  # of aespresso
SOURCES = (OWN, VOCABULARY, WHOLE, *DICTIONARIES)  # of a tokenizer
# Names of options in a checkpoint's tokenizer_config.json and in the normalizer of its
# tokenizer.json, and here.
_NAMES = {
    "do_lower_case": ("lowercase", bool),
    "lowercase": ("lowercase", bool),
    "strip_accents": ("strip_accents", bool | None),
    "tokenize_chinese_chars": ("split_chinese", bool),
    "handle_chinese_chars": ("split_chinese", bool),
}
# Tokenizers of transformers that are BERT's, and those whose files have to tell.
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
    """Writes a tokenizer with its vocabulary as one JSON file, whole or not at all.

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
    if tokenizer.max_length is None:  # so that an older run finds the file that it wrote
        del config["max_length"]
    write_json(path, config, indent=0, ensure_ascii=False)


def read_tokenizer(path: str | os.PathLike) -> PieceTokenizer:
    """Reads a tokenizer that `write_tokenizer` has written.

    Raises:
        ValueError: no such file, or something else in it.
    """
    config = read_json(path)
    kind = config.pop("tokenizer", None)
    config.setdefault("max_length", None)
    known = isinstance(kind, str) and kind in KINDS
    if not known or set(config) != {"vocabulary", *KINDS[kind].OPTIONS}:
        raise ValueError(
            f"{path} holds no tokenizer that tfreps wrote. Expected a file that a run of "
            "`tfreps pretrain-bert`, or a tagger or classifier with BERT, has made."
        )
    return KINDS[kind].from_config({**config, "source": str(path)})


def checkpoint_tokenizer(
    folder: str | os.PathLike,
    lowercase: bool | None = None,
    vocabulary_size: int | None = None,
    **options,
) -> PieceTokenizer:
    """Reads the tokenizer of a checkpoint's folder.

    Of WordPiece the vocabulary is vocab.txt, or is in tokenizer.json, where newer folders have no
    other; its options are in tokenizer_config.json and tokenizer.json. A `CharacterTokenizer` is
    in tfreps_tokenizer.json, as `write_checkpoint_tokenizer` leaves it, or aespresso's
    dictionary (bert_word2idx_extend.json, bert_word2idx.json) next to their model.

    Args:
        folder: of Google's, Hugging Face's or aespresso's BERT.
        lowercase: bool, or None for what the files say. Where they say nothing, as those of
            Google: whether no piece of the vocabulary has a capital letter.
        vocabulary_size: int or None. Of a dictionary, as of `CharacterTokenizer.from_dictionary`.
        **options: of the tokenizer, in place of what the files say.

    Raises:
        ValueError: no vocabulary, what the tokenizer refuses, or options that are none.

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
    for name in SPECIALS_MAP, CONFIG:  # first: a file with other special tokens also adds them
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
            f"{folder} holds no {VOCABULARY}, no {WHOLE} and no {DICTIONARIES[0]}, without which "
            "no text can be read: put the vocabulary there that the checkpoint was trained with, "
            "one piece per line."
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
    """Writes vocab.txt and, for WordPiece, the tokenizer_config.json of Hugging Face.

    That of `max_length` is `model_max_length` there.

    Their configs have no place for `max_characters_per_word`; they have no tokenizer like
    `CharacterTokenizer`, which is in tfreps_tokenizer.json, for `checkpoint_tokenizer`.

    Args:
        tokenizer: `WordPieceTokenizer` or `CharacterTokenizer`.
        folder: one that is there.
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
    """Options of `WordPieceTokenizer` among others; refuses those of another tokenizer."""
    found = {}
    kind = config.get("tokenizer_class")
    if kind not in _CLASSES:
        raise ValueError(
            f"{path}: 'tokenizer_class' is {kind!r}, which cuts text in another way than BERT's "
            "WordPiece; tfreps has no such tokenizer."
        )
    if config.get("truncation_side", "right") != "right":
        raise ValueError(
            f"{path}: 'truncation_side' must be 'right', for here a long text loses its end; got "
            f"{config['truncation_side']!r}."
        )
    if config.get("do_basic_tokenize", True) is not True or config.get("never_split"):
        raise ValueError(
            f"{path}: 'do_basic_tokenize' must be true and 'never_split' empty; other ways of "
            "cutting words are not known here."
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
    """`model_max_length`, which is a huge number where there is no limit."""
    longest = config.get("model_max_length")
    if longest is None or isinstance(longest, int | float) and longest > _NO_LIMIT:
        return None
    if type(longest) is not int or longest < 3:
        raise ValueError(
            f"{path}: 'model_max_length' must be an integer of 3 or more, with room for a piece "
            f"and two special ones; got {longest!r}."
        )
    return longest


def _check_specials(config: dict, path: pathlib.Path) -> None:
    """Refuses other special tokens than BERT's."""
    for name, expected in _SPECIALS.items():
        given = _content(config.get(name, expected))
        if given not in (expected, None):
            raise ValueError(f"{path}: {name!r} must be {expected!r}, as BERT's; got {given!r}.")


def _check_ends(post_processor: dict, path: pathlib.Path) -> None:
    """Refuses other tokens around a text than BERT's, which a tokenizer.json names here alone."""
    ends = [*_part(post_processor, "special_tokens", dict, path)]
    for end in "cls", "sep":  # each a token and its id
        ends += _part(post_processor, end, list, path)[:1]
    others = [repr(token) for token in ends if token not in WordPieceTokenizer.SPECIAL_TOKENS]
    if others:
        raise ValueError(
            f"{path}: 'post_processor' must put '[CLS]' and '[SEP]' around a text, as BERT's; "
            f"got {', '.join(others)}."
        )


def _content(token):
    """A special token as text, which some files have in an object."""
    return token.get("content") if isinstance(token, dict) else token


def _refuse_added(tokens, path: pathlib.Path) -> None:
    """Raises a ValueError for tokens that are looked for in a text before it is cut."""
    specials = WordPieceTokenizer.SPECIAL_TOKENS
    more = [repr(token) for token in map(_content, tokens) if token not in specials]
    if more:
        raise ValueError(
            f"{path} adds tokens to the vocabulary ({', '.join(more[:3])}), which are looked for "
            "before a text is cut. There is nothing like that here: take them out of the file if "
            "your texts have none."
        )


def _part(config: dict, name: str, kind: type, path: pathlib.Path):
    """The object or list of this name in a file; an empty one where there is none."""
    found = config.get(name)
    if found is not None and not isinstance(found, kind):
        raise ValueError(
            f"{path}: {name!r} must be {'an object' if kind is dict else 'a list'}; "
            f"got {found!r:.60}."
        )
    return found or kind()


def _whole(path: pathlib.Path) -> tuple[list[str], dict]:
    """The pieces and options in a tokenizer.json."""
    config = read_json(path)
    model, normalizer = (_part(config, name, dict, path) for name in ("model", "normalizer"))
    kinds = model.get("type"), normalizer.get("type")
    if kinds != ("WordPiece", "BertNormalizer") or not isinstance(model.get("vocab"), dict):
        raise ValueError(
            f"{path}: expected a WordPiece model after a BertNormalizer; got {kinds[0]} after "
            f"{kinds[1]}. tfreps reads BERT's own tokenizers only."
        )
    _check_ends(_part(config, "post_processor", dict, path), path)
    _refuse_added(_part(config, "added_tokens", list, path), path)
    ids = model["vocab"]
    if {type(n) for n in ids.values()} != {int} or sorted(ids.values()) != list(range(len(ids))):
        raise ValueError(f"{path}: expected the ids 0 to {len(ids) - 1}, each for one piece.")
    found = _options(normalizer, path)
    if "max_input_chars_per_word" in model:
        longest = found["max_characters_per_word"] = model["max_input_chars_per_word"]
        if type(longest) is not int or longest < 1:
            raise ValueError(
                f"{path}: 'max_input_chars_per_word' must be an integer of 1 or more; "
                f"got {longest!r:.60}."
            )
    return sorted(ids, key=ids.get), found
