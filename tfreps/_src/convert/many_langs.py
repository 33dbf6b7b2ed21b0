"""Reads the models of ELMoForManyLangs (PyTorch), whose equations and arrays it describes.

The facts are those of elmoformanylangs 0.0.4.post2 (MIT license; `elmo.py`, `frontend.py` and
`modules/`), checked against its outputs.

Ids. Characters are Unicode characters in `char.dic`, not bytes. A token has the row `<eow>`, its
characters, `<bow>`, `<pad>`...: the original reads the ids of `<bow>` and `<eow>` in the wrong
order, also in training, so the entry named `<eow>` marks the start of a word. `<bos>` and `<eos>`
are single characters of the boundary tokens, and of tokens of the text with these names. Unknown
characters and words are `<oov>`. Tokens are cut to `max_characters_per_token - 2` characters before
both look-ups. A dictionary line whose token is only white space is the entry of U+3000.

Token vectors, with F filters and W the width of a word vector:

    y_i = activation(max_s(convolutions.i(characters))[s])        over all C - width + 1 windows
    a, b = split(highways._layers.i(y));  y = sigmoid(b) * y + (1 - sigmoid(b)) * relu(a)
    token = projection([word, y])                                 always present

`word_dim` or `char_dim` may be 0: then there are no words, or no characters and no convolutions.

`token_embedder.pkl`: `word_emb_layer.embedding.weight` [words, W] (absent if `word_dim` is 0),
`char_emb_layer.embedding.weight` [characters, char_dim], `convolutions.i.weight`
[count, char_dim, width] and `.bias`, `highways._layers.i.weight` [2F, F] and `.bias` [2F],
`projection.weight` [P, W + F] and `.bias`. The rows of `<pad>` are used: convolutions read the
character vector of `<pad>` after the end of a token, and a token `<pad>` has a word vector.

LSTMs, with x the input, h the state and U = `dim`; the order of the gates is i, f, g, o:

    z = input_linearity(x) + state_linearity(h)                   one bias, with the forget bias
    c = clip(sigmoid(i) * tanh(g) + sigmoid(f) * c, cell_clip)
    h = clip(state_projection(sigmoid(o) * tanh(c)), proj_clip)   a bound of 0 or null: no clip
    output_l = h + output_{l-1}  for l > 0

`encoder.pkl`, for both `forward_layer_l` and `backward_layer_l`: `input_linearity.weight` [4U, P],
`state_linearity.weight` [4U, P] and `.bias` [4U], `state_projection.weight` [P, U]. The projection
exists even if P = U, which is not supported here.

Outputs are the layers [token, token], LSTM 1, ..., LSTM L without the two boundaries; the original
returns their average by default. Its encoder keeps the final states of each row of a batch and
starts the next batch with them, in an order of batches that it shuffles. tfreps starts every
sentence from zero, as the original does in its first batch and after `encoder.reset_states()`.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tfreps._src.convert.many_langs_files import (
    LSTMS,
    TOKEN_ENCODER,
    Dictionary,
    read_characters,
    read_config,
    read_words,
)
from tfreps._src.convert.table import Row, Weight, check_arrays, read_rows
from tfreps._src.convert.torch_files import open_torch
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.text.word_char_ids import WordCharIndexer


def read_many_langs(
    folder: str | os.PathLike[str], **model_options: Any
) -> tuple[ManyLangsBiLM, WordCharIndexer]:
    """Loads a model of ELMoForManyLangs.

    Returns a tuple of the model and the `WordCharIndexer` that converts tokens to its input ids.
    `model_options` are further options of `ManyLangsBiLM`, such as `initial_state`; with `"warm"`,
    `warm_up` is called.

    Raises:
        ValueError: If a file is missing or damaged, an option is missing or not supported, or the
            files do not belong together.
    """
    folder = Path(folder)
    options = read_config(folder)
    characters = read_characters(folder) if options["character_dim"] else None
    words = read_words(folder) if options["word_dim"] else None
    lists = (None if found is None else found.tokens for found in (characters, words))
    indexer = WordCharIndexer(*lists, max_characters=options["max_characters"])
    options["vocabulary_size"] = indexer.vocabulary_size
    options["num_character_ids"] = indexer.num_character_ids
    tables = {
        "token_encoder": (folder / TOKEN_ENCODER, token_rows(options, characters, words)),
        "bilstm": (folder / LSTMS, lstm_rows(options)),
    }
    files = {name: open_torch(path) for name, (path, _) in tables.items()}
    for name, (path, rows) in tables.items():  # checks all sizes before memory is allocated
        check_arrays(rows, files[name].shapes, str(path))
    # The model requires positive widths, which have no effect without words or characters.
    dims = {name: options[name] or 1 for name in ("word_dim", "character_dim")}
    model = ManyLangsBiLM(**{**options, **dims, **model_options})
    for name, (path, rows) in tables.items():
        read_rows(rows, files[name].array, _weights_of(getattr(model, name), name), str(path))
    if model.initial_state == "warm":
        model.warm_up()
    return model, indexer


def token_rows(
    o: dict[str, Any], characters: Dictionary | None, words: Dictionary | None
) -> list[Row]:
    """Returns a `Row` for each array of the token encoder."""
    rows, ours, total = [], "token_encoder/", sum(count for _, count in o["filters"])
    if words is not None:
        rows.append(_embedding_row("word_emb_layer", words, o["word_dim"], ours + "words"))
    if characters is not None:
        rows += _character_rows(o, characters, total)
    shape = o["projection_dim"], o["word_dim"] + total
    rows.append(Row("projection.weight", shape, ours + "projection_kernel", np.transpose))
    rows.append(Row("projection.bias", shape[:1], ours + "projection_bias"))
    return rows


def _character_rows(o: dict[str, Any], characters: Dictionary, total: int) -> list[Row]:
    dim, cnn = o["character_dim"], "token_encoder/character_cnn/"
    rows = [_embedding_row("char_emb_layer", characters, dim, cnn + "characters")]
    for i, (width, count) in enumerate(o["filters"]):
        name = f"{cnn}convolution_{i}_"
        shape = count, dim, width
        rows.append(Row(f"convolutions.{i}.weight", shape, name + "kernel", np.transpose))
        rows.append(Row(f"convolutions.{i}.bias", (count,), name + "bias"))
    for i in range(o["num_highways"]):
        name = f"{cnn}highway_{i}/"
        foreign = f"highways._layers.{i}."
        rows.append(Row(foreign + "weight", (2 * total, total), name + "kernel", np.transpose))
        rows.append(Row(foreign + "bias", (2 * total,), name + "bias"))
    return rows


def lstm_rows(o: dict[str, Any]) -> list[Row]:
    """Returns a `Row` for each array of the LSTMs."""
    dim, units = o["projection_dim"], o["units"]
    rows = []
    for direction in "forward", "backward":
        for layer in range(o["num_layers"]):
            foreign, ours = f"{direction}_layer_{layer}.", f"bilstm/{direction}/"
            for part, name in enumerate(("input_linearity", "state_linearity")):
                foreign_name, kernel = f"{foreign}{name}.weight", f"{ours}kernel_{layer}"
                rows.append(Row(foreign_name, (4 * units, dim), kernel, part=(part, 2)))
            name = foreign + "state_linearity.bias"
            rows.append(Row(name, (4 * units,), f"{ours}bias_{layer}", _without_forget_bias))
            name, projection = foreign + "state_projection.weight", f"{ours}projection_{layer}"
            rows.append(Row(name, (dim, units), projection, np.transpose))
    return rows


class _Target:
    """Object that `read_rows` accepts as a weight, and that sets one or two weights."""

    def __init__(self, shape: tuple[int, ...], assign: Callable[[np.ndarray], Any]):
        self.shape: tuple[int, ...] = shape
        self._assign = assign

    def assign(self, value: np.ndarray) -> None:
        """Sets the one or two weights from an array of the shape `shape`."""
        self._assign(value)


def _weights_of(layer: Any, name: str) -> dict[str, Weight]:
    """Returns a dict from the paths of a layer's weights to the weights or to `_Target` objects.

    The kernels of the transform and the gate of a highway have one `_Target`, because they are one
    array in the file. The same holds for their biases.

    An LSTM kernel is also represented by a `_Target`, because its two parts are concatenated along
    the last axis and then transposed.
    """
    weights = {each.path[each.path.index(name) :]: each for each in layer.weights}
    found: dict[str, Weight] = {}
    for path, weight in weights.items():
        before, _, last = path.rpartition("/")
        if last.startswith("gate_"):
            continue  # the target for `transform_` also sets the weight of the gate
        if last.startswith("transform_"):
            last = last.removeprefix("transform_")
            found[f"{before}/{last}"] = _halves(weight, weights[f"{before}/gate_{last}"])
        elif name == "bilstm" and last.startswith("kernel_"):
            found[path] = _Target(tuple(weight.shape)[::-1], _assign_transposed(weight))
        else:
            found[path] = weight
    return found


def _assign_transposed(weight: Any) -> Callable[[np.ndarray], Any]:
    return lambda array: weight.assign(array.T)


def _halves(transform: Any, gate: Any) -> _Target:
    """Returns a `_Target` that sets the kernels, or the biases, of a highway's transform and gate.

    In ELMoForManyLangs, the gate multiplies the input; in tfreps, it multiplies the transform. The
    values of the gate are therefore negated.
    """

    def assign(array: np.ndarray) -> None:
        first, second = np.split(array, 2, axis=-1)
        transform.assign(first)
        gate.assign(-second)

    shape = tuple(transform.shape)
    return _Target((*shape[:-1], 2 * shape[-1]), assign)


def _embedding_row(foreign: str, entries: Dictionary, dim: int, ours: str) -> Row:
    """Returns the `Row` of an embedding table.

    The rows of the table are read in the order of tfreps's ids, after a row of zeros for the
    padding id.
    """

    def read(array: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros_like(array[:1]), array[entries.rows]])

    return Row(f"{foreign}.embedding.weight", (entries.size, dim), ours, read)


def _without_forget_bias(array: np.ndarray) -> np.ndarray:
    """Returns an LSTM bias, in the order i, f, g, o, with 1 subtracted from the forget gate `f`.

    The function `projected_lstm` adds this 1 itself.
    """
    i, f, g, o = np.split(array, 4)
    return np.concatenate([i, f - 1, g, o])
