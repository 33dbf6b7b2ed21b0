"""The gates of one S-LSTM step, element by element, and their gradient by hand."""

from typing import NamedTuple

import tensorflow as tf


class Form(NamedTuple):
    """Which S-LSTM: what `update` has to know besides tensors.

    Gates of a word stand in the order input, one per group of cells, one per sentence node,
    output, candidate (this one with `input_term="gate"` alone); those of a sentence node in
    the order own cell, output, words.

    Args:
        units: int. Width `H` of all states.
        hidden_groups: tuple of tuples of offsets. The hidden states of each are summed, the
            sums joined, and read by every gate.
        cell_groups: tuple of tuples of offsets. The cell states of each are summed and
            weighed by a gate of their own.
        num_sentence_nodes: int, `S`.
        input_term, gate_normalization, sentence_normalization, sentence_term: as in `SLSTMCell`.
    """

    units: int
    hidden_groups: tuple
    cell_groups: tuple
    num_sentence_nodes: int
    input_term: str
    gate_normalization: str
    sentence_normalization: str
    sentence_term: str

    @property
    def num_weights(self):
        """Gates of a word that weigh a term of its cell state."""
        return 1 + len(self.cell_groups) + self.num_sentence_nodes

    @property
    def num_gates(self):
        """All gates of a word, `G`."""
        return self.num_weights + 1 + (self.input_term == "gate")


class Terms(NamedTuple):
    """What one step is made of; all float32.

    Args:
        products: `[B, T, G*H]`, hidden states times their kernel.
        from_inputs: `[B, T, G*H]`, inputs times theirs, and the bias.
        from_sentence: `[B, G*H]`, sentence states times theirs.
        forgets: `[B, T, S*H]`, hidden states times the kernel of the nodes' gates for words.
        node_gates: `[S, B, 3*H]`, all else that goes into the nodes' gates.
        hidden, cell: `[B, T, H]`; zero where no node is.
        node_hidden, node_cell: `[S, B, H]`.
        embedding: `[B, T, H]`, what the input gate weighs with `input_term="embedding"`.
        updated, counted: `[B, T, 1]`, 1 on the nodes that a step changes, and on those that
            the sentence nodes read.
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


def neighbours(x, groups):
    """Per group the sum of `x` at these offsets, zero beyond the ends: a list of `[B, T, D]`."""
    reach = max(abs(offset) for group in groups for offset in group)
    padded = tf.pad(x, [[0, 0], [reach, reach], [0, 0]])  # [B, T+2R, D]
    length = tf.shape(x)[1]
    return [
        _sum(padded[:, reach + offset : reach + offset + length] for offset in group)
        for group in groups
    ]


def from_neighbours(gradients, groups):
    """The gradient of `neighbours`: from one `[B, T, D]` per group to that of `x`."""
    return _sum(
        neighbours(gradient, [[-offset for offset in group]])[0]
        for gradient, group in zip(gradients, groups, strict=True)
    )


def update(form, terms):
    """One step: new hidden and cell states of words `[B, T, H]` and of nodes `[S, B, H]`."""
    words = _word_gates(form, terms)
    new_cell = _sum(w * v for w, v in zip(words.parts, words.values, strict=True))
    new_cell = new_cell if words.scale is None else new_cell * words.scale
    new_hidden = words.output * tf.tanh(new_cell)
    kept = 1.0 - terms.updated
    new_hidden = new_hidden * terms.updated + terms.hidden * kept  # [B, T, H]
    new_cell = new_cell * terms.updated + terms.cell * kept
    nodes = [_node(form, terms, k) for k in range(form.num_sentence_nodes)]
    if not nodes:
        return new_hidden, new_cell, terms.node_hidden, terms.node_cell
    node_cell = tf.stack([node.new_cell for node in nodes])  # [S, B, H]
    output = tf.stack([node.output for node in nodes])
    return new_hidden, new_cell, output * tf.tanh(node_cell), node_cell


def update_gradient(form, terms, d_hidden, d_cell, d_node_hidden, d_node_cell):
    """The gradients of `update`, as a `Terms`, from those of its four results.

    With `input_term="gate"` that of `embedding` is empty, as `embedding` is; those of the
    two masks are None; that of `products` is also that of `from_inputs`.
    """
    nodes = [
        _node_gradient(form, terms, k, d_node_hidden[k], d_node_cell[k])
        for k in range(form.num_sentence_nodes)
    ]
    d_gates, d_values = _word_gradient(form, terms, d_hidden, d_cell)
    d_embedding, d_cells, d_nodes = _split_values(form, d_values)
    kept = 1.0 - terms.updated
    d_cell = from_neighbours(d_cells, form.cell_groups) + d_cell * kept
    d_cell = _sum([d_cell, *(node["cell"] for node in nodes)])  # [B, T, H]
    d_node = _stack([tf.reduce_sum(d, axis=1) for d in d_nodes], terms.node_cell)  # [S, B, H]
    d_node_cell = _stack([node["node_cell"] for node in nodes], terms.node_cell)
    reads_cell = form.sentence_term == "cell"
    forgets = [node["forgets"] for node in nodes]
    return Terms(
        products=d_gates,
        from_inputs=d_gates,
        from_sentence=tf.reduce_sum(d_gates, axis=1),
        forgets=tf.concat(forgets, axis=2) if forgets else terms.forgets,
        node_gates=_stack([node["gates"] for node in nodes], terms.node_gates),
        hidden=d_hidden * kept,
        cell=d_cell,
        node_hidden=tf.zeros_like(d_node) if reads_cell else d_node,
        node_cell=d_node_cell + d_node if reads_cell else d_node_cell,
        embedding=terms.embedding if form.input_term == "gate" else d_embedding,
        updated=None,
        counted=None,
    )


class _WordGates(NamedTuple):
    parts: list  # of [B, T, H]; times `scale` they are the weights of `values`
    scale: tf.Tensor  # [B, T, H], or None for 1
    values: list
    sigmoids: list  # before the softmax; None for a softmax of logits
    output: tf.Tensor
    candidate: tf.Tensor


def _word_gates(form, terms):
    x = terms.products + terms.from_inputs + terms.from_sentence[:, None]  # [B, T, G*H]
    number, units, sigmoids = form.num_weights, form.units, None
    if form.gate_normalization == "softmax":
        logits = _columns(x, 0, number, units)
        largest = logits[0]
        for logit in logits[1:]:
            largest = tf.maximum(largest, logit)
        parts = [tf.exp(logit - largest) for logit in logits]
        output = tf.sigmoid(x[..., number * units : (number + 1) * units])
    else:
        block = tf.sigmoid(x[..., : (number + 1) * units])  # the output gate is the last
        *sigmoids, output = _columns(block, 0, number + 1, units)
        parts = sigmoids
        if form.gate_normalization == "softmax_of_sigmoids":
            parts = _columns(tf.exp(block[..., : number * units]), 0, number, units)
    scale = None if form.gate_normalization == "none" else 1.0 / _sum(parts)
    gated = form.input_term == "gate"
    candidate = tf.tanh(x[..., -units:]) if gated else terms.embedding
    shared = terms.node_cell if form.sentence_term == "cell" else terms.node_hidden
    nodes = [shared[k][:, None] for k in range(form.num_sentence_nodes)]  # [B, 1, H] each
    values = [candidate, *neighbours(terms.cell, form.cell_groups), *nodes]
    return _WordGates(parts, scale, values, sigmoids, output, candidate)


def _word_gradient(form, terms, d_hidden, d_cell):
    """Gradients of a word's gates `[B, T, G*H]` and of each term of its cell state."""
    words = _word_gates(form, terms)
    scale = 1.0 if words.scale is None else words.scale
    weights = [part * scale for part in words.parts]
    new_cell = _sum(w * v for w, v in zip(weights, words.values, strict=True))
    squashed, output = tf.tanh(new_cell), words.output
    d_hidden, d_cell = d_hidden * terms.updated, d_cell * terms.updated
    d_cell += d_hidden * output * (1.0 - squashed * squashed)
    gates = []
    for n, (weight, value) in enumerate(zip(weights, words.values, strict=True)):
        if words.scale is None:
            d_gate = d_cell * value
        else:
            d_gate = d_cell * weight * (value - new_cell)
        if words.sigmoids is not None:
            d_gate *= words.sigmoids[n] * (1.0 - words.sigmoids[n])
        gates.append(d_gate)
    d_values = [d_cell * weight for weight in weights]
    gates.append(d_hidden * squashed * output * (1.0 - output))
    if form.input_term == "gate":
        gates.append(d_values[0] * (1.0 - words.candidate * words.candidate))
    return tf.concat(gates, axis=2), d_values


class _Node(NamedTuple):
    weights: tf.Tensor  # of the words' cell states, [B, T, H]
    sigmoids: tf.Tensor  # before the softmax; None for a softmax of logits
    own: tf.Tensor  # weight of the node's own cell state, [B, H]
    own_sigmoid: tf.Tensor
    output: tf.Tensor
    from_words: tf.Tensor
    new_cell: tf.Tensor


def _node(form, terms, k):
    """Sentence node `k`: its gates and its new cell state."""
    units = form.units
    own, output, words = _columns(terms.node_gates[k], 0, 3, units)  # [B, H] each
    logits = terms.forgets[..., k * units : (k + 1) * units] + words[:, None]  # [B, T, H]
    own_sigmoid, sigmoids = tf.sigmoid(own), tf.sigmoid(logits)
    joint = form.sentence_normalization == "joint"
    if form.gate_normalization == "none":
        weights, own = sigmoids * terms.counted, own_sigmoid
    else:
        if form.gate_normalization == "softmax":
            masked = tf.where(terms.counted > 0, logits, logits.dtype.min)
            largest = tf.reduce_max(masked, axis=1)  # [B, H]
            largest = tf.maximum(largest, own) if joint else largest
            logits, own = tf.minimum(logits - largest[:, None], 0.0), own - largest
        else:
            logits, own = sigmoids, own_sigmoid
        parts, own = tf.exp(logits) * terms.counted, tf.exp(own)
        total = tf.reduce_sum(parts, axis=1)  # [B, H]
        total = total + own if joint else tf.where(total > 0, total, 1.0)
        weights = parts / total[:, None]
        own = own / total if joint else own_sigmoid
    from_words = tf.reduce_sum(weights * terms.cell, axis=1)
    if form.gate_normalization == "softmax":
        sigmoids = None
    new_cell = own * terms.node_cell[k] + from_words
    return _Node(weights, sigmoids, own, own_sigmoid, tf.sigmoid(output), from_words, new_cell)


def _node_gradient(form, terms, k, d_hidden, d_cell):
    node, old_cell = _node(form, terms, k), terms.node_cell[k]
    squashed = tf.tanh(node.new_cell)
    d_cell += d_hidden * node.output * (1.0 - squashed * squashed)  # [B, H]
    d_output = d_hidden * squashed * node.output * (1.0 - node.output)
    slope = node.own_sigmoid * (1.0 - node.own_sigmoid)
    if form.gate_normalization == "none":
        d_words = d_cell[:, None] * terms.cell * terms.counted  # [B, T, H]
        d_own = d_cell * old_cell * slope
    elif form.sentence_normalization == "words":
        d_words = d_cell[:, None] * node.weights * (terms.cell - node.from_words[:, None])
        d_own = d_cell * old_cell * slope
    else:
        d_words = d_cell[:, None] * node.weights * (terms.cell - node.new_cell[:, None])
        d_own = d_cell * node.own * (old_cell - node.new_cell)
        d_own = d_own if node.sigmoids is None else d_own * slope
    if node.sigmoids is not None:
        d_words *= node.sigmoids * (1.0 - node.sigmoids)
    return {
        "forgets": d_words,
        "gates": tf.concat([d_own, d_output, tf.reduce_sum(d_words, axis=1)], axis=1),
        "cell": d_cell[:, None] * node.weights,
        "node_cell": d_cell * node.own,
    }


def _split_values(form, values):
    number = 1 + len(form.cell_groups)
    return values[0], values[1:number], values[number:]


def _columns(x, first, number, units):
    # slices: tf.split hands each part to another thread and waits for it
    return [x[..., n * units : (n + 1) * units] for n in range(first, first + number)]


def _stack(parts, otherwise):
    return tf.stack(parts) if parts else otherwise


def _sum(parts):
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
