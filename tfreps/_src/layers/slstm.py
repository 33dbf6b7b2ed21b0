"""SLSTM: layer in which words and sentence nodes exchange their states over several steps."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_dropout, check_integers
from tfreps._src.layers.ops.annotations import (
    Boundary,
    InputTerm,
    Neighbors,
    SentenceNormalization,
    Shape,
    SLSTMInitialState,
)
from tfreps._src.layers.ops.configurable import Configurable, shared_options
from tfreps._src.layers.ops.masks import full_mask
from tfreps._src.layers.ops.slstm_steps import First
from tfreps._src.layers.slstm_cell import SLSTMCell

INITIAL_STATES = "learned", "learned_separately", "zeros", "embedding"
BOUNDARIES = "learned", "fixed", "zeros"


@keras.saving.register_keras_serializable(package="tfreps")
class SLSTM(Configurable, keras.layers.Layer):
    """Sentence-State LSTM layer, which applies one `SLSTMCell` to all words `num_steps` times.

        states_t = cell(inputs, states_{t-1})        t = 1 .. num_steps

    After `t` steps, a word state depends on `(t - 1) * window` words on each side and, from the
    third step on, on the whole sentence through the sentence nodes. With
    `initial_state="embedding"`, it depends on `t * window` words on each side, and on the whole
    sentence from the first step on, because the sentence nodes start as means of the inputs.

    Args:
        units: int. Width `H` of all states.
        num_steps: int. Number of steps, at least 1. Defaults to 9.
        window: int. Number of neighbors on each side, at least 1. Defaults to 1.
        num_sentence_nodes: int. Number of sentence nodes `S`, at least 0. Defaults to 1.
        neighbors: `"separate"`, `"summed"` or `"nearest_cells"`. How the neighbors are read; see
            `SLSTMCell`. Defaults to `"separate"`.
        input_term: `"gate"` or `"embedding"`. Value multiplied by the input gate; see `SLSTMCell`.
            Defaults to `"gate"`.
        sentence_normalization: `"joint"` or `"words"`. Gates in the softmax of a sentence node; see
            `SLSTMCell`. Defaults to `"joint"`.
        initial_state: str. Initial states. `"learned"`: one vector for all hidden states and one
            for all cell states, both zero before training. `"learned_separately"`: like
            `"learned"`, but with separate vectors for the sentence nodes. `"zeros"`: all states are
            zero. `"embedding"`: the inputs, which must have the width `H`, and their mean for the
            sentence nodes, as in the authors' released code. Defaults to `"learned"`.
        boundary: str. Nodes that are added at both ends of a sentence. `"learned"`: `<s>` and
            `</s>`, which have learned inputs and are updated like words. `"fixed"`: nodes with
            learned states that no step changes. Both kinds of nodes are included in the means and
            in the gates of the sentence nodes. `"zeros"`: no nodes; the neighbors beyond the ends
            are zeros, as in the released code. Defaults to `"learned"`.
        state_dropout: float in [0, 1). Dropout rate of the initial states, applied independently to
            hidden and cell states. Has an effect only with `initial_state="embedding"`. With
            `input_term="embedding"` as well, the input gate multiplies the initial cell states
            after dropout. Defaults to 0.0.
        l2: float. L2 penalty: `l2` times the sum of the squared kernel weights is added to the
            loss. Defaults to 0.0.
        seed: int. Random seed for dropout. If `None`, a random seed is used. Defaults to `None`.

    Call arguments:
        inputs: float, shape `[B, T, P]`.
        mask: bool, shape `[B, T]`. True on real tokens, which may be at any position. If `None`,
            all tokens are real.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        Tuple `(words, sentence)`. `words` is float32 `[B, T, H]`: the hidden states of the words,
        zero where masked. `sentence` is float32 `[B, S, H]`: the hidden states of the sentence
        nodes, zero for a sentence without tokens.

    Masking: masked tokens are skipped. The words on both sides of a gap are neighbors, and the
    means exclude masked tokens. Up to rounding, the states of a sentence do not depend on the other
    sentences of its batch.

    Raises:
        ValueError: If an option is invalid, the mask does not have the shape `[B, T]`, or the
            inputs do not have the width `units` with `initial_state="embedding"` or
            `input_term="embedding"`.

    Reference: Zhang, Liu and Song, 2018, "Sentence-State LSTM for Text Representation". The
    authors' released code corresponds to `input_term="embedding"`, `initial_state="embedding"`,
    `boundary="zeros"` and `neighbors="summed"`, but its means depend on padding.

    Example:
    >>> slstm = SLSTM(units=4, num_steps=3)
    >>> words, sentence = slstm(tf.ones([2, 5, 3]), mask=tf.sequence_mask([5, 2], 5))
    >>> words.shape, sentence.shape, words[1, 2:].numpy().any().item()
    (TensorShape([2, 5, 4]), TensorShape([2, 1, 4]), False)
    """

    def __init__(
        self,
        units: int,
        num_steps: int = 9,
        window: int = 1,
        num_sentence_nodes: int = 1,
        neighbors: Neighbors = "separate",
        input_term: InputTerm = "gate",
        sentence_normalization: SentenceNormalization = "joint",
        initial_state: SLSTMInitialState = "learned",
        boundary: Boundary = "learned",
        state_dropout: float = 0.0,
        l2: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, num_steps=num_steps)
        check_dropout(state_dropout=state_dropout)
        check_choice(INITIAL_STATES, initial_state=initial_state)
        check_choice(BOUNDARIES, boundary=boundary)
        self.units = units
        self.num_steps = num_steps
        self.window = window
        self.num_sentence_nodes = num_sentence_nodes
        self.neighbors = neighbors
        self.input_term = input_term
        self.sentence_normalization = sentence_normalization
        self.initial_state = initial_state
        self.boundary = boundary
        self.state_dropout = state_dropout
        self.l2 = l2
        self.seed = seed
        options = shared_options(self, SLSTMCell)
        self.cell = SLSTMCell(**options, dtype=self.dtype_policy, name="cell")
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self.supports_jit = False  # matrix multiplications are faster outside XLA

    def build(self, input_shape: Shape) -> None:
        dim = input_shape[-1]
        units = self.units
        if self.initial_state == "embedding" and dim != units:
            raise ValueError(
                'With `initial_state="embedding"`, the inputs must be as wide as the states '
                f"({units}); got inputs of width {dim}. Add a Dense layer before this layer."
            )
        self.cell.build(input_shape)
        if self.boundary == "learned":
            self.boundary_inputs = self._add("boundary_inputs", [2, dim], "uniform")
        elif self.boundary == "fixed":
            self.boundary_hidden = self._add("boundary_hidden", [2, units])
            self.boundary_cell = self._add("boundary_cell", [2, units])
        if self.initial_state.startswith("learned"):
            self.initial_hidden = self._add("initial_hidden", [units])
            self.initial_cell = self._add("initial_cell", [units])
        if self.initial_state == "learned_separately" and self.num_sentence_nodes:
            shape = [self.num_sentence_nodes, units]
            self.initial_sentence_hidden = self._add("initial_sentence_hidden", shape)
            self.initial_sentence_cell = self._add("initial_sentence_cell", shape)

    def call(
        self, inputs: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        inputs = tf.cast(inputs, "float32")
        real = full_mask(mask, inputs)
        order = None if mask is None else _order(real)
        lengths = tf.reduce_sum(tf.cast(real, "int32"), axis=1)  # [B]
        if order is not None:
            inputs = _permute(inputs, *order)
        inputs, words, ends = self._with_boundaries(inputs, lengths)
        counted = tf.add_n([words, *ends])  # [B, T', 1]
        updated = counted if self.boundary == "learned" else words
        states, first = self._start(inputs, updated, counted, ends, training)
        embedding = states[1] if self.initial_state == "embedding" else None
        masks = updated, counted
        hidden, _, sentence, _ = self.cell._exchange(
            inputs, states, first, masks, self.num_steps, embedding
        )
        if ends:
            hidden = hidden[:, 1:-1]  # [B, T, H]
        if self.boundary != "zeros":  # sets `</s>` of shorter sentences to 0
            hidden *= words[:, 1:-1]
        if order is not None:
            hidden = _permute(hidden, *reversed(order))
        return hidden, sentence * tf.cast(lengths > 0, "float32")[:, None, None]

    def compute_output_shape(self, input_shape: Shape, **kwargs: Any) -> tuple[Shape, Shape]:
        batch, length, _ = input_shape
        return (batch, length, self.units), (batch, self.num_sentence_nodes, self.units)

    def _with_boundaries(self, inputs, lengths):
        """Adds the boundary nodes to the inputs.

        Returns the inputs `[B, T', P]`, where `T'` is `T + 2`, or `T` without boundary nodes; the
        mask of the words, float32 `[B, T', 1]`; and a list of two masks of the same shape, for the
        start nodes and for the end nodes, which is empty without boundary nodes.
        """
        has_ends = self.boundary != "zeros"
        if has_ends:
            inputs = tf.pad(inputs, [[0, 0], [1, 1], [0, 0]])  # [B, T+2, P]
        position = tf.range(tf.shape(inputs)[1])[None, :, None] - int(has_ends)
        lengths = lengths[:, None, None]
        words = (position >= 0) & (position < lengths)  # [B, T', 1]
        inputs = tf.where(words, inputs, 0.0)
        words = tf.cast(words, "float32")
        if not has_ends:
            return inputs, words, []
        ends = [tf.cast((position == at) & (lengths > 0), "float32") for at in (-1, lengths)]
        if self.boundary == "learned":
            start, end = tf.unstack(tf.cast(self.boundary_inputs, "float32"))
            inputs += ends[0] * start + ends[1] * end
        return inputs, words, ends

    def _start(self, inputs, updated, counted, ends, training):
        """Returns the states before the first step, and a `First` with the hidden states.

        The states are a tuple: the hidden and cell states of the words and boundary nodes,
        `[B, T', H]`, and the hidden and cell states of the sentence nodes, `[B, S, H]`.
        """
        units = self.units
        kinds = []
        hidden_rows = []
        cell_rows = []
        if self.initial_state.startswith("learned"):
            kinds.append(updated)
            hidden_rows.append(self.initial_hidden[None])
            cell_rows.append(self.initial_cell[None])
        if self.boundary == "fixed":
            kinds += ends
            hidden_rows.append(self.boundary_hidden)
            cell_rows.append(self.boundary_cell)
        # Many nodes share a state, so `kinds` selects one of R rows for each node.
        kinds = tf.concat(kinds, axis=2) if kinds else inputs[..., :0]  # [B, T', R]
        rows = _joined(units, hidden_rows)  # [R, H]
        hidden = tf.matmul(kinds, rows)
        cell = tf.matmul(kinds, _joined(units, cell_rows))
        recurrent = tf.cast(self.cell.recurrent_kernel, "float32")
        words = self.cell.word_kernel
        words = None if words is None else tf.cast(words, "float32")
        if self.initial_state == "embedding":
            hidden += self._drop(inputs, training) * updated
            cell += self._drop(inputs, training) * updated
            first = First(hidden, recurrent, words)
        else:
            number = len(self.cell.form.hidden_groups)
            wide = recurrent.shape[1]
            recurrent = tf.reshape(recurrent, [number, units, wide])
            recurrent = tf.matmul(tf.tile(rows[None], [number, 1, 1]), recurrent)
            recurrent = tf.reshape(recurrent, [number * rows.shape[0], wide])  # [N*R, G*H]
            first = First(kinds, recurrent, None if words is None else tf.matmul(rows, words))
        return (hidden, cell, *self._start_of_nodes(hidden, cell, counted)), first

    def _start_of_nodes(self, hidden, cell, counted):
        shape = [tf.shape(hidden)[0], self.num_sentence_nodes, self.units]
        if self.initial_state == "embedding":
            number = tf.maximum(tf.reduce_sum(counted, axis=1), 1.0)  # [B, 1]
            means = (tf.reduce_sum(state, axis=1) / number for state in (hidden, cell))
            return [tf.broadcast_to(mean[:, None], shape) for mean in means]
        if self.initial_state == "zeros":
            return [tf.zeros(shape), tf.zeros(shape)]
        rows = self.initial_hidden, self.initial_cell
        if self.initial_state == "learned_separately" and self.num_sentence_nodes:
            rows = self.initial_sentence_hidden, self.initial_sentence_cell
        return [tf.broadcast_to(tf.cast(row, "float32"), shape) for row in rows]

    def _drop(self, x, training):
        if not (training and self.state_dropout):
            return x
        return keras.random.dropout(x, self.state_dropout, seed=self.seed_generator)


def _joined(units, rows):
    """Returns the rows of several matrices as one float32 matrix `[R, H]`; `R` may be 0."""
    return tf.concat([tf.zeros([0, units]), *(tf.cast(row, "float32") for row in rows)], axis=0)


def _order(mask):
    """Returns indices that move padding to the end, and the inverse indices, int32 `[B, T]`."""
    real = tf.cast(mask, "int32")
    before = tf.cumsum(real, axis=1, exclusive=True)
    masked_before = tf.cumsum(1 - real, axis=1, exclusive=True)
    target = tf.where(mask, before, tf.reduce_sum(real, axis=1, keepdims=True) + masked_before)
    return tf.argsort(target, axis=1), target


def _permute(x, order, inverse):
    """Returns `x` with its tokens in `order`; the gradient uses `inverse`, which is faster."""

    @tf.custom_gradient
    def permute(x):
        return tf.gather(x, order, batch_dims=1), lambda d: tf.gather(d, inverse, batch_dims=1)

    return permute(x)
