"""S-LSTM steps as one operation with fused products and a hand-written gradient."""

from typing import NamedTuple

import tensorflow as tf

from tfreps.layers.ops.slstm_update import (
    Terms,
    from_neighbours,
    neighbours,
    update,
    update_gradient,
)


class Weights(NamedTuple):
    """Weights of the steps. The last four are `None` if there is no sentence node.

    A word has `G` gates, which read the hidden states of `N` groups of neighbours; see `Form`.
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
    each node. The kernels have been multiplied by `rows` in advance, so that the large product of
    the first step becomes a small one.
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

    Each step computes all gates of all words with one product; the product with the inputs is
    computed once for all steps. The gradient is hand-written: it uses the stored gates, goes back
    through the steps, and then computes the gradients of the weights with one product each.

    Args:
        form: `Form`. Variant of the S-LSTM.
        weights: `Weights`.
        states: tuple of the float32 states before the first step: the hidden and cell states of the
            words, `[B, T, H]`, and those of the sentence nodes, `[S, B, H]`. They are zero where
            there is no node.
        first: `First`, created from the hidden states of the words in `states`.
        inputs: float32, shape `[B, T, P]`.
        embedding: float32, shape `[B, T, H]`. Value multiplied by the input gate with
            `input_term="embedding"`; otherwise `None`.
        masks: tuple of two float32 masks of shape `[B, T, 1]`. The first is 1 on the nodes that
            the steps change; the second is 1 on the nodes that the sentence nodes read.
        num_steps: int. Number of steps, at least 1.
        compute_dtype: str. Dtype of the products; everything else is float32.

    Returns:
        Tuple of the four float32 states after the last step, in the order of `states`.
    """
    everything = [*states, inputs, embedding, *first, *weights]
    there = [tensor is not None for tensor in everything]

    @tf.custom_gradient
    def run(*tensors):
        tensors = iter(tensors)
        tensors = [next(tensors) if given else None for given in there]
        states = tensors[:4]
        inputs, embedding = tensors[4:6]
        first = First(*tensors[6:9])
        weights = Weights(*tensors[9:])
        steps = _Steps(form, weights, first, inputs, embedding, masks, compute_dtype)
        results, tape = steps.forward(states, num_steps)

        def gradient(*d_results):
            gradients = steps.backward(tape, d_results)
            return [d for d, given in zip(gradients, there, strict=True) if given]

        return results, gradient

    return run(*(tf.cast(tensor, "float32") for tensor in everything if tensor is not None))


class _Steps:
    """Forward and backward loops of `exchange`."""

    def __init__(self, form, weights, first, inputs, embedding, masks, dtype):
        self.form = form
        self.masks = masks
        self.dtype = dtype
        self.embedding = embedding
        self.bias = weights.bias
        self.sentence_bias = weights.sentence_bias
        # The casts are done once for all steps.
        self.weights = Weights(*(None if w is None else tf.cast(w, dtype) for w in weights))
        self.first = First(*(None if t is None else tf.cast(t, dtype) for t in first))
        self.inputs = tf.cast(inputs, dtype)
        self.shape = tf.unstack(tf.shape(inputs)[:2])
        self.number = tf.maximum(tf.reduce_sum(masks[1], axis=1), 1.0)  # [B, 1]

    def forward(self, states, num_steps):
        form = self.form
        tape = []
        from_inputs = self._to_gates(self.inputs, self._gate_major(self.weights.kernel))
        from_inputs += tf.reshape(self.bias, [form.num_gates, 1, 1, form.units])
        recurrent = self._gate_major(self.weights.recurrent_kernel)
        for step in range(num_steps):
            if step == 0:
                source = self.first.source
                kernel = self._gate_major(self.first.recurrent_kernel)
            else:
                source = tf.cast(states[0], self.dtype)
                kernel = recurrent
            joined = tf.concat(neighbours(source, form.hidden_groups), axis=2)  # [B, T, N*H]
            word_kernel = self.weights.word_kernel if step else self.first.word_kernel
            node_gates, from_sentence, mean = self._from_nodes(states)
            terms = Terms(
                self._to_gates(joined, kernel), from_inputs, from_sentence,
                self._rows(source, word_kernel), node_gates,
                *states, self.embedding, *self.masks,
            )  # fmt: skip
            states, gates = update(form, terms)
            terms = terms._replace(products=None, from_inputs=None, from_sentence=None)
            tape.append((terms, gates, source, joined, mean))
        return states, tape

    def backward(self, tape, d_states):
        """Computes the gradients in the order of `everything` in `exchange`."""
        form = self.form
        nodes = self.form.num_sentence_nodes
        recurrent = tf.transpose(self.weights.recurrent_kernel)  # [G*H, N*H]
        later = []
        every = []
        d_inputs = 0.0
        d_embedding = 0.0
        for step in reversed(range(len(tape))):
            terms, gates, source, joined, mean = tape[step]
            d = update_gradient(form, terms, gates, *d_states)
            d_hidden = d.hidden
            d_node_hidden = d.node_hidden
            d_inputs = d_inputs + d.gates
            d_embedding = d_embedding + d.embedding
            d_gates = tf.cast(d.gates, self.dtype)
            if nodes:
                d_mean, d_from_node = self._node_gradient(d)
                d_hidden += d_mean[:, None]
                d_node_hidden += _product(d_from_node, self.weights.sentence_kernel, True)
                every.append((terms.node_hidden, d_from_node, mean, d.node_gates))
            pairs = joined, d_gates, source, tf.cast(d.forgets, self.dtype)
            if step > 0:
                d_hidden += self._source_gradient(pairs, recurrent, self.weights.word_kernel)
                later.append(pairs)
            else:
                kernel = tf.transpose(self.first.recurrent_kernel)
                d_source = self._source_gradient(pairs, kernel, self.first.word_kernel)
                d_first = [d_source, *self._outer([pairs], self.first)]
            d_hidden += tf.zeros_like(terms.hidden)  # broadcasts a gradient of the mean only
            d_states = d_hidden, d.cell, d_node_hidden, d.node_cell
        d_inputs = tf.reshape(d_inputs, [-1, self.bias.shape[0]])
        low = tf.cast(d_inputs, self.dtype)
        d_kernel = _transposed_product(tf.reshape(self.inputs, [-1, self.inputs.shape[-1]]), low)
        gradients = [*d_states, self._rows(low, self.weights.kernel, True), d_embedding, *d_first]
        gradients += [d_kernel, tf.reduce_sum(d_inputs, axis=0)]
        return [*gradients, *self._outer(later, self.weights), *self._node_weights(every)]

    def _gate_major(self, kernel):
        """Rearranges a kernel of shape `[D, G*H]` to `[G, D, H]`."""
        number = self.form.num_gates
        units = self.form.units
        return tf.transpose(tf.reshape(kernel, [-1, number, units]), [1, 0, 2])

    def _to_gates(self, x, kernel):
        """Multiplies `[B, T, D]` by `[G, D, H]` and returns all gates, `[G, B, T, H]`."""
        out = _product(tf.reshape(x, [1, -1, x.shape[-1]]), kernel)  # [G, B*T, H]
        return tf.reshape(out, [self.form.num_gates, *self.shape, self.form.units])

    def _rows(self, x, kernel, transpose=False):
        """Multiplies `x` by a kernel; returns `[B, T, E]`, or `[B, T, 0]` without a kernel."""
        if kernel is None:
            return tf.zeros([*self.shape, 0])
        width = kernel.shape[0 if transpose else 1]
        out = _product(tf.reshape(x, [-1, x.shape[-1]]), kernel, transpose)
        return tf.reshape(out, [*self.shape, width])

    def _source_gradient(self, pairs, recurrent, word_kernel):
        """Computes the gradient with respect to `source` from the transposed kernel `recurrent`."""
        _, d_gates, source, d_forgets = pairs
        groups = self.form.hidden_groups
        width = source.shape[-1]
        d_joined = self._rows(d_gates, recurrent)
        parts = [d_joined[..., n * width : (n + 1) * width] for n in range(len(groups))]
        d_source = from_neighbours(parts, groups)
        if word_kernel is not None:
            d_source += self._rows(d_forgets, word_kernel, True)
        return d_source

    def _from_nodes(self, states):
        """Computes the contributions of the sentence nodes to the gates.

        Returns:
            Tuple `(node_gates, from_sentence, mean)`. `node_gates` and `from_sentence` are
            described in `Terms`. `mean`, of shape `[B, H]`, is the mean of the hidden states of the
            words, or `None` if there is no sentence node.
        """
        hidden, _, node_hidden, _ = states
        form = self.form
        units = self.form.units
        batch = self.shape[0]
        if not form.num_sentence_nodes:
            none = tf.zeros([form.num_gates, batch, 1, units])
            return tf.zeros([0, batch, 3 * units]), none, None
        mean = tf.reduce_sum(hidden, axis=1) / self.number  # [B, H]
        out = self._low_product(node_hidden, self.weights.sentence_kernel)  # [S, B, (G-S+4)H]
        from_mean = self._low_product(mean[None], self.weights.mean_kernel)  # [S, B, 2H]
        node_gates = out[..., -3 * units :] + self.sentence_bias[:, None]
        node_gates += tf.pad(from_mean, [[0, 0], [0, 0], [0, units]])
        before = (1 + len(form.cell_groups)) * units  # columns of the gates before the nodes'
        shared = tf.reduce_sum(out, axis=0)  # [B, (G-S+4)H]
        own = tf.unstack(out[..., before : before + units])  # one [B, H] for each node
        ends = shared[:, :before], shared[:, before + units : -3 * units]
        gates = tf.concat([ends[0], *own, ends[1]], axis=1)  # [B, G*H]
        gates = tf.reshape(gates, [batch, 1, form.num_gates, units])
        return node_gates, tf.transpose(gates, [2, 0, 1, 3]), mean

    def _node_gradient(self, d):
        """Computes two gradients of a step for the sentence nodes.

        Returns:
            Tuple `(d_mean, d_from_node)`. `d_mean` is `[B, H]`: the gradient with respect to the
            hidden state of each word through the mean. `d_from_node` is `[S, B, (G-S+4)*H]`: the
            gradient with respect to the product of the nodes and `sentence_kernel`.
        """
        form = self.form
        units = self.form.units
        from_mean = d.node_gates[..., : 2 * units]  # [S, B, 2H]
        d_mean = self._low_product(from_mean, self.weights.mean_kernel, True)  # [S, B, H]
        d_mean = tf.reduce_sum(d_mean, axis=0) / self.number
        before = (1 + len(form.cell_groups)) * units
        number = form.num_sentence_nodes
        d_gates = tf.reduce_sum(d.gates, axis=1)  # [B, G*H]
        to_words = []
        for k in range(number):
            own = d_gates[:, before + k * units : before + (k + 1) * units]
            ends = d_gates[:, :before], d_gates[:, before + number * units :]
            to_words.append(tf.concat([ends[0], own, ends[1], d.node_gates[k]], axis=1))
        return d_mean, tf.cast(tf.stack(to_words), self.dtype)

    def _outer(self, steps, kernels):
        """Computes the gradients of `recurrent_kernel` and `word_kernel`, with one product each."""
        gradients = []
        for kernel, at in ((kernels.recurrent_kernel, 0), (kernels.word_kernel, 2)):
            if kernel is None:
                gradients.append(None)
                continue
            rows, columns = kernel.shape
            if not steps:
                gradients.append(tf.zeros([rows, columns]))
                continue
            x = tf.concat([tf.reshape(pairs[at], [-1, rows]) for pairs in steps], axis=0)
            d = tf.concat([tf.reshape(pairs[at + 1], [-1, columns]) for pairs in steps], axis=0)
            gradients.append(_transposed_product(x, d))
        return gradients

    def _node_weights(self, every):
        """Computes the gradients of the last three fields of `Weights`."""
        if not every:
            return [None] * 3
        node_hidden, d_from_node, mean, d_gates = (list(part) for part in zip(*every, strict=True))
        mean = tf.concat(mean, axis=0)
        d_gates = tf.concat(d_gates, axis=1)
        from_mean = tf.cast(d_gates[..., : 2 * self.form.units], self.dtype)
        node_hidden = tf.cast(tf.concat(node_hidden, axis=1), self.dtype)
        return [
            _transposed_product(node_hidden, tf.concat(d_from_node, axis=1)),
            _transposed_product(tf.cast(mean, self.dtype)[None], from_mean),
            tf.reduce_sum(d_gates, axis=1),
        ]

    def _low_product(self, x, kernel, transpose=False):
        return _product(tf.cast(x, self.dtype), kernel, transpose)


def _product(x, kernel, transpose=False):
    """Multiplies `x` by a kernel of the same dtype and returns float32."""
    return tf.cast(tf.matmul(x, kernel, transpose_b=transpose), "float32")


def _transposed_product(x, d):
    return tf.cast(tf.matmul(x, d, transpose_a=True), "float32")
