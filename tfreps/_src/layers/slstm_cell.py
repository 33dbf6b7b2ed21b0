"""SLSTMCell: one S-LSTM step of all words and sentence nodes."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_integers, check_not_negative
from tfreps._src.layers.ops.annotations import InputTerm, Neighbors, SentenceNormalization, Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.masks import full_mask
from tfreps._src.layers.ops.slstm_steps import First, Form, Weights, exchange

NEIGHBORS = "separate", "summed", "nearest_cells"
INPUT_TERMS = "gate", "embedding"
SENTENCE_NORMALIZATIONS = "joint", "words"


@keras.saving.register_keras_serializable(package="tfreps")
class SLSTMCell(Configurable, keras.layers.Layer):
    """Cell that computes one step of a Sentence-State LSTM for all words and sentence nodes.

    Word `i` has the input `x_i`, the hidden state `h_i` and the cell state `c_i`; the sentence node
    has the hidden state `g` and the cell state `c_g`. With `xi = [h_{i-w}, ..., h_{i+w}]` and all
    states on the right from the previous step, word `i` computes

        gate_k = W_k xi + U_k x_i + V_k g + b_k       for k in i, l, r, f, s, o, u
        i, l, r, f, s = softmax(sigmoid(gate_i), ..., sigmoid(gate_s))     in each dimension
        c_i = l * c_{i-1} + f * c_i + r * c_{i+1} + s * c_g + i * tanh(gate_u)
        h_i = sigmoid(gate_o) * tanh(c_i)

    and the sentence node computes, where `mean` is the mean of the hidden states of the words,

        f_g, o = sigmoid(W_g g + U_g mean + b_g), sigmoid(W_o g + U_o mean + b_o)
        f_i = sigmoid(W_f g + U_f h_i + b_f)
        c_g = f'_g * c_g + sum_i f'_i * c_i         with f' = softmax(f_1, ..., f_n, f_g)
        g = o * tanh(c_g)

    This is the variant of the paper; the options select other published variants. Each weight
    of a softmax over five sigmoids lies between 0.084 and 0.405, so no word keeps more than 0.405
    of its cell state in a step. If there are several sentence nodes, each has its own gate `s`,
    which does not depend on the other nodes.

    Args:
        units: int. Width `H` of all states.
        window: int. Number of neighbors `w` on each side, at least 1. Defaults to 1.
        num_sentence_nodes: int. Number of sentence nodes `S`, at least 0. Defaults to 1.
        neighbors: str. How the neighbors are read. `"separate"`: each neighbor is read separately
            and has its own gate. `"summed"`: the neighbors on each side are summed first and share
            one gate, as in the authors' released code. `"nearest_cells"`: the hidden states are
            read as with `"separate"`, but the cell states of only the two nearest neighbors are
            read, and only these have gates. Defaults to `"separate"`.
        input_term: str. Value multiplied by the gate `i`. `"gate"`: `tanh(gate_u)`. `"embedding"`:
            the input itself, which must be as wide as the states; there is no gate `u`, as in the
            released code. Defaults to `"gate"`.
        sentence_normalization: str. Gates in the softmax of a sentence node. `"joint"`: `f_g` and
            the gates of the words. `"words"`: only the gates of the words; `f_g` remains a sigmoid,
            as in the PyTorch code that articles about the S-LSTM describe. Defaults to `"joint"`.
        l2: float. L2 penalty: `l2` times the sum of the squared kernel weights is added to the
            loss. Defaults to 0.0.

    Call arguments:
        inputs: float, shape `[B, T, P]`.
        hidden: float, shape `[B, T, H]`. Hidden states of the words.
        cell: float, shape `[B, T, H]`. Cell states of the words.
        sentence_hidden: float, shape `[B, S, H]`. Hidden states of the sentence nodes.
        sentence_cell: float, shape `[B, S, H]`. Cell states of the sentence nodes.
        mask: bool, shape `[B, T]`. True on real tokens. If `None`, all tokens are real.

    Returns:
        Tuple `(hidden, cell, sentence_hidden, sentence_cell)`: the float32 states after the step,
        which have the shapes of the call arguments. The states of words are zero where masked.

    Masking: masked positions are not skipped. A masked position between two tokens is their
    neighbor and has zero states; `SLSTM` removes such gaps.

    Raises:
        ValueError: If an option is invalid, the mask does not have the shape `[B, T]`, or the
            inputs do not have the width `units` with `input_term="embedding"`.

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
        units: int,
        window: int = 1,
        num_sentence_nodes: int = 1,
        neighbors: Neighbors = "separate",
        input_term: InputTerm = "gate",
        sentence_normalization: SentenceNormalization = "joint",
        l2: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, units=units, window=window)
        check_integers(0, num_sentence_nodes=num_sentence_nodes)
        check_choice(NEIGHBORS, neighbors=neighbors)
        check_choice(INPUT_TERMS, input_term=input_term)
        check_choice(SENTENCE_NORMALIZATIONS, sentence_normalization=sentence_normalization)
        check_not_negative(l2=l2)
        self.units = units
        self.window = window
        self.num_sentence_nodes = num_sentence_nodes
        self.neighbors = neighbors
        self.input_term = input_term
        self.sentence_normalization = sentence_normalization
        self.l2 = l2
        self.form = _make_form(self)
        self.supports_masking = True
        self.supports_jit = False  # matrix multiplications are faster outside XLA

    def build(self, input_shape: Shape, *other_shapes: Any, **more_shapes: Any) -> None:
        dim = input_shape[-1]
        form = self.form
        nodes = self.num_sentence_nodes
        if self.input_term == "embedding" and dim != self.units:
            raise ValueError(
                'With `input_term="embedding"`, the inputs must be as wide as the states '
                f"({self.units}); got inputs of width {dim}. Add a Dense layer before this layer."
            )
        units = self.units
        wide = form.num_gates * self.units
        self.kernel = self._add_kernel("kernel", [dim, wide])
        self.recurrent_kernel = self._add_kernel(
            "recurrent_kernel", [len(form.hidden_groups) * units, wide]
        )
        self.bias = self._add("bias", [wide])
        self.word_kernel = None
        self.sentence_kernel = None
        self.mean_kernel = None
        self.sentence_bias = None
        if nodes:
            # Columns for the gates of a word, with one gate `s`, and for the 3 gates of a node.
            from_node = wide + (4 - nodes) * units
            self.word_kernel = self._add_kernel("word_kernel", [units, nodes * units])
            self.sentence_kernel = self._add_kernel("sentence_kernel", [nodes, units, from_node])
            self.mean_kernel = self._add_kernel("mean_kernel", [nodes, units, 2 * units])
            self.sentence_bias = self._add("sentence_bias", [nodes, 3 * units])

    def call(
        self,
        inputs: tf.Tensor,
        hidden: tf.Tensor,
        cell: tf.Tensor,
        sentence_hidden: tf.Tensor,
        sentence_cell: tf.Tensor,
        mask: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        real = full_mask(mask, tf.convert_to_tensor(inputs))
        real = tf.expand_dims(tf.cast(real, "float32"), -1)  # [B, T, 1]
        hidden, cell = (tf.cast(state, "float32") * real for state in (hidden, cell))
        sentence = (tf.cast(state, "float32") for state in (sentence_hidden, sentence_cell))
        first = First(hidden, self.recurrent_kernel, self.word_kernel)
        return self._exchange(inputs, (hidden, cell, *sentence), first, (real, real))

    def _exchange(self, inputs, states, first, masks, num_steps=1, embedding=None):
        """Computes `num_steps` steps, and returns the states after the last step.

        `layers.ops.slstm_steps.exchange` describes the arguments, with two differences: the states
        of the sentence nodes are `[B, S, H]`, and `embedding` defaults to the inputs.
        """
        inputs = tf.cast(inputs, "float32")
        if self.input_term == "gate":
            embedding = None
        elif embedding is None:
            embedding = inputs
        hidden, cell, *sentence = states
        sentence = [tf.transpose(state, [1, 0, 2]) for state in sentence]  # [S, B, H]
        hidden, cell, *sentence = exchange(
            self.form,
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

    def compute_output_shape(
        self, input_shape: Shape, *other_shapes: Any, **more_shapes: Any
    ) -> tuple[Shape, ...]:
        batch, length, _ = input_shape
        words = (batch, length, self.units)
        nodes = (batch, self.num_sentence_nodes, self.units)
        return words, words, nodes, nodes

    def _add_kernel(self, name, shape):
        return self.add_weight(
            name=name,
            shape=shape,
            initializer="glorot_uniform",
            regularizer=keras.regularizers.L2(self.l2) if self.l2 else None,
            autocast=False,
        )


def _make_form(cell):
    offsets = range(-cell.window, cell.window + 1)
    separate = tuple((offset,) for offset in offsets)
    left = tuple(offsets)[: cell.window]
    right = tuple(offsets)[cell.window + 1 :]
    summed = (left, (0,), right)
    nearest = ((-1,), (0,), (1,))
    hidden_groups, cell_groups = {
        "separate": (separate, separate),
        "summed": (summed, summed),
        "nearest_cells": (separate, nearest),
    }[cell.neighbors]
    return Form(
        cell.units,
        hidden_groups,
        cell_groups,
        cell.num_sentence_nodes,
        cell.input_term,
        cell.sentence_normalization,
    )
