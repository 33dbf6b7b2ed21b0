"""Measures int8 products in the LSTM layers of ELMo: their speed, and what they change.

    python -m benchmarks.int8_lstm
    python -m benchmarks.int8_lstm --model demo/run --rows 128

All LSTM layers of one direction read sentences of equal length from Python's documentation, in
float32, in bfloat16 and with int8 products, which alternate. "distance" is the relative L2 distance
of the outputs of the top layer from those in float32. By default, the weights are random and have
the original's shapes; `--model` reads a trained biLM, whose distance says more.

The products are TensorFlow's `QuantizedMatMulWithBiasAndDequantize`, which oneDNN computes. The
weights have one scale per matrix, and the vectors one per product, their largest absolute value. It
depends on the other sentences of a batch, so that the same sentence has other outputs in another
batch. The layers of tfreps do not use int8 products for this reason, and because they are fast only
with weights that are constants.
"""

import statistics
from pydoc_data.topics import topics

import numpy as np
import tensorflow as tf

from benchmarks.peer_loop import seconds
from benchmarks.rows import program_parser

KERNEL_LEVELS = 127  # of int8, on either side of zero
# The vectors use only half of the levels of uint8: on CPUs without VNNI, sums of two products are
# limited to 16 bits.
LEVELS = 63  # on either side of zero
ZERO = 64  # level of zero
MOST = 255  # level of the end of the range that TensorFlow expects


def main(argv=None):
    args = parse_args(argv)
    calls, lstm, number = make_calls(args.model, args.rows, args.length)
    outputs = {name: call() for name, call in calls.items()}  # traces the functions
    times = {name: [] for name in calls}
    for _ in range(args.repeats):
        for name, call in calls.items():
            times[name].append(seconds(call))
    full = statistics.median(times["float32"])
    print(f"{lstm.num_layers} layers, {lstm.units} units, projection {lstm.projection_dim}\n")
    print("| products | tokens/s | of float32 | distance |\n|---|---|---|---|")
    for name, values in times.items():
        median = statistics.median(values)
        distance = tf.norm(outputs[name] - outputs["float32"]) / tf.norm(outputs["float32"])
        print(f"| {name} | {number / median:,.0f} | {full / median:.2f} | {float(distance):.1e} |")
    return 0


def parse_args(argv):
    parser = program_parser("benchmarks.int8_lstm", __doc__)
    parser.add_argument("--model", metavar="FOLDER", help="trained biLM. Default: random weights")
    parser.add_argument("--rows", type=int, default=32, help="sentences in a batch. Default: 32")
    parser.add_argument("--length", type=int, default=25, help="tokens of each. Default: 25")
    parser.add_argument("--repeats", type=int, default=10, help="timed calls. Default: 10")
    return parser.parse_args(argv)


def make_calls(folder, rows, length):
    """Returns a function per kind of product, the float32 layer, and the tokens of a batch."""
    import tfreps
    from tfreps.models import BiLM
    from tfreps.models.sizes import ELMO
    from tfreps.text import batch_to_ids

    bilm = tfreps.load(folder).model if folder else BiLM(**ELMO["elmo_original"])
    bilm = getattr(bilm, "bilm", bilm)  # a run folder has the pretrainer around it
    words = " ".join(topics.values()).split()
    real = length - 2  # a sentence has two boundaries besides
    ids = batch_to_ids([words[row * real : (row + 1) * real] for row in range(rows)])
    layers = bilm(ids)["layer_outputs"]  # [B, L+1, T, 2P]
    x = layers[:, 0, :, : layers.shape[-1] // 2]  # [B, T, P]
    full = copy_of(bilm.bilstm.directions[0], "float32", x)
    half = copy_of(full, "bfloat16", x)
    functions = {
        "float32": lambda x: full(x)[0][:, -1],
        "bfloat16": lambda x: half(x)[0][:, -1],
        "int8": int8_stack(full),
    }
    graphs = {name: tf.function(f, autograph=False) for name, f in functions.items()}
    return {name: lambda g=g: g(x).numpy() for name, g in graphs.items()}, full, rows * length


def copy_of(lstm, dtype, x):
    """Returns an `ElmoLSTM` with the weights of another one, in another dtype, without dropout."""
    copy = type(lstm).from_config({**lstm.get_config(), "dtype": dtype, "dropout": 0.0})
    copy(x)
    copy.set_weights(lstm.get_weights())
    return copy


def int8_stack(lstm):
    """Returns a function that runs all layers of an `ElmoLSTM`, `[B, T, P]` to `[B, T, P]`."""
    weights = lstm.get_weights()  # kernel, bias and projection of each layer

    def run(x):
        x = tf.transpose(x, [1, 0, 2])  # [T, B, P]
        for layer in range(lstm.num_layers):
            y = int8_layer(lstm, weights[3 * layer : 3 * layer + 3], x)
            x = y + x if layer > 0 and lstm.use_skip_connections else y
        return tf.transpose(x, [1, 0, 2])

    return run


def int8_layer(lstm, weights, x):
    """Computes the equations of `projected_lstm` with int8 products, for inputs `[T, B, P]`."""
    kernel, bias, projection = weights
    dim, units = lstm.projection_dim, lstm.units
    steps, batch = tf.unstack(tf.shape(x)[:2])
    from_inputs = int8_product(tf.reshape(x, [-1, dim]), kernel[:dim]) + bias  # [T*B, 4U]
    from_inputs = tf.reshape(from_inputs, [steps, batch, 4 * units])

    def step(t, hidden, cell, outputs):
        z = from_inputs[t] + int8_product(hidden, kernel[dim:])  # [B, 4U]
        i, f, g, o = (z[:, n * units : (n + 1) * units] for n in range(4))  # [B, U] each
        cell = clip(tf.sigmoid(f + 1.0) * cell + tf.sigmoid(i) * tf.tanh(g), lstm.cell_clip)
        hidden = int8_product(tf.sigmoid(o) * tf.tanh(cell), projection)  # [B, P]
        hidden = clip(hidden, lstm.projection_clip)
        return t + 1, hidden, cell, outputs.write(t, hidden)

    start = 0, tf.zeros([batch, dim]), tf.zeros([batch, units]), tf.TensorArray("float32", steps)
    return tf.while_loop(lambda t, *_: t < steps, step, start)[-1].stack()  # [T, B, P]


def int8_product(x, kernel):
    """Multiplies vectors `[N, D]`, rounded to 7 bits, by a constant matrix `[D, E]`, rounded to 8.

        levels = round(x / s) + 64                    s = max |x| / 63
        y = (levels @ round(kernel / k) - 64 * sum_rows(round(kernel / k))) * s * k

    with `k = max |kernel| / 127`.
    """
    kernel_scale = float(np.abs(kernel).max()) / KERNEL_LEVELS
    rounded = np.round(kernel / kernel_scale).astype("int8")
    scale = tf.maximum(tf.reduce_max(tf.abs(x)), 1e-9) / LEVELS
    levels = tf.cast(tf.round(x / scale) + ZERO, tf.uint8)
    sums = rounded.sum(0, dtype="int32").astype("float32") * kernel_scale  # [E]
    return tf.raw_ops.QuantizedMatMulWithBiasAndDequantize(
        a=tf.bitcast(levels, tf.quint8),
        b=tf.bitcast(tf.constant(rounded), tf.qint8),
        bias=-ZERO * scale * sums,
        min_a=0.0,
        max_a=scale * MOST,
        min_b=-KERNEL_LEVELS * kernel_scale,
        max_b=KERNEL_LEVELS * kernel_scale,
        min_freezed_output=0.0,
        max_freezed_output=0.0,
        Toutput=tf.float32,
        input_quant_mode="SCALED",
    )


def clip(x, bound):
    return x if bound is None else tf.clip_by_value(x, -bound, bound)


if __name__ == "__main__":
    raise SystemExit(main())
