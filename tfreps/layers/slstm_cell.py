"""SLSTMCell: one exchange of states between words, their neighbours and the sentence."""

import keras
import tensorflow as tf

from tfreps.layers.ops.configurable import Configurable
from tfreps.layers.ops.slstm_steps import First, Weights, exchange
from tfreps.layers.ops.slstm_update import Form

NEIGHBOURS = "apart", "summed", "nearest_cells"
INPUT_TERMS = "gate", "embedding"
GATE_NORMALIZATIONS = "softmax_of_sigmoids", "softmax", "none"
SENTENCE_NORMALIZATIONS = "joint", "words"
SENTENCE_TERMS = "cell", "hidden"


@keras.saving.register_keras_serializable(package="tfreps")
class SLSTMCell(Configurable, keras.layers.Layer):
    """One step of a Sentence-State LSTM, on all words and sentence nodes at once.

    Word `i`, where `xi = [h_{i-w}, ..., h_{i+w}]`, reads the states of before the step:

        gate_k = W_k xi + U_k x_i + V_k g + b_k       for k in i, l, r, f, s, o, u
        i, l, r, f, s = softmax(sigmoid(gate_i), ..., sigmoid(gate_s))     in each dimension
        c_i = l * c_{i-1} + f * c_i + r * c_{i+1} + s * c_g + i * tanh(gate_u)
        h_i = sigmoid(gate_o) * tanh(c_i)

    and so does the sentence node, where `mean` is that of the words' hidden states:

        f_g, o = sigmoid(W_g g + U_g mean + b_g), sigmoid(W_o g + U_o mean + b_o)
        f_i = sigmoid(W_f g + U_f h_i + b_f)
        c_g = f'_g * c_g + sum_i f'_i * c_i         with f' = softmax(f_1, ..., f_n, f_g)
        g = o * tanh(c_g)

    This is the paper's form; the options give the others that were published. A softmax
    over five sigmoids lies between 0.084 and 0.405: no word keeps more of its cell state.
    Of several sentence nodes each has a gate `s` of its own, which sees no other node.

    Args:
        units: int. Width `H` of all states.
        window: int, at least 1. Neighbours `w` on each side.
        num_sentence_nodes: int, `S`; 0 for none.
        neighbours: `"apart"`: each neighbour is read and has a gate of its own. `"summed"`:
            the neighbours of a side are summed first and have one gate (released code).
            `"nearest_cells"`: apart, but gates and cell states of the nearest two alone.
        input_term: what the gate `i` lets in: `"gate"`: `tanh(gate_u)`. `"embedding"`: the
            input itself, which must be as wide as the states; then there is no `u`
            (released code).
        gate_normalization: `"softmax_of_sigmoids"`, `"softmax"` (of the gates before the
            sigmoid) or `"none"` (sigmoids), for words and sentence nodes alike.
        sentence_normalization: `"joint"`, or `"words"`: `f_g` stays a sigmoid out of the softmax.
        sentence_term: what the gate `s` lets in: `"cell"`, `c_g`, or `"hidden"`, `g`.
        l2: float. Factor of the sum of squares of all kernels, added to the losses.

    Call arguments:
        inputs: float, shape `[B, T, P]`.
        hidden, cell: float, shape `[B, T, H]`.
        sentence_hidden, sentence_cell: float, shape `[B, S, H]`.
        mask: bool, shape `[B, T]`, True on real tokens; None for all. Neighbours are those
            in the tensor: elsewhere than between tokens and padding, masked positions are
            neighbours with zero states. `SLSTM` closes such holes.

    Returns:
        The four states after the step, float32; those of words are zero where masked.

    Reference: Zhang, Liu and Song, 2018, "Sentence-State LSTM for Text Representation".

    Example:
    >>> cell = SLSTMCell(units=4)
    >>> words, sentence = tf.zeros([2, 5, 4]), tf.zeros([2, 1, 4])
    >>> hidden, _, sentence_hidden, _ = cell(tf.ones([2, 5, 3]), words, words, sentence, sentence)
    >>> hidden.shape, sentence_hidden.shape
    (TensorShape([2, 5, 4]), TensorShape([2, 1, 4]))
    """

    def __init__(
        self,
        units,
        window=1,
        num_sentence_nodes=1,
        neighbours="apart",
        input_term="gate",
        gate_normalization="softmax_of_sigmoids",
        sentence_normalization="joint",
        sentence_term="cell",
        l2=0.0,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        check_at_least(1, units=units, window=window)
        check_at_least(0, num_sentence_nodes=num_sentence_nodes, l2=l2)
        self.units = units
        self.window = window
        self.num_sentence_nodes = num_sentence_nodes
        self.neighbours = neighbours
        self.input_term = input_term
        self.gate_normalization = gate_normalization
        self.sentence_normalization = sentence_normalization
        self.sentence_term = sentence_term
        self.l2 = l2
        check_choice("neighbours", neighbours, NEIGHBOURS)
        check_choice("input_term", input_term, INPUT_TERMS)
        check_choice("gate_normalization", gate_normalization, GATE_NORMALIZATIONS)
        check_choice("sentence_normalization", sentence_normalization, SENTENCE_NORMALIZATIONS)
        check_choice("sentence_term", sentence_term, SENTENCE_TERMS)
        self.form = _make_form(self)
        self.supports_masking = True
        self.supports_jit = False  # products are faster outside XLA

    def build(self, input_shape, *other_shapes, **more_shapes):
        dim = input_shape[-1]
        form = self.form
        nodes = self.num_sentence_nodes
        if self.input_term == "embedding" and dim != self.units:
            raise ValueError(
                'With `input_term="embedding"` inputs must be as wide as the states, '
                f"{self.units}; they are {dim} wide. Put a Dense layer in between."
            )
        units = self.units
        wide = form.num_gates * self.units
        self.kernel = self._add("kernel", [dim, wide])
        self.recurrent_kernel = self._add(
            "recurrent_kernel", [len(form.hidden_groups) * units, wide]
        )
        self.bias = self._add("bias", [wide], "zeros")
        self.word_kernel = None
        self.sentence_kernel = None
        self.mean_kernel = None
        self.sentence_bias = None
        if nodes:
            from_node = wide + (4 - nodes) * units  # gates of words but other nodes', own three
            self.word_kernel = self._add("word_kernel", [units, nodes * units])
            self.sentence_kernel = self._add("sentence_kernel", [nodes, units, from_node])
            self.mean_kernel = self._add("mean_kernel", [nodes, units, 2 * units])
            self.sentence_bias = self._add("sentence_bias", [nodes, 3 * units], "zeros")

    def call(self, inputs, hidden, cell, sentence_hidden, sentence_cell, mask=None):
        real = tf.ones(tf.shape(inputs)[:2]) if mask is None else tf.cast(mask, "float32")
        real = real[..., None]  # [B, T, 1]
        hidden, cell = (tf.cast(state, "float32") * real for state in (hidden, cell))
        sentence = (tf.cast(state, "float32") for state in (sentence_hidden, sentence_cell))
        first = First(hidden, self.recurrent_kernel, self.word_kernel)
        return self.exchange(inputs, (hidden, cell, *sentence), first, (real, real))

    def exchange(self, inputs, states, first, masks, num_steps=1, embedding=None):
        """Steps from these states on.

        Args:
            inputs: as in a call.
            states: the four states of a call, zero where there is no node.
            first: `slstm_steps.First`, for these states.
            masks: float32 `[B, T, 1]`, two: nodes that change, nodes that sentences read.
            num_steps: int, at least 1.
            embedding: float32 `[B, T, H]`, instead of `inputs` as the input term.

        Returns:
            The four states after the last step.
        """
        inputs = tf.cast(inputs, "float32")
        if self.input_term == "gate":
            embedding = None
        elif embedding is None:
            embedding = inputs
        hidden, cell, *sentence = states
        sentence = [tf.transpose(state, [1, 0, 2]) for state in sentence]  # [S, B, H]
        hidden, cell, *sentence = exchange(
            self.form._replace(has_fixed=masks[0] is not masks[1]),
            Weights(
                kernel=self.kernel,
                bias=self.bias,
                recurrent_kernel=self.recurrent_kernel,
                word_kernel=self.word_kernel,
                sentence_kernel=self.sentence_kernel,
                mean_kernel=self.mean_kernel,
                sentence_bias=self.sentence_bias,
            ),
            (hidden, cell, *sentence),
            first,
            inputs,
            embedding,
            masks,
            num_steps,
            self.compute_dtype,
        )
        return hidden, cell, *(tf.transpose(state, [1, 0, 2]) for state in sentence)

    def compute_output_shape(self, input_shape, *other_shapes, **more_shapes):
        batch, length, _ = input_shape
        words = (batch, length, self.units)
        nodes = (batch, self.num_sentence_nodes, self.units)
        return words, words, nodes, nodes

    def _add(self, name, shape, initializer="glorot_uniform"):
        regularized = self.l2 and initializer != "zeros"
        return self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            regularizer=keras.regularizers.L2(self.l2) if regularized else None,
            autocast=False,
        )


def check_choice(name, value, choices):
    """Raises a ValueError where an option has another value than these."""
    if value not in choices:
        raise ValueError(f"`{name}` must be one of {list(choices)}; got {value!r}.")


def check_at_least(least, **values):
    """Raises a ValueError where an option is smaller than that."""
    for name, value in values.items():
        if isinstance(value, bool) or not value >= least:
            raise ValueError(f"`{name}` must be at least {least}; got {value!r}.")


def _make_form(cell):
    offsets = range(-cell.window, cell.window + 1)
    apart = tuple((offset,) for offset in offsets)
    left = tuple(offsets)[: cell.window]
    right = tuple(offsets)[cell.window + 1 :]
    summed = (left, (0,), right)
    nearest = ((-1,), (0,), (1,))
    hidden_groups, cell_groups = {
        "apart": (apart, apart),
        "summed": (summed, summed),
        "nearest_cells": (apart, nearest),
    }[cell.neighbours]
    return Form(
        cell.units,
        hidden_groups,
        cell_groups,
        cell.num_sentence_nodes,
        cell.input_term,
        cell.gate_normalization,
        cell.sentence_normalization,
        cell.sentence_term,
    )
