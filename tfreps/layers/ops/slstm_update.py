"""Elementwise gates of one S-LSTM step and their hand-written gradient."""

from typing import NamedTuple

import tensorflow as tf


class Form(NamedTuple):
    """Variant of the S-LSTM: the options of `update` other than tensors.

    The gates of a word are, in this order: input, one per group of cell states, one per sentence
    node, output, and candidate (only with `input_term="gate"`). The gates of a sentence node are:
    own cell, output and words.

    Args:
        units: int. Width `H` of all states.
        hidden_groups: tuple of tuples of int. Groups of neighbours, as offsets from the word. The
            hidden states of each group are summed; the concatenated sums are an input of every
            gate.
        cell_groups: tuple of tuples of int. Groups of neighbours, as offsets from the word. The
            cell states of each group are summed, and the sum is weighted by the gate of the group.
        num_sentence_nodes: int. Number of sentence nodes `S`.
        input_term: str. Value multiplied by the input gate: `"gate"` for the `tanh` of the
            candidate, or `"embedding"` for `Terms.embedding`.
        gate_normalization: str. Normalization of the gates: `"softmax_of_sigmoids"`, `"softmax"`
            or `"none"` (sigmoids only).
        sentence_normalization: str. Gates in the softmax of a sentence node: `"joint"` for its
            own-cell gate and those of the words, or `"words"` for those of the words only. Has no
            effect with `gate_normalization="none"`.
        sentence_term: str. State of a sentence node that a word multiplies by a gate: `"cell"` or
            `"hidden"`.
        has_fixed: bool. Whether there are nodes with states that no step changes. Defaults to
            False.
    """

    units: int
    hidden_groups: tuple
    cell_groups: tuple
    num_sentence_nodes: int
    input_term: str
    gate_normalization: str
    sentence_normalization: str
    sentence_term: str
    has_fixed: bool = False

    @property
    def num_weights(self):
        """Number of gates of a word that multiply a term of its cell state."""
        return 1 + len(self.cell_groups) + self.num_sentence_nodes

    @property
    def num_gates(self):
        """Number of gates of a word, `G`."""
        return self.num_weights + 1 + (self.input_term == "gate")


class Terms(NamedTuple):
    """Inputs of one step, all float32.

    The first three fields have the `G` gates on the first axis, so that the matrix of each gate is
    contiguous in memory.

    Args:
        products: `[G, B, T, H]`. Hidden states of the neighbours times their kernel.
        from_inputs: `[G, B, T, H]`. Inputs times their kernel, plus the bias.
        from_sentence: `[G, B, 1, H]`. Hidden states of the sentence nodes times their kernel.
        forgets: `[B, T, S*H]`. Hidden states of the words times the kernel of the gates that the
            sentence nodes have for the words.
        node_gates: `[S, B, 3*H]`. Sum of all other terms of the gates of the sentence nodes.
        hidden: `[B, T, H]`. Hidden states of the words, zero where there is no node.
        cell: `[B, T, H]`. Cell states of the words, zero where there is no node.
        node_hidden: `[S, B, H]`. Hidden states of the sentence nodes.
        node_cell: `[S, B, H]`. Cell states of the sentence nodes.
        embedding: `[B, T, H]`. Value multiplied by the input gate with `input_term="embedding"`;
            otherwise `None`.
        updated: `[B, T, 1]`. 1 on the nodes that a step changes.
        counted: `[B, T, 1]`. 1 on the nodes that the sentence nodes read.
    """

    products: tf.Tensor
    from_inputs: tf.Tensor
    from_sentence: tf.Tensor
    forgets: tf.Tensor
    node_gates: tf.Tensor
    hidden: tf.Tensor
    cell: tf.Tensor
    node_hidden: tf.Tensor
    node_cell: tf.Tensor
    embedding: tf.Tensor
    updated: tf.Tensor
    counted: tf.Tensor


class Gradients(NamedTuple):
    """Gradients with respect to `Terms`.

    `gates`, of shape `[B, T, G*H]`, is the gradient with respect to the sum of `products`,
    `from_inputs` and `from_sentence`. The others are the gradients with respect to the terms of the
    same names, or 0.0 for terms that a step does not use.
    """

    gates: tf.Tensor
    forgets: tf.Tensor
    node_gates: tf.Tensor
    hidden: tf.Tensor
    cell: tf.Tensor
    node_hidden: tf.Tensor
    node_cell: tf.Tensor
    embedding: tf.Tensor


class WordGates(NamedTuple):
    """Values of one step for the words, stored for the gradient.

    The new cell state of an updated node is the sum of `parts[n] * scale * values[n]` over `n`.

    Args:
        parts: `[N, B, T, H]`. Unnormalized weights of the `N` values.
        scale: `[B, T, H]`. Factor that normalizes the weights, or `None` if it is 1.
        values: list of `N` tensors of shape `[B, T, H]` or `[B, 1, H]`: the candidate or the
            embedding, the sum of each group of cell states, and the state of each sentence node.
        sigmoids: `[N, B, T, H]`. Sigmoids of the gates, or `None` for a softmax without sigmoids.
        output: `[B, T, H]`. Output gate.
        cell: `[B, T, H]`. Cell states after the step, zero on nodes that the step does not change.
        squashed: `[B, T, H]`. `tanh(cell)`.
    """

    parts: tf.Tensor
    scale: tf.Tensor
    values: list
    sigmoids: tf.Tensor
    output: tf.Tensor
    cell: tf.Tensor
    squashed: tf.Tensor


class NodeGates(NamedTuple):
    """Values of one step for a sentence node, stored for the gradient.

    Args:
        parts: `[B, T, H]`. Unnormalized weights of the cell states of the words.
        total: `[B, H]`. Sum by which `parts` is divided to normalize the weights.
        sigmoids: `[B, T, H]`. Sigmoids of the gates of the words, or `None` for a softmax without
            sigmoids.
        own: `[B, H]`. Weight of the cell state of the node itself.
        own_sigmoid: `[B, H]`. Sigmoid of the own-cell gate.
        output: `[B, H]`. Output gate.
        from_words: `[B, H]`. Weighted sum of the cell states of the words.
        cell: `[B, H]`. Cell state after the step.
        squashed: `[B, H]`. `tanh(cell)`.
    """

    parts: tf.Tensor
    total: tf.Tensor
    sigmoids: tf.Tensor
    own: tf.Tensor
    own_sigmoid: tf.Tensor
    output: tf.Tensor
    from_words: tf.Tensor
    cell: tf.Tensor
    squashed: tf.Tensor


def neighbours(x, groups):
    """Sums the neighbours in each group of offsets, with zeros beyond the ends.

    Returns:
        List of one tensor per group. Each has the shape of `x`, `[B, T, D]`.
    """
    reach = max(abs(offset) for group in groups for offset in group)
    padded = tf.pad(x, [[0, 0], [reach, reach], [0, 0]])  # [B, T+2R, D]
    length = tf.shape(x)[1]
    return [
        x if group == (0,) else _sum(padded[:, reach + k : reach + k + length] for k in group)
        for group in groups
    ]


def from_neighbours(gradients, groups):
    """Computes the gradient of `neighbours` with respect to `x` from one gradient per group."""
    return _sum(
        neighbours(gradient, [tuple(-offset for offset in group)])[0]
        for gradient, group in zip(gradients, groups, strict=True)
    )


def update(form, terms):
    """Computes one step.

    Returns:
        Tuple `(states, gates)`. `states` is a tuple of the new hidden and cell states of the words,
        `[B, T, H]`, and those of the sentence nodes, `[S, B, H]`. `gates` is a tuple of the
        `WordGates` and a list with the `NodeGates` of each sentence node.
    """
    words = _word_gates(form, terms)
    nodes = [_node_gates(form, terms, k) for k in range(form.num_sentence_nodes)]
    hidden = words.output * words.squashed
    cell = words.cell  # [B, T, H]
    if form.has_fixed:
        kept = 1.0 - terms.updated
        hidden = hidden * terms.updated + terms.hidden * kept
        cell = cell + terms.cell * kept
    node_hidden = _stack([node.output * node.squashed for node in nodes], terms.node_hidden)
    node_cell = _stack([node.cell for node in nodes], terms.node_cell)  # [S, B, H]
    return (hidden, cell, node_hidden, node_cell), (words, nodes)


def update_gradient(form, terms, gates, d_hidden, d_cell, d_node_hidden, d_node_cell):
    """Computes the `Gradients` of `update` from the gradients of the four states it returns."""
    words, nodes = gates
    from_nodes = [
        _node_gradient(form, terms, k, node, d_node_hidden[k], d_node_cell[k])
        for k, node in enumerate(nodes)
    ]
    kept = 1.0 - terms.updated
    d_kept = (d_hidden * kept, d_cell * kept) if form.has_fixed else (0.0, 0.0)
    d_gates, d_values = _word_gradient(form, terms, words, d_hidden, d_cell)
    number = 1 + len(form.cell_groups)
    d_cell = from_neighbours(d_values[1:number], form.cell_groups) + d_kept[1]
    d_cell = _sum([d_cell, *(node["cell"] for node in from_nodes)])  # [B, T, H]
    d_node = [tf.reduce_sum(d_value, axis=1) for d_value in d_values[number:]]
    d_node = _stack(d_node, terms.node_cell)  # [S, B, H]
    d_node_cell = _stack([node["node_cell"] for node in from_nodes], terms.node_cell)
    reads_cell = form.sentence_term == "cell"
    d_forgets = [node["forgets"] for node in from_nodes]
    return Gradients(
        gates=d_gates,
        forgets=tf.concat(d_forgets, axis=2) if nodes else terms.forgets,
        node_gates=_stack([node["gates"] for node in from_nodes], terms.node_gates),
        hidden=d_kept[0],
        cell=d_cell,
        node_hidden=tf.zeros_like(d_node) if reads_cell else d_node,
        node_cell=d_node_cell + d_node if reads_cell else d_node_cell,
        embedding=0.0 if form.input_term == "gate" else d_values[0],
    )


def _word_gates(form, terms):
    x = terms.products + terms.from_inputs + terms.from_sentence  # [G, B, T, H]
    number = form.num_weights
    if form.gate_normalization == "softmax":
        sigmoids = None
        output = tf.sigmoid(x[number])
        parts = tf.exp(x[:number] - tf.reduce_max(x[:number], axis=0))
    else:
        block = tf.sigmoid(x[: number + 1])  # the output gate is the last
        sigmoids = block[:number]
        output = block[number]
        normalized = form.gate_normalization == "softmax_of_sigmoids"
        parts = tf.exp(sigmoids) if normalized else sigmoids
    scale = None
    if form.gate_normalization != "none":
        scale = 1.0 / _sum(parts[n] for n in range(number))
    candidate = tf.tanh(x[number + 1]) if form.input_term == "gate" else terms.embedding
    shared = terms.node_cell if form.sentence_term == "cell" else terms.node_hidden
    nodes = [shared[k][:, None] for k in range(form.num_sentence_nodes)]  # [B, 1, H] each
    values = [candidate, *neighbours(terms.cell, form.cell_groups), *nodes]
    cell = _sum(parts[n] * value for n, value in enumerate(values))
    cell = (cell if scale is None else cell * scale) * terms.updated
    return WordGates(parts, scale, values, sigmoids, output, cell, tf.tanh(cell))


def _word_gradient(form, terms, words, d_hidden, d_cell):
    """Computes the gradients of the gates of the words, `[B, T, G*H]`, and of their `values`."""
    if form.has_fixed:
        d_hidden = d_hidden * terms.updated
    d_cell = (d_cell + _through_tanh(words.squashed, d_hidden * words.output)) * terms.updated
    weighed = d_cell if words.scale is None else d_cell * words.scale
    gates = []
    d_values = []
    for n, value in enumerate(words.values):
        d_values.append(weighed * words.parts[n])
        if words.scale is None:
            d_gate = d_cell * value
        else:
            d_gate = d_values[n] * (value - words.cell)
        if words.sigmoids is not None:
            d_gate = _through_sigmoid(words.sigmoids[n], d_gate)
        gates.append(d_gate)
    gates.append(_through_sigmoid(words.output, d_hidden * words.squashed))
    if form.input_term == "gate":
        gates.append(_through_tanh(words.values[0], d_values[0]))
    return tf.concat(gates, axis=2), d_values


def _node_gates(form, terms, k):
    units = form.units
    own, output, words = (terms.node_gates[k][:, n * units : (n + 1) * units] for n in range(3))
    logits = terms.forgets[..., k * units : (k + 1) * units] + words[:, None]  # [B, T, H]
    own_sigmoid = tf.sigmoid(own)
    joint = form.sentence_normalization == "joint"
    sigmoids = None if form.gate_normalization == "softmax" else tf.sigmoid(logits)
    if form.gate_normalization == "none":
        parts = sigmoids * terms.counted
        total = tf.ones_like(own)
        own = own_sigmoid
    else:
        if sigmoids is None:
            masked = tf.where(terms.counted > 0, logits, logits.dtype.min)
            largest = tf.reduce_max(masked, axis=1)  # [B, H]
            largest = tf.maximum(largest, own) if joint else largest
            parts = tf.exp(tf.minimum(logits - largest[:, None], 0.0)) * terms.counted
            own = tf.exp(own - largest) if joint else own
        else:
            parts = tf.exp(sigmoids) * terms.counted
            own = tf.exp(own_sigmoid)
        total = tf.reduce_sum(parts, axis=1)  # [B, H]
        total = total + own if joint else tf.where(total > 0, total, 1.0)
        own = own / total if joint else own_sigmoid
    from_words = tf.reduce_sum(parts * terms.cell, axis=1) / total
    cell = own * terms.node_cell[k] + from_words
    output = tf.sigmoid(output)
    return NodeGates(
        parts, total, sigmoids, own, own_sigmoid, output, from_words, cell, tf.tanh(cell)
    )


def _node_gradient(form, terms, k, node, d_hidden, d_cell):
    old_cell = terms.node_cell[k]
    d_cell += _through_tanh(node.squashed, d_hidden * node.output)  # [B, H]
    d_output = _through_sigmoid(node.output, d_hidden * node.squashed)
    d_words_cell = (d_cell / node.total)[:, None] * node.parts  # [B, T, H]
    if form.gate_normalization == "none":
        d_words = d_cell[:, None] * terms.cell * terms.counted
        d_own = _through_sigmoid(node.own_sigmoid, d_cell * old_cell)
    elif form.sentence_normalization == "words":
        d_words = d_words_cell * (terms.cell - node.from_words[:, None])
        d_own = _through_sigmoid(node.own_sigmoid, d_cell * old_cell)
    else:
        d_words = d_words_cell * (terms.cell - node.cell[:, None])
        d_own = d_cell * node.own * (old_cell - node.cell)
        if node.sigmoids is not None:
            d_own = _through_sigmoid(node.own_sigmoid, d_own)
    if node.sigmoids is not None:
        d_words = _through_sigmoid(node.sigmoids, d_words)
    return {
        "forgets": d_words,
        "gates": tf.concat([d_own, d_output, tf.reduce_sum(d_words, axis=1)], axis=1),
        "cell": d_words_cell,
        "node_cell": d_cell * node.own,
    }


def _through_sigmoid(y, gradient):
    """Computes `gradient * y * (1 - y)` in one pass."""
    return tf.raw_ops.SigmoidGrad(y=y, dy=gradient)


def _through_tanh(y, gradient):
    """Computes `gradient * (1 - y * y)` in one pass."""
    return tf.raw_ops.TanhGrad(y=y, dy=gradient)


def _stack(parts, otherwise):
    return tf.stack(parts) if parts else otherwise


def _sum(parts):
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
