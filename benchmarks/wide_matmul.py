"""Measures the recurrent multiplication of ELMo's LSTM in several forms.

    python -m benchmarks.wide_matmul
    ONEDNN_MAX_CPU_ISA=AVX2 python -m benchmarks.wide_matmul --rows 128

At each step, the original ELMo multiplies the hidden states of all sentences, `[rows, 512]`, by a
float32 kernel `[512, 16384]` of 33.5 MB. The forms alternate. "GFLOP/s" is from the median time.
The first line shows how long it takes to read the kernel, as the time of its largest element, and
to multiply at the speed of a 2048 x 2048 product (benchmarks/gemm.py): a product that reads before
it computes takes their sum.
"""

import statistics

from benchmarks.runner import alternately, parse, print_machine, print_results, spread

INNER, COLUMNS = 512, 16384
ZEROS = 32  # columns that `widened` of tfreps appends to a kernel
PARTS = 4, 8, 16


def main(argv=None):
    import tensorflow as tf

    from benchmarks.gemm import gemm

    options = parse(
        argv,
        "benchmarks.wide_matmul",
        __doc__,
        rows=(32, "Number of rows."),
        repeats=(30, "Number of timed calls of each form."),
    )
    print_machine()
    rng = tf.random.Generator.from_seed(1)
    x, kernel = rng.normal([options.rows, INNER]), rng.normal([INNER, COLUMNS])
    largest = tf.function(tf.reduce_max)
    forms = {name: make(x, kernel) for name, make in make_forms().items()}
    calls = {"read": lambda: largest(kernel).numpy(), **forms}
    times = alternately(calls, options.repeats, turns=options.repeats)
    medians = {name: statistics.median(found) for name, found in times.items()}
    flop = 2 * options.rows * INNER * COLUMNS
    print(
        f"{options.rows} rows: read {1000 * medians.pop('read'):.2f} ms, "
        f"multiply {flop / gemm() / 1e6:.2f} ms"
    )
    print_results(
        {"form": name, "ms": 1000 * t, "spread": spread(times[name]), "GFLOP/s": flop / t / 1e9}
        for name, t in medians.items()
    )
    return 0


def make_forms():
    """Returns a dict of functions of `x` and `kernel`, which return a function to time."""
    import tensorflow as tf

    def plain(x, kernel):
        return timed(tf.matmul, x, kernel)

    def wide(x, kernel):
        return timed(tf.matmul, x, tf.pad(kernel, [[0, 0], [0, ZEROS]]))

    def constant(x, kernel):
        values = tf.pad(kernel, [[0, 0], [0, ZEROS]]).numpy()
        return timed(lambda x: x @ tf.constant(values), x)

    def inner_product(x, kernel):  # with a bias, TensorFlow calls oneDNN's inner product
        values = tf.pad(kernel, [[0, 0], [0, ZEROS]]).numpy()
        return timed(lambda x: tf.nn.bias_add(x @ tf.constant(values), values[0]), x)

    def batch(x, kernel):  # TensorFlow calls oneDNN's batched matrix multiplication
        return timed(tf.matmul, x[None], tf.pad(kernel, [[0, 0], [0, ZEROS]])[None])

    def transposed(x, kernel):
        return timed(tf.matmul, tf.transpose(kernel), tf.transpose(x))

    def parts(number):
        def run(x, kernel):
            return timed(lambda x, *ks: [x @ k for k in ks], x, *tf.split(kernel, number, axis=1))

        return run

    return {
        "kernel": plain,
        f"with {ZEROS} columns of zeros": wide,
        "the same, constant": constant,
        "the same, constant, with a bias": inner_product,
        "with zeros, as a batch of one matrix": batch,
        "transposed kernel times transposed rows": transposed,
        **{f"{number} narrower kernels": parts(number) for number in PARTS},
    }


def timed(function, *arguments):
    """Returns a function that computes `function(*arguments)` in a graph, and waits for it."""
    import tensorflow as tf

    graph = tf.function(function, autograph=False)

    def call():
        for result in tf.nest.flatten(graph(*arguments)):
            result[0, 0].numpy() if result.shape.rank == 2 else result[0, 0, 0].numpy()

    return call


if __name__ == "__main__":
    raise SystemExit(main())
