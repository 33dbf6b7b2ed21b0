"""LSTM with a projection, clipped states and a hand-written gradient."""

import functools

import tensorflow as tf

from tfreps._src.layers.ops.matmul import matmul, widened
from tfreps._src.layers.ops.portable import is_portable
from tfreps._src.layers.ops.position_loop import recur, whole_blocks


def projected_lstm(
    inputs,
    mask,
    hidden,
    cell,
    kernel,
    bias,
    projection,
    options,
    training=False,
    distinct=None,
):
    """Runs one LSTM layer in one direction over all steps.

        i, f, g, o = split([x_t, h_{t-1}] @ kernel + bias)
        c_t = clip(sigmoid(f + 1) * c_{t-1} + sigmoid(i) * tanh(g), cell_clip)
        h_t = clip((sigmoid(o) * tanh(c_t)) @ projection, projection_clip)

    The inputs of all steps are multiplied by the kernel at once before the loop, and the
    gradients of the weights at once after it, so that the loop contains only the recurrence. The
    order of the gates is i, f, g, o, as in Keras. As in TF 1, the forget bias of 1 is added at
    every step and is not part of `bias`.

    Args:
        inputs: float32, shape `[T, B, P]`.
        mask: float32, shape `[T, B, 1]`. 1 on real tokens, 0 elsewhere. At a masked step, the
            states are unchanged and the output is zero. If `None`, all tokens are real.
        hidden: float32, shape `[B, H]`. Initial hidden state, after projection and clipping.
        cell: float32, shape `[B, U]`. Initial cell state.
        kernel: float, shape `[P + H, 4 * U]`.
        bias: float, shape `[4 * U]`.
        projection: float, shape `[U, H]`. If `None`, there is no projection and `H = U`.
        options: dict with `cell_clip` and `projection_clip`, float or `None` for no clipping, and
            `compute_dtype`, the dtype of the matrix multiplications.
        training: bool. Whether to store the gates of every step for the gradient. If False, the
            gradient is the same, but computing it runs the loop again. Defaults to `False`.
        distinct: tuple `(vectors, which)`, float32 `[D, P]` and int32 `[T, B]`, with
            `inputs = tf.gather(vectors, which)` at steps that are not masked. If given, each of
            these vectors is multiplied by the kernel once. The gradient is passed to `inputs`, not
            to `vectors`.

    Returns:
        Tuple `(outputs, hidden, cell)`, all float32: the hidden state of each step, `[T, B, H]`,
        and the states after the last step, `[B, H]` and `[B, U]`.

    Reference: Sak, Senior and Beaufays, 2014, "Long Short-Term Memory Based Recurrent
    Neural Network Architectures for Large Scale Acoustic Modeling"; bilm-tf, for the clipping.
    """
    weights = [kernel, bias] + ([] if projection is None else [projection])
    weights = [tf.convert_to_tensor(weight) for weight in weights]

    arguments = inputs, mask, distinct, hidden, cell, weights
    if is_portable():
        return _forward(*arguments, options, keep=False)[:3]
    if training or tf.executing_eagerly():
        return _with_gradient(*arguments, options, training)
    sizes = tuple(tuple(weight.shape) for weight in weights)
    return _traced(tuple(options.items()), inputs.shape[-1], sizes)(*arguments)


@functools.cache
def _traced(options, *sizes):
    """Returns a `tf.function` that all layers with these options and sizes share in a graph.

    This makes the graph of an exported ELMo five times smaller.
    """
    del sizes

    def compute(*arguments):
        return _with_gradient(*arguments, dict(options), training=False)

    return tf.function(compute, reduce_retracing=True, autograph=False)


def _with_gradient(inputs, mask, distinct, hidden, cell, weights, options, training):
    @tf.custom_gradient
    def run(inputs, hidden, cell, *weights):
        arguments = inputs, mask, distinct, hidden, cell, weights, options
        outputs, last_hidden, last_cell, tape = _forward(*arguments, keep=training)

        def gradient(*d_results):
            kept = tape if training else _forward(*arguments, keep=True)[-1]
            return _backward(inputs, mask, weights, options, kept, *d_results)

        return (outputs, last_hidden, last_cell), gradient

    return run(inputs, hidden, cell, *weights)


def _forward(inputs, mask, distinct, hidden, cell, weights, options, keep):
    kernel, bias, projection = _unpack(weights, options)
    num_steps = tf.shape(inputs)[0]
    dtype = options["compute_dtype"]
    from_inputs = _from_inputs(inputs, distinct, kernel[: inputs.shape[-1]], bias, dtype)
    recurrent = kernel[inputs.shape[-1] :]  # [H, W]

    if is_portable():
        return _in_tensors(from_inputs, mask, hidden, cell, recurrent, projection, options)

    def step(t, hidden, cell, outputs, tape):
        z = from_inputs[t] + matmul(hidden, recurrent, dtype)  # [B, W]
        i, f, g, o, raw, new_cell, squashed = _gates(z, cell, options["cell_clip"])
        exposed = o * squashed  # [B, U]
        projected = exposed if projection is None else matmul(exposed, projection, dtype)
        new_hidden = _clip(projected, options["projection_clip"])  # [B, H]
        saved = (hidden, cell, i, f, g, o, raw, squashed, exposed, projected) if keep else ()
        tape = tuple(array.write(t, value) for array, value in zip(tape, saved, strict=True))
        outputs = outputs.write(t, new_hidden)
        if mask is not None:
            new_hidden = _where(mask[t], new_hidden, hidden)
            new_cell = _where(mask[t], new_cell, cell)
        return t + 1, new_hidden, new_cell, outputs, tape

    def array():
        # The gradient reads some arrays twice, so they are not cleared.
        return tf.TensorArray("float32", num_steps, clear_after_read=False)

    _, hidden, cell, outputs, tape = tf.while_loop(
        lambda t, *_: t < num_steps,
        step,
        (0, hidden, cell, array(), tuple(array() for _ in range(10 if keep else 0))),
    )
    outputs = tf.ensure_shape(outputs.stack(), [*inputs.shape[:2], hidden.shape[-1]])
    if mask is not None:
        flat = tf.reshape(outputs, [-1, hidden.shape[-1]])  # [T*B, H]
        outputs = tf.reshape(_where(mask, flat, tf.zeros_like(flat)), tf.shape(outputs))
    return outputs, hidden, cell, tape


def _in_tensors(from_inputs, mask, hidden, cell, recurrent, projection, options):
    """Computes `_forward` with operations that ONNX Runtime and LiteRT support.

    Returns the outputs, the final hidden and cell states, and an empty tuple, because the values
    for the gradient are not stored.
    """
    num_steps = tf.shape(from_inputs)[0]
    if mask is None:
        mask = tf.ones([*tf.unstack(tf.shape(from_inputs)[:2]), 1])
    padding = [[0, whole_blocks(num_steps) - num_steps], [0, 0], [0, 0]]

    def step(state, from_input, real):
        hidden, cell = state
        z = from_input + matmul(hidden, recurrent, options["compute_dtype"])  # [B, W]
        *_, o, _, new_cell, squashed = _gates(z, cell, options["cell_clip"])
        new_hidden = o * squashed  # [B, U]
        if projection is not None:
            new_hidden = matmul(new_hidden, projection, options["compute_dtype"])
        new_hidden = _clip(new_hidden, options["projection_clip"]) * real  # [B, H]
        state = new_hidden + (1.0 - real) * hidden, real * new_cell + (1.0 - real) * cell
        return state, (new_hidden,)

    inputs = [tf.pad(from_inputs, padding), tf.pad(mask, padding)]
    spec = tf.TensorSpec([None, hidden.shape[-1]])
    (hidden, cell), (outputs,) = recur(step, (hidden, cell), inputs, [spec])
    return outputs[:num_steps], hidden, cell, ()


def _from_inputs(inputs, distinct, kernel, bias, dtype):
    """Returns the inputs of all steps times the kernel, plus the bias, `[T, B, W]`."""
    if distinct is not None:
        vectors, which = distinct
        terms = tf.nn.bias_add(matmul(vectors, kernel, dtype), bias)  # [D, W]
        return tf.gather(terms, which)
    num_steps, batch, dim = tf.unstack(tf.shape(inputs))
    terms = matmul(tf.reshape(inputs, [-1, dim]), kernel, dtype)  # [T*B, W]
    terms = tf.nn.bias_add(terms, bias)
    return tf.reshape(terms, [num_steps, batch, kernel.shape[1]])


def _backward(inputs, mask, weights, options, tape, d_outputs, d_hidden, d_cell):
    kernel, _, projection = _unpack(weights, options)
    num_steps = tf.shape(inputs)[0]
    dtype = options["compute_dtype"]
    recurrent = kernel[inputs.shape[-1] :]  # [H, W]
    width = weights[0].shape[1]  # 4U
    extra = kernel.shape[1] - width
    unused = [tf.zeros([tf.shape(d_cell)[0], extra])] if extra else []

    def step(t, d_hidden, d_cell, d_gates, d_projected):
        hidden, cell, i, f, g, o, raw, squashed, exposed, projected = (
            array.read(t) for array in tape
        )
        real = 1.0 if mask is None else mask[t]  # [B, 1]
        d_h = (d_hidden + d_outputs[t]) * real * _inside(projected, options["projection_clip"])
        d_m = d_h if projection is None else matmul(d_h, projection, dtype, True)  # [B, U]
        d_c = (d_cell * real + d_m * o * (1.0 - squashed * squashed)) * _inside(
            raw, options["cell_clip"]
        )
        d_z = tf.concat(
            [
                d_c * g * i * (1.0 - i),
                d_c * cell * f * (1.0 - f),
                d_c * i * (1.0 - g * g),
                d_m * squashed * o * (1.0 - o),
                *unused,
            ],
            axis=1,
        )  # [B, W]
        new_d_hidden = matmul(d_z, recurrent, dtype, True)
        new_d_cell = d_c * f
        if mask is not None:
            new_d_hidden += d_hidden * (1.0 - real)
            new_d_cell += d_cell * (1.0 - real)
        return t - 1, new_d_hidden, new_d_cell, d_gates.write(t, d_z), d_projected.write(t, d_h)

    empty = tf.TensorArray("float32", num_steps), tf.TensorArray("float32", num_steps)
    _, d_hidden, d_cell, d_gates, d_projected = tf.while_loop(
        lambda t, *_: t >= 0, step, (num_steps - 1, d_hidden, d_cell, *empty)
    )
    d_gates = d_gates.concat()  # [T*B, W]
    flat = tf.reshape(inputs, [-1, inputs.shape[-1]])  # [T*B, P]
    into = tf.concat([flat, tape[0].concat()], axis=1)  # [T*B, P+H]
    gradients = [
        tf.reshape(matmul(d_gates, kernel[: inputs.shape[-1]], dtype, True), tf.shape(inputs)),
        d_hidden,
        d_cell,
        matmul(tf.transpose(into), d_gates, dtype)[:, :width],
        tf.reduce_sum(d_gates, axis=0)[:width],
    ]
    if projection is not None:
        exposed = tape[8].concat()  # [T*B, U]
        gradients.append(matmul(tf.transpose(exposed), d_projected.concat(), dtype))
    sources = [inputs, d_hidden, d_cell, *weights]
    return [tf.cast(d, source.dtype) for d, source in zip(gradients, sources, strict=True)]


def _unpack(weights, options):
    """Returns the kernel, bias and projection, cast to the dtypes that all steps use.

    The kernel and the bias are `W` columns wide, of which those after the first `4U` are zero; see
    `widened`.
    """
    dtype = options["compute_dtype"]
    kernel, bias, *rest = weights
    projection = tf.cast(rest[0], dtype) if rest else None
    kernel, bias = widened(tf.cast(kernel, dtype)), tf.cast(bias, "float32")
    return kernel, tf.pad(bias, [[0, kernel.shape[1] - bias.shape[0]]]), projection


def _gates(z, cell, cell_clip):
    units = cell.shape[1]  # tf.split is slower: it waits for one thread per part
    i, f, g, o = (z[:, n * units : (n + 1) * units] for n in range(4))  # [B, U] each
    i = tf.sigmoid(i)
    f = tf.sigmoid(f + 1.0)
    g = tf.tanh(g)
    o = tf.sigmoid(o)
    raw = f * cell + i * g
    new_cell = _clip(raw, cell_clip)
    return i, f, g, o, raw, new_cell, tf.tanh(new_cell)


def _where(mask, x, y):
    """Returns the rows of `x` where the mask is 1, and of `y` elsewhere; `tf.where` is slower."""
    return tf.raw_ops.Select(condition=tf.reshape(mask, [-1]) > 0, x=x, y=y)


def _clip(x, bound):
    return x if bound is None else tf.clip_by_value(x, -bound, bound)


def _inside(x, bound):
    """Returns 1 where `|x| <= bound`, so that clipping passes the gradient on, else 0."""
    return 1.0 if bound is None else tf.cast(tf.abs(x) <= bound, "float32")
