"""Reads the config and the dictionaries in a folder of ELMoForManyLangs."""

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from tfreps._src.convert.bilm_tf_options import ACTIVATIONS, filters
from tfreps._src.convert.config_keys import (
    LARGEST,
    Check,
    Key,
    one_of,
    positive,
    size,
    value_of,
    whole,
)
from tfreps._src.files.json_files import read_json
from tfreps._src.files.utf8_files import read_utf8
from tfreps._src.text.word_char_ids import LEAST_CHARACTERS, SPECIAL_CHARACTERS, SPECIAL_WORDS

CONFIG, CHARACTERS, WORDS = "config.json", "char.dic", "word.dic"
TOKEN_ENCODER, LSTMS = "token_embedder.pkl", "encoder.pkl"
SPACE = "\u3000"  # stands for a token that consists of white space
# Default configuration, which the package of ELMoForManyLangs contains under two names. It is used
# for model folders without a configuration.
PACKAGED_NAMES = "cnn_50_100_512_4096_sample.json", "cnn_0_100_512_4096_sample.json"
PACKAGED = {
    "encoder": {
        **{"name": "elmo", "projection_dim": 512, "dim": 4096, "n_layers": 2},
        **{"cell_clip": 3, "proj_clip": 3},
    },
    "token_embedder": {
        **{"name": "cnn", "activation": "relu", "n_highway": 2, "word_dim": 100, "char_dim": 50},
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "max_characters_per_token": 50,
    },
}


def _only(name: str) -> Check:
    return one_of(name, shown=f'"{name}", the only kind that tfreps reads')


def _bound(value: Any) -> tuple[str, bool]:
    return "a positive number, 0 or null", value in (0, None) or positive(value)[1]


KINDS = Key("encoder.name", "", _only("elmo")), Key("token_embedder.name", "", _only("cnn"))
# Keys of every model, and those of models with characters.
KEYS = (
    Key("encoder.dim", "units", size),
    Key("encoder.projection_dim", "projection_dim", size),
    Key("encoder.n_layers", "num_layers", whole(1, 64)),
    Key("encoder.cell_clip", "cell_clip", _bound, None),
    Key("encoder.proj_clip", "projection_clip", _bound, None),
    Key("token_embedder.word_dim", "word_dim", whole(0, LARGEST)),
    Key("token_embedder.char_dim", "character_dim", whole(0, LARGEST)),
    Key(
        "token_embedder.max_characters_per_token",
        "max_characters",
        whole(LEAST_CHARACTERS, 4096),
    ),
)
CHARACTER_KEYS = (
    Key("token_embedder.filters", "filters", filters),
    Key("token_embedder.n_highway", "num_highways", whole(0, 64)),
    Key("token_embedder.activation", "activation", one_of(*ACTIVATIONS, shown='"relu" or "tanh"')),
)


class Dictionary(NamedTuple):
    """Entries of a `.dic` file.

    `tokens` are the ordinary entries, in the order of their ids in tfreps. `rows` are the row
    numbers of the ordinary entries in the embedding table of ELMoForManyLangs, followed by the row
    numbers of the special entries. `size` is the number of rows of this table.
    """

    tokens: list[str]
    rows: list[int]
    size: int


def is_many_langs(path: Path) -> bool:
    """Returns True if a folder has the files of a model of ELMoForManyLangs."""
    return all((path / name).is_file() for name in (CONFIG, TOKEN_ENCODER, LSTMS))


def read_config(folder: Path) -> dict[str, Any]:
    """Returns the options of the `ManyLangsBiLM` in a folder.

    `word_dim` is 0 if the model has no word vectors, and `character_dim` is 0 if it has no
    character vectors.

    The key `config_path` of `config.json` names the file with the options. This file is searched
    for first at its path in the folder, then under its last path component in the folder. If the
    file is not found but has the name of the config in the package of ELMoForManyLangs, that config
    is used.

    Raises:
        ValueError: If a file is missing or damaged, or an option is missing or not supported.
    """
    config, source = _config(folder)
    for key in KINDS:
        value_of(config, key, source)
    options = {key.ours: value_of(config, key, source) for key in KEYS}
    if options["character_dim"]:
        options |= {key.ours: value_of(config, key, source) for key in CHARACTER_KEYS}
    elif not options["word_dim"]:
        raise ValueError(
            f"{source}: `token_embedder.word_dim` and `token_embedder.char_dim` must not both be "
            "0: ELMoForManyLangs cannot run such a model either. Check that this is the published "
            "file."
        )
    for name in "cell_clip", "projection_clip":
        options[name] = options[name] or None
    widest = max((width for width, _ in options.setdefault("filters", [])), default=0)
    if widest > options["max_characters"]:
        raise ValueError(
            f"{source}: `token_embedder.filters` must not be wider than "
            f"`max_characters_per_token`, {options['max_characters']}; got the width {widest}. "
            "Use the original file."
        )
    if options["projection_dim"] >= options["units"]:
        raise ValueError(
            f"{source}: `encoder.projection_dim` must be less than `encoder.dim`; got "
            f"{options['projection_dim']} and {options['units']}. tfreps does not support other "
            "models."
        )
    return options


def read_characters(folder: Path) -> Dictionary:
    """Returns a `Dictionary` of the characters in `char.dic`.

    ELMoForManyLangs uses the entry `<eow>` at the start of a word and `<bow>` at its end.
    """
    entries = _entries(folder / CHARACTERS)
    swapped = {"<bow>": "<eow>", "<eow>": "<bow>"}
    missing = [name for name in SPECIAL_CHARACTERS if name not in entries]
    if missing:
        raise ValueError(
            f"{folder / CHARACTERS}: expected the entries {', '.join(SPECIAL_CHARACTERS)}; "
            f"{', '.join(missing)} is missing. Use the file that was published with the weights."
        )
    return _dictionary(entries, {name: swapped.get(name, name) for name in SPECIAL_CHARACTERS})


def read_words(folder: Path) -> Dictionary:
    """Returns a `Dictionary` of the words in `word.dic`.

    Boundary tokens without an entry count as unknown words.
    """
    entries = _entries(folder / WORDS)
    missing = [name for name in ("<oov>", "<pad>") if name not in entries]
    if missing:
        raise ValueError(
            f"{folder / WORDS}: the entry {missing[0]} is missing. Use the file that was published "
            "with the weights."
        )
    known = {name: name if name in entries else "<oov>" for name in SPECIAL_WORDS}
    return _dictionary(entries, known)


def _config(folder: Path) -> tuple[Mapping[str, Any], str]:
    """Returns the config that `config.json` names, and the name of the file for error messages."""
    about = read_json(folder / CONFIG)
    named = about.get("config_path")
    if not isinstance(named, str) or not named:
        raise ValueError(
            f"{folder / CONFIG}: `config_path` must be a file name; got {named!r}. Use the "
            "original file."
        )
    inside = PurePosixPath(named)
    for path in inside, PurePosixPath(inside.name):
        if not path.is_absolute() and ".." not in path.parts and (folder / path).is_file():
            return read_json(folder / path), str(folder / path)
    if inside.name in PACKAGED_NAMES:
        return PACKAGED, inside.name
    raise ValueError(
        f"{folder / CONFIG}: `config_path` must be a file in the same folder or one of "
        f"{', '.join(PACKAGED_NAMES)}; got {named[:100]!r}. Copy the file into the folder."
    )


def _entries(path: str | os.PathLike[str]) -> dict[str, int]:
    """Reads a file with lines `token TAB id`, and returns a dict from tokens to ids."""
    entries: dict[str, int] = {}
    for number, line in enumerate(read_utf8(path, in_lines=False).splitlines(), 1):
        *token, id_ = line.strip().split("\t")
        if len(token) > 1 or not id_.isdecimal() or not id_.isascii() or len(id_) > 9:
            raise ValueError(
                f"{path}, line {number}: expected a token, a tab and an id; got {line[:60]!r}. "
                "Use the file that was published with the weights."
            )
        entries[token[0] if token else SPACE] = int(id_)
    wrong = sorted(id_ for id_ in entries.values() if id_ >= len(entries))
    if wrong:
        raise ValueError(
            f"{path}: the ids of {len(entries)} entries must be less than {len(entries)}; got "
            f"{wrong[-1]}. Either lines are missing or entries occur twice. Use the file that "
            "was published with the weights."
        )
    return entries


def _dictionary(entries: dict[str, int], special: Mapping[str, str]) -> Dictionary:
    tokens = [token for token in entries if token not in special]
    rows = [entries[name] for name in (*tokens, *special.values())]
    return Dictionary(tokens, rows, len(entries))
