"""Measures int8 products in the LSTM layers of ELMo: their speed, and what they change.

    python -m benchmarks.int8_lstm
    python -m benchmarks.int8_lstm --model demo/run --rows 128

All LSTM layers of one direction read sentences of equal length from Python's documentation, in
float32, in bfloat16 and with int8 products, which alternate. "distance" is the relative L2 distance
of the outputs of the top layer from those in float32. By default, the weights are random and have
the original's shapes; `--model` reads a trained biLM, whose distance says more.

The scale of the vectors (benchmarks/int8_products.py) depends on the other sentences of a batch, so
that the same sentence has other outputs in another batch. The layers of tfreps do not use int8
products for this reason, and because they are fast only with weights that are constants.
"""

import statistics
from pydoc_data.topics import topics

from benchmarks.peer_loop import seconds
from benchmarks.rows import program_parser


def main(argv=None):
    import tensorflow as tf

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
    import tensorflow as tf

    import tfreps
    from benchmarks.int8_products import int8_stack
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


if __name__ == "__main__":
    raise SystemExit(main())
