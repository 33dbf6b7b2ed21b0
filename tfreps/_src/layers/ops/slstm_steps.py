"""S-LSTM steps with fused multiplications, and gates whose gradient is hand-written."""

from typing import NamedTuple

import tensorflow as tf

from tfreps._src.layers.ops.matmul import matmul
from tfreps._src.layers.ops.portable import is_portable


class Form(NamedTuple):
    """Variant of the S-LSTM: the options of `exchange` other than tensors.

    The gates of a word are, in this order: input, one per group of cell states, one per sentence
    node, output, and candidate (only with `input_term="gate"`). The gates of a sentence node are:
    own cell, output and words.

    Args:
        units: int. Width `H` of all states.
        hidden_groups: tuple of tuples of int. Groups of neighbors, as offsets from the word. The
            hidden states of each group are summed; the concatenated sums are an input of every
            gate.
        cell_groups: tuple of tuples of int. Groups of neighbors, as offsets from the word. The
            cell states of each group are summed, and the sum is weighted by the gate of the group.
        num_sentence_nodes: int. Number of sentence nodes `S`.
        input_term: str. See `SLSTMCell`.
        sentence_normalization: str. See `SLSTMCell`.
    """

    units: int
    hidden_groups: tuple
    cell_groups: tuple
    num_sentence_nodes: int
    input_term: str
    sentence_normalization: str

    @property
    def num_weights(self):
        """Number of gates of a word that multiply a term of its cell state."""
        return 1 + len(self.cell_groups) + self.num_sentence_nodes

    @property
    def num_gates(self):
        """Number of gates of a word, `G`."""
        return self.num_weights + 1 + (self.input_term == "gate")


class Weights(NamedTuple):
    """Weights of the steps. The last four are `None` if there is no sentence node.

    A word has `G` gates, which read the hidden states of `N` groups of neighbors; see `Form`.
    The inputs have the width `P` and the states the width `H`. There are `S` sentence nodes.

    Args:
        kernel: `[P, G*H]`. Maps the input of a word to its gates.
        bias: `[G*H]`. Bias of the gates of a word.
        recurrent_kernel: `[N*H, G*H]`. Maps the `N` groups of hidden states to the gates of a
            word.
        word_kernel: `[H, S*H]`. Maps a word to the gate that each sentence node has for the word.
        sentence_kernel: `[S, H, (G-S+4)*H]`. Maps a sentence node to the gates of the words,
            except those for other sentence nodes, and to its own three gates.
        mean_kernel: `[S, H, 2*H]`. Maps the mean of the words to the own-cell gate and the output
            gate of a sentence node.
        sentence_bias: `[S, 3*H]`. Bias of the three gates of a sentence node.
    """

    kernel: tf.Tensor
    bias: tf.Tensor
    recurrent_kernel: tf.Tensor
    word_kernel: tf.Tensor = None
    sentence_kernel: tf.Tensor = None
    mean_kernel: tf.Tensor = None
    sentence_bias: tf.Tensor = None


class First(NamedTuple):
    """Hidden states before the first step, in a form that makes this step fast.

    If many states are equal (learned states or zeros), the states are `source @ rows`: `rows`, of
    shape `[R, H]`, contains the distinct states, and `source` selects one of them, or zeros, for
    each node. The kernels have been multiplied by `rows` in advance, so that the first step has a
    small matrix multiplication instead of a large one.
    Otherwise `source` contains the states themselves, `R` is their width `H`, and the kernels are
    those of `Weights`.

    Args:
        source: float32, shape `[B, T, R]`.
        recurrent_kernel: float32, shape `[N*R, G*H]`.
        word_kernel: float32, shape `[R, S*H]`, or `None` without sentence nodes.
    """

    source: tf.Tensor
    recurrent_kernel: tf.Tensor
    word_kernel: tf.Tensor = None


def exchange(form, weights, states, first, inputs, embedding, masks, num_steps, compute_dtype):
    """Computes `num_steps` steps of the S-LSTM, as defined in `SLSTMCell`.

    In each step, one matrix multiplication computes the terms of the hidden states in all gates of
    all words. The terms of the inputs are computed once for all steps.

    Args:
        form: `Form`.
        weights: `Weights`.
        states: tuple of the float32 states before the first step: the hidden and cell states of the
            words, `[B, T, H]`, and the hidden and cell states of the sentence nodes, `[S, B, H]`.
            States are zero at positions that contain neither a word nor a boundary node.
        first: `First`, created from the hidden states of the words in `states`.
        inputs: float32, shape `[B, T, P]`.
        embedding: float32, shape `[B, T, H]`. Value multiplied by the input gate with
            `input_term="embedding"`; otherwise `None`.
        masks: tuple of two float32 masks of shape `[B, T, 1]`. The first is 1 on the nodes that
            the steps change; the second is 1 on the nodes that the sentence nodes read.
        num_steps: int. Number of steps.
        compute_dtype: str. Dtype of the matrix multiplications; everything else is float32.

    Returns:
        Tuple of the states after the last step, in the same order as `states`.
    """
    weights = Weights(*(None if w is None else tf.cast(w, "float32") for w in weights))
    first = First(*(None if t is None else tf.cast(t, "float32") for t in first))
    updated, counted = masks
    number = tf.maximum(tf.reduce_sum(counted, axis=1), 1.0)  # [B, 1]
    from_inputs = _product(inputs, weights.kernel, compute_dtype)  # [B, T, G*H]
    update_words = _word_update(form, from_inputs, embedding, updated, compute_dtype)
    to_gates = _Kernel(form, weights.recurrent_kernel, compute_dtype)
    hidden, cell, node_hidden, node_cell = states
    for_all_words = tf.tile(weights.bias[None], [tf.shape(inputs)[0], 1])  # [B, G*H]
    for step in range(num_steps):
        source, kernel, word_kernel = hidden, to_gates, weights.word_kernel
        if step == 0:
            source, kernel, word_kernel = first
            kernel = _Kernel(form, kernel, compute_dtype)
        low = tf.cast(source, compute_dtype)  # [B, T, R]
        new_node_hidden, new_node_cell = node_hidden, node_cell
        if form.num_sentence_nodes:
            mean = tf.reduce_sum(hidden, axis=1) / number  # [B, H]
            from_nodes, node_gates = _from_nodes(form, weights, node_hidden, mean, compute_dtype)
            for_all_words = from_nodes + weights.bias
            of_words = _product(low, word_kernel, compute_dtype)  # [B, T, S*H]
            new_node_hidden, new_node_cell = _update_nodes(
                form, node_gates, of_words, cell, node_cell, counted
            )
        new_hidden, new_cell = update_words(source, low, kernel, for_all_words, cell, node_cell)
        if updated is not counted:  # nodes outside of `updated` keep their states
            new_hidden += hidden * (1.0 - updated)
            new_cell += cell * (1.0 - updated)
        hidden, cell = new_hidden, new_cell
        node_hidden, node_cell = new_node_hidden, new_node_cell
    return hidden, cell, node_hidden, node_cell


def neighbors(x, groups):
    """Returns a list with the sum of the neighbors in each group of offsets, each `[B, T, D]`."""
    reach = max(abs(offset) for group in groups for offset in group)
    padded = tf.pad(x, [[0, 0], [reach, reach], [0, 0]])  # [B, T+2R, D]
    length = tf.shape(x)[1]
    return [
        x if group == (0,) else _sum(padded[:, reach + k : reach + k + length] for k in group)
        for group in groups
    ]


class _Kernel:
    """Kernel `[D, G*H]`, cast to the compute dtype once for all steps.

    `exact` is the kernel in float32, and `low` the kernel in the compute dtype. `by_gate` is `low`
    in the shape `[G, D, H]`, which makes the results of a gate contiguous in memory.
    """

    def __init__(self, form, kernel, dtype):
        self.exact = kernel
        self.low = tf.cast(kernel, dtype)
        by_gate = tf.reshape(self.low, [-1, form.num_gates, form.units])
        self.by_gate = tf.transpose(by_gate, [1, 0, 2])

    def multiply(self, x):
        """Returns `x`, `[N, D]`, times the kernel, as float32 `[G, N, H]`."""
        if is_portable():  # LiteRT does not broadcast the factors of a matrix multiplication
            number, _, units = self.by_gate.shape
            return tf.transpose(tf.reshape(tf.matmul(x, self.low), [-1, number, units]), [1, 0, 2])
        return tf.cast(tf.matmul(x[None], self.by_gate), "float32")


def _product(x, kernel, dtype):
    """Returns `x`, `[B, T, D]`, times the kernel, `[D, E]`, as float32 `[B, T, E]`."""
    dim, width = kernel.shape
    y = matmul(tf.reshape(x, [-1, dim]), kernel, dtype)
    return tf.reshape(y, [*tf.unstack(tf.shape(x)[:2]), width])


def _from_nodes(form, weights, node_hidden, mean, dtype):
    """Returns the terms of all gates that depend on sentence nodes or on the mean of the words.

    The first result, `[B, G*H]`, is added to the gates of every word. The second, `[S, B, 3*H]`,
    contains the gates of the sentence nodes, without the terms of single words.
    """
    units = form.units
    out = matmul(node_hidden, weights.sentence_kernel, dtype)  # [S, B, (G-S+4)H]
    means = tf.tile(mean[None], [form.num_sentence_nodes, 1, 1])  # [S, B, H]
    from_mean = matmul(means, weights.mean_kernel, dtype)  # [S, B, 2H]
    node_gates = out[..., -3 * units :] + weights.sentence_bias[:, None]
    node_gates += tf.pad(from_mean, [[0, 0], [0, 0], [0, units]])
    before = (1 + len(form.cell_groups)) * units  # columns before the gates for sentence nodes
    shared = tf.reduce_sum(out, axis=0)  # [B, (G-S+4)H]
    own = tf.unstack(out[..., before : before + units])  # one [B, H] for each node
    ends = shared[:, :before], shared[:, before + units : -3 * units]
    return tf.concat([ends[0], *own, ends[1]], axis=1), node_gates


def _word_update(form, from_inputs, embedding, updated, dtype):
    """Returns a function `update`, which computes one step of the words.

    `update` takes `source` and a `_Kernel` for it (see `First`), the terms of all words' gates that
    `exchange` computes, and the cell states of the words and sentence nodes. It returns the new
    hidden and cell states of the words, `[B, T, H]`. Its gradient is hand-written: the gradients of
    all gates are one matrix, `[B*T, G*H]`, which is multiplied by the kernel and by the hidden
    states. `low_source` is `source` in the dtype of the matrix multiplications.
    """

    def by_gate(x):  # [..., G*H] to [G, ..., H]
        x = tf.reshape(x, [*tf.unstack(tf.shape(x)[:-1]), form.num_gates, form.units])
        return tf.transpose(x, [2, 0, 1, 3])

    inputs_by_gate = by_gate(from_inputs)

    def update(source, low_source, kernel, for_all_words, cell, node_cell):
        @tf.custom_gradient
        def run(source, exact, from_inputs, for_all_words, *terms):
            joined = tf.concat(neighbors(low_source, form.hidden_groups), axis=2)
            flat = tf.reshape(joined, [-1, kernel.low.shape[0]])  # [B*T, D]
            x = kernel.multiply(flat)  # [G, B*T, H]
            x = tf.reshape(x, tf.shape(inputs_by_gate)) + inputs_by_gate
            x += by_gate(for_all_words[:, None])
            gates = _WordGates(form, x, terms, updated)

            def gradient(*d_states):
                d_gates, d_terms = gates.gradients(*d_states)
                low = tf.cast(tf.reshape(d_gates, [-1, kernel.low.shape[1]]), dtype)
                d_joined = tf.cast(tf.matmul(low, kernel.low, transpose_b=True), "float32")
                d_joined = tf.reshape(d_joined, tf.shape(joined))
                d_source = _from_neighbors(d_joined, form.hidden_groups)
                d_kernel = tf.cast(tf.matmul(flat, low, transpose_a=True), "float32")
                return d_source, d_kernel, d_gates, tf.reduce_sum(d_gates, axis=1), *d_terms

            return (gates.output * gates.squashed, gates.cell), gradient

        nodes = [node_cell[k][:, None] for k in range(form.num_sentence_nodes)]  # [B, 1, H] each
        terms = [*neighbors(cell, form.cell_groups), *nodes]
        terms = terms if embedding is None else [embedding, *terms]
        return run(source, kernel.exact, from_inputs, for_all_words, *terms)

    return update


class _WordGates:
    """Gates of the words and their cell states, computed from `x`, the gates before activation.

    `x` is `[G, B, T, H]`. A cell state is the sum over `n` of `parts[n] * scale * values[n]`, and
    zero on nodes that are not updated. The values are the candidate (only with
    `input_term="gate"`), followed by `terms`: the embedding (only with `input_term="embedding"`),
    the sums of the neighbors' cell states, and the cell states of the sentence nodes.
    """

    def __init__(self, form, x, terms, updated):
        number = form.num_weights
        self.num_nodes = form.num_sentence_nodes
        self.updated = updated
        self.candidates = [tf.tanh(x[number + 1])] if form.input_term == "gate" else []
        self.values = [*self.candidates, *terms]
        # Sigmoids of all gates, of which the output gate is the last.
        self.sigmoids = tf.sigmoid(x[: number + 1])
        self.output = self.sigmoids[number]
        self.parts = tf.exp(self.sigmoids[:number])
        self.scale = 1.0 / _sum(self.parts[n] for n in range(number))
        cell = _sum(self.parts[n] * value for n, value in enumerate(self.values))
        self.cell = cell * self.scale * updated
        self.squashed = tf.tanh(self.cell)

    def gradients(self, d_hidden, d_cell):
        """Returns the gradients with respect to `x`, `[B, T, G*H]`, and to `terms`, a list."""
        d_cell = (d_cell + _through_tanh(self.squashed, d_hidden * self.output)) * self.updated
        weighed = d_cell * self.scale
        d_values = [weighed * self.parts[n] for n in range(len(self.values))]
        d_gates = [
            _through_sigmoid(self.sigmoids[n], d_values[n] * (value - self.cell))
            for n, value in enumerate(self.values)
        ]
        d_gates.append(_through_sigmoid(self.output, d_hidden * self.squashed))
        for candidate in self.candidates:
            d_gates.append(_through_tanh(candidate, d_values.pop(0)))
        first_node = len(d_values) - self.num_nodes
        d_nodes = [tf.reduce_sum(d, axis=1, keepdims=True) for d in d_values[first_node:]]
        return tf.concat(d_gates, axis=2), [*d_values[:first_node], *d_nodes]


def _from_neighbors(gradient, groups):
    """Returns the gradient with respect to `x`, given the gradient of `neighbors(x, groups)`.

    The result is `[B, T, D]`, and `gradient` is `[B, T, N*D]` for N groups of neighbors.
    """
    parts = tf.split(gradient, len(groups), axis=2)
    return _sum(
        neighbors(part, [tuple(-offset for offset in group)])[0]
        for part, group in zip(parts, groups, strict=True)
    )


def _update_nodes(form, node_gates, of_words, cell, node_cell, counted):
    """Returns the new hidden and cell states of the sentence nodes, both `[S, B, H]`.

    `node_gates` is the second result of `_from_nodes`, and `of_words` the term of each word in the
    gates of the sentence nodes, `[B, T, S*H]`.
    """
    units = form.units
    cells = []
    for k in range(form.num_sentence_nodes):
        own, _, shared = tf.split(node_gates[k], 3, axis=1)  # [B, H] each
        gates = of_words[..., k * units : (k + 1) * units] + shared[:, None]  # [B, T, H]
        parts = tf.exp(tf.sigmoid(gates)) * counted
        total = tf.reduce_sum(parts, axis=1)  # [B, H]
        from_words = tf.reduce_sum(parts * cell, axis=1)
        own = tf.sigmoid(own)
        if form.sentence_normalization == "joint":
            own = tf.exp(own)
            cells.append((own * node_cell[k] + from_words) / (own + total))
        else:
            cells.append(own * node_cell[k] + from_words / tf.where(total > 0.0, total, 1.0))
    cells = tf.stack(cells)
    return tf.sigmoid(node_gates[..., units : 2 * units]) * tf.tanh(cells), cells


def _through_sigmoid(y, gradient):
    """Computes `gradient * y * (1 - y)` in one pass."""
    return tf.raw_ops.SigmoidGrad(y=y, dy=gradient)


def _through_tanh(y, gradient):
    """Computes `gradient * (1 - y * y)` in one pass."""
    return tf.raw_ops.TanhGrad(y=y, dy=gradient)


def _sum(parts):
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
