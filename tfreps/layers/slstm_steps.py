"""The steps of an S-LSTM as one operation: all products fused, the gradient by hand."""

import functools
from typing import NamedTuple

import tensorflow as tf

from tfreps.layers.products import product
from tfreps.layers.slstm_update import Terms, from_neighbours, neighbours, update, update_gradient


class Weights(NamedTuple):
    """What the steps multiply with; the last four are None where there is no sentence node.

    Args:
        recurrent_kernel: `[N*H, G*H]`, for the `N` groups of hidden states.
        word_kernel: `[H, S*H]`, from a word to the nodes' gates for it.
        sentence_kernel: `[S, H, (G-S+4)*H]`, from a node to the words' gates (of those for
            nodes only its own) and to its own three.
        mean_kernel: `[S, H, 2*H]`, from the mean of the words to a node's own gates.
        sentence_bias: `[S, 3*H]`.
    """

    recurrent_kernel: tf.Tensor
    word_kernel: tf.Tensor = None
    sentence_kernel: tf.Tensor = None
    mean_kernel: tf.Tensor = None
    sentence_bias: tf.Tensor = None


def rows_product(x, kernel, compute_dtype, transpose_kernel=False):
    """`product` of `x` `[B, T, D]`, taken as one matrix of `B*T` rows: `[B, T, E]`."""
    flat = product(tf.reshape(x, [-1, x.shape[-1]]), kernel, compute_dtype, transpose_kernel)
    return tf.reshape(flat, [*tf.unstack(tf.shape(x)[:2]), flat.shape[-1]])


def first_products(form, hidden, recurrent_kernel, word_kernel, compute_dtype):
    """Products of the hidden states that the first step reads, apart from the later ones.

    States that are alike (a learned state, zeros) have cheaper ways to the same: see `SLSTM`.

    Args:
        form: `Form`.
        hidden: float, shape `[B, T, D]`.
        recurrent_kernel: `[N*D, G*H]`.
        word_kernel: `[D, S*H]`, or None without sentence nodes.
        compute_dtype: str, of the products.

    Returns:
        float32 `[B, T, G*H]` and `[B, T, S*H]`.
    """
    joined = tf.concat(neighbours(hidden, form.hidden_groups), axis=2)  # [B, T, N*D]
    if word_kernel is None:
        forgets = tf.zeros([*tf.unstack(tf.shape(hidden)[:2]), 0])
    else:
        forgets = rows_product(hidden, word_kernel, compute_dtype)
    return rows_product(joined, recurrent_kernel, compute_dtype), forgets


def exchange(form, weights, states, first, from_inputs, embedding, masks, options):
    """Runs a number of S-LSTM steps: `SLSTMCell` has the equations.

    The gradient goes back through the steps by hand; the weights' products are made once,
    after it.

    Args:
        form: `Form`.
        weights: `Weights`.
        states: hidden and cell states of the words `[B, T, H]` and of the sentence nodes
            `[S, B, H]`, before the first step.
        first: `first_products` of the first of these.
        from_inputs: float32 `[B, T, G*H]`, inputs times kernel, and the bias.
        embedding: float32 `[B, T, H]` with `input_term="embedding"`, else None.
        masks: float32 `[B, T, 1]`, two: nodes that the steps change, nodes that the sentence
            nodes read. States are zero where there is no node.
        options: dict with `num_steps` (at least 1), `compute_dtype` of the products and
            `compiled`: whether XLA compiles what is not a product.

    Returns:
        The four states after the last step, float32.
    """
    present = [weight is not None for weight in weights]
    embedding = tf.zeros([0]) if embedding is None else embedding
    states, given = [tf.convert_to_tensor(state) for state in states], list(weights)

    @tf.custom_gradient
    def run(hidden, cell, node_hidden, node_cell, products, forgets, from_inputs, embedding, *some):
        some = iter(some)
        kernels = Weights(*(next(some) if there else None for there in present))
        steps = _Steps(form, kernels, from_inputs, embedding, masks, options)
        results, tape = steps.forward((hidden, cell, node_hidden, node_cell), (products, forgets))

        def gradient(*d_results):
            return steps.backward(tape, d_results)

        return results, gradient

    given = [tf.convert_to_tensor(weight) for weight in given if weight is not None]
    return run(*states, *first, from_inputs, embedding, *given)


class _Steps:
    """The two loops of `exchange`."""

    def __init__(self, form, weights, from_inputs, embedding, masks, options):
        self.form, self.masks, self.dtype = form, masks, options["compute_dtype"]
        self.num_steps, self.compiled = options["num_steps"], options["compiled"]
        self.from_inputs, self.embedding = from_inputs, embedding
        cast = [weight if weight is None else tf.cast(weight, self.dtype) for weight in weights]
        self.weights = Weights(*cast)  # once for all steps
        self.bias = weights.sentence_bias
        self.number = tf.maximum(tf.reduce_sum(masks[1], axis=1), 1.0)  # [B, 1]

    def forward(self, states, first):
        tape = []
        for step in range(self.num_steps):
            joined = None
            if step > 0:
                joined, products, forgets = self._products(states[0])
            else:
                products, forgets = first
            node_gates, from_sentence, mean = self._from_nodes(states)
            hidden, cell, node_hidden, node_cell = states
            terms = Terms(
                products, self.from_inputs, from_sentence, forgets, node_gates,
                hidden, cell, node_hidden, node_cell, self.embedding, *self.masks,
            )  # fmt: skip
            states = _call(update, self.form, self.compiled, terms)
            tape.append((terms, joined, mean))
        return states, tape

    def backward(self, tape, d_states):
        later, every, d_inputs, d_embedding = [], [], 0.0, 0.0
        for step in reversed(range(self.num_steps)):
            terms, joined, mean = tape[step]
            d = _call(update_gradient, self.form, self.compiled, terms, *d_states)
            d_hidden, d_node_hidden = d.hidden, d.node_hidden
            d_inputs, d_embedding = d_inputs + d.from_inputs, d_embedding + d.embedding
            if self.form.num_sentence_nodes:
                d_mean, d_from_node = self._node_gradient(d)
                d_hidden += d_mean[:, None]
                d_node_hidden += product(
                    d_from_node, self.weights.sentence_kernel, self.dtype, True
                )
                every.append((terms.node_hidden, d_from_node, mean, d.node_gates))
            if step > 0:
                d_products = tf.cast(d.products, self.dtype)
                d_hidden += self._products_gradient(d_products, d.forgets)
                later.append((joined, d_products, terms.hidden, d.forgets))
            d_states = d_hidden, d.cell, d_node_hidden, d.node_cell
        gradients = [*d_states, d.products, d.forgets, d_inputs, d_embedding]
        return [*gradients, *self._weight_gradients(later, every)]

    def _products(self, hidden):
        """Of all words' hidden states: joined with their neighbours', and times the kernels."""
        parts = neighbours(tf.cast(hidden, self.dtype), self.form.hidden_groups)
        joined = tf.concat(parts, axis=2)  # [B, T, N*H]
        products = rows_product(joined, self.weights.recurrent_kernel, self.dtype)
        if not self.form.num_sentence_nodes:
            return joined, products, hidden[..., :0]
        return joined, products, rows_product(hidden, self.weights.word_kernel, self.dtype)

    def _products_gradient(self, d_products, d_forgets):
        kernel, groups = self.weights.recurrent_kernel, self.form.hidden_groups
        d_joined = rows_product(d_products, kernel, self.dtype, True)
        units = self.form.units
        parts = [d_joined[..., n * units : (n + 1) * units] for n in range(len(groups))]
        d_hidden = from_neighbours(parts, groups)
        if self.form.num_sentence_nodes:
            d_hidden += rows_product(d_forgets, self.weights.word_kernel, self.dtype, True)
        return d_hidden

    def _from_nodes(self, states):
        """What the sentence nodes give: to their own gates `[S, B, 3H]`, to words `[B, G*H]`."""
        hidden, _, node_hidden, _ = states
        form, units = self.form, self.form.units
        batch = tf.shape(hidden)[0]
        if not form.num_sentence_nodes:
            return tf.zeros([0, batch, 3 * units]), tf.zeros([batch, form.num_gates * units]), None
        mean = tf.reduce_sum(hidden, axis=1) / self.number  # [B, H]
        out = product(node_hidden, self.weights.sentence_kernel, self.dtype)  # [S, B, (G-S+4)H]
        from_mean = product(mean[None], self.weights.mean_kernel, self.dtype)  # [S, B, 2H]
        node_gates = out[..., -3 * units :] + self.bias[:, None]
        node_gates += tf.pad(from_mean, [[0, 0], [0, 0], [0, units]])
        if form.num_sentence_nodes == 1:
            return node_gates, out[0, :, : -3 * units], mean
        before = (1 + len(form.cell_groups)) * units  # columns of the gates before the nodes'
        shared = tf.reduce_sum(out, axis=0)  # [B, (G-S+4)H]
        own = tf.unstack(out[..., before : before + units])  # one [B, H] for each node
        ends = shared[:, :before], shared[:, before + units : -3 * units]
        return node_gates, tf.concat([ends[0], *own, ends[1]], axis=1), mean

    def _node_gradient(self, d):
        """Gradients of the words' mean, all hidden states alike, and of the nodes' products."""
        form, units = self.form, self.form.units
        from_mean = d.node_gates[..., : 2 * units]  # [S, B, 2H]
        d_mean = product(from_mean, self.weights.mean_kernel, self.dtype, True)  # [S, B, H]
        d_mean = tf.reduce_sum(d_mean, axis=0) / self.number
        before, number = (1 + len(form.cell_groups)) * units, form.num_sentence_nodes
        to_words = []
        for k in range(number):
            own = d.from_sentence[:, before + k * units : before + (k + 1) * units]
            ends = d.from_sentence[:, :before], d.from_sentence[:, before + number * units :]
            to_words.append(tf.concat([ends[0], own, ends[1], d.node_gates[k]], axis=1))
        return d_mean, tf.stack(to_words)

    def _weight_gradients(self, later, every):
        """In the order of `Weights`, those that are there."""
        form, units = self.form, self.form.units
        joined, d_products, hidden, d_forgets = zip(*later, strict=True) if later else [()] * 4
        recurrent = self._outer(joined, d_products, self.weights.recurrent_kernel)
        if not form.num_sentence_nodes:
            return [recurrent]
        node_hidden, d_from_node, mean, d_gates = (list(part) for part in zip(*every, strict=True))
        mean, d_gates = tf.concat(mean, axis=0), tf.concat(d_gates, axis=1)
        pairs = tf.concat(node_hidden, axis=1), tf.concat(d_from_node, axis=1)
        return [
            recurrent,
            self._outer(hidden, d_forgets, self.weights.word_kernel),
            _transposed_product(*pairs, self.dtype),
            _transposed_product(mean[None], d_gates[..., : 2 * units], self.dtype),
            tf.reduce_sum(d_gates, axis=1),
        ]

    def _outer(self, inputs, gradients, kernel):
        """Sum over steps and rows: one product for all steps."""
        if not inputs:
            return tf.zeros(kernel.shape)
        rows, columns = kernel.shape
        x = tf.concat([tf.reshape(part, [-1, rows]) for part in inputs], axis=0)
        d = tf.concat([tf.reshape(part, [-1, columns]) for part in gradients], axis=0)
        return _transposed_product(x, d, self.dtype)


def _transposed_product(x, d, dtype):
    y = tf.matmul(tf.cast(x, dtype), tf.cast(d, dtype), transpose_a=True)
    return tf.cast(y, "float32")


def _call(function, form, compiled, *arguments):
    return _xla(function, form)(*arguments) if compiled else function(form, *arguments)


@functools.cache
def _xla(function, form):
    """`function` of this form, compiled once for each shape, wherever it is called from."""
    return tf.function(functools.partial(function, form), jit_compile=True)
