"""Measures the tokens per second of CRF layers, and compares them with those of pytorch-crf.

    make peers
    python -m benchmarks.taggers --peer-python .venv-peers/torch/bin/python
    python -m benchmarks.taggers --only viterbi

Each row runs in its own process on random scores without padding. With `--peer-python`, the peer
runs in another process and alternates with tfreps every hundred batches, so that other load on the
machine slows both. "ratio" is the median speed of tfreps divided by that of the peer, and "to
reach" is its target. The row of one sentence of four tokens shows the overhead of a call. The peer
uses one or two threads, whichever is faster. Losses are timed with their gradients, inside a graph
in which the layer compiles the loss with XLA, as in `fit`. Viterbi rows time eager calls of
`CRF.decode`, as the peer is called, or calls of a `tf.function` of the user that decodes.

The row "stream" decodes 200 batches of sentences of many lengths, and "seconds" contains all
compilations.
"""

import statistics
import sys
import time

from benchmarks import rows
from benchmarks.in_turns import in_turns

# name: (task, sentences, tokens, tags, options, target ratio to the peer)
ROWS = {
    "crf-loss-32x50x9": ("loss", 32, 50, 9, {}, 9.0),
    "crf-loss-32x100x29": ("loss", 32, 100, 29, {}, 9.0),
    "crf-loss-log-space-32x100x29": (
        "loss",
        32,
        100,
        29,
        {"scale": 60.0, "follow_themselves": True},
        1.8,
    ),
    "viterbi-32x50x9": ("viterbi", 32, 50, 9, {"jit_compile": True}, None),
    "viterbi-function-32x50x9": ("viterbi", 32, 50, 9, {"jit_compile": True, "graph": True}, None),
    "viterbi-graph-32x50x9": ("viterbi", 32, 50, 9, {"jit_compile": False, "graph": True}, 2.0),
    "viterbi-plain-32x50x9": ("viterbi", 32, 50, 9, {"jit_compile": False}, None),
    "viterbi-32x100x29": ("viterbi", 32, 100, 29, {"jit_compile": True}, None),
    "viterbi-1x4x2": ("viterbi", 1, 4, 2, {"jit_compile": True}, None),
    "stream": ("stream", 32, 120, 9, {"jit_compile": True}, None),
    "stream-function": ("stream", 32, 120, 9, {"jit_compile": True, "graph": True}, None),
}
STREAM = 200  # batches
PEERS = {"peer_python": "the packages of benchmarks/peers/torch.txt"}


def main(argv=None):
    return rows.run_rows(sys.modules[__name__], ROWS, argv, repeats=800, peers=PEERS)


def measure(name, repeats, peer_python=None):
    """Measures one row: medians over batches, alternating with the peer, if there is one."""
    what, *sizes, how, goal = ROWS[name]
    if what == "stream":
        return {"row": name, **stream(*sizes, **how)}
    make = {"loss": make_loss, "viterbi": make_viterbi}[what]
    call = make(*sizes, **how)
    command = None
    if peer_python:
        command = [peer_python, "-m", "benchmarks.peer_crf", what, *map(str, sizes)]
        command.append(str(how.get("scale", 1.0)))
    ours, theirs = in_turns(call, repeats, command)
    tokens = sizes[0] * sizes[1]
    result = {"row": name, "tokens_per_second": tokens / statistics.median(ours), "to_reach": goal}
    if theirs:
        result["peer_tokens_per_second"] = tokens / statistics.median(theirs)
        result["ratio"] = statistics.median(theirs) / statistics.median(ours)
    return result


def make_loss(sentences, tokens, tags, scale=1.0, follow_themselves=False):
    """Returns a function that computes the loss and its gradient.

    With `follow_themselves`, each tag may be followed only by the same tag.
    """
    import tensorflow as tf

    emissions, mask, crf = random_inputs(sentences, tokens, tags, scale, follow_themselves)
    gold = tf.zeros([sentences, tokens], "int32")

    @tf.function
    def step(emissions):
        with tf.GradientTape() as tape:
            tape.watch(emissions)
            loss = crf.loss(emissions, gold, mask)
        return tape.gradient(loss, [emissions, *(w.value for w in crf.trainable_variables)])

    return lambda: step(emissions)[0].numpy()


def make_viterbi(sentences, tokens, tags, jit_compile, graph=False):
    """Returns a function that decodes, eagerly or in a graph, as `predict` and exports do."""
    emissions, mask, crf = random_inputs(sentences, tokens, tags)
    decode = make_decode(crf, jit_compile, graph)
    return lambda: decode(emissions, mask)[0].numpy()


def make_decode(crf, jit_compile, graph):
    import tensorflow as tf

    def decode(emissions, mask):
        return crf.decode(emissions, mask, jit_compile=jit_compile)

    return tf.function(decode, reduce_retracing=True) if graph else decode


def stream(sentences, longest, tags, jit_compile, graph=False):
    """Measures the seconds to decode batches of many shapes, including all compilations."""
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    _, _, crf = random_inputs(1, 1, tags)
    decode = make_decode(crf, jit_compile, graph)
    times, shapes = [], set()
    for number in range(STREAM):
        rows = sentences if number % 10 else sentences // 2 + 1
        lengths = np.clip(rng.lognormal(3.0, 0.6, rows).astype(int), 1, longest)
        mask = np.arange(lengths.max()) < lengths[:, None]  # [B, T]
        given = tf.constant(rng.normal(size=[*mask.shape, tags]), "float32"), tf.constant(mask)
        start = time.perf_counter()
        decode(*given)[0].numpy()
        times.append(time.perf_counter() - start)
        shapes.add(mask.shape)
    slow = sum(seconds > 0.1 for seconds in times)
    return {"seconds": sum(times), "num_shapes": len(shapes), "calls_over_0.1_s": slow}


def random_inputs(sentences, tokens, tags, scale=1.0, follow_themselves=False):
    import numpy as np
    import tensorflow as tf

    from tfreps.layers import CRF

    allowed = None
    if follow_themselves:
        allowed = np.ones([tags + 2, tags + 2], bool)
        allowed[:tags, :tags] = np.eye(tags, dtype=bool)
    options = {"transition_initializer": "random_normal", "jit_compile": "auto"}
    crf = CRF(tags, allowed_transitions=allowed, **options)
    emissions = scale * np.random.default_rng(0).normal(size=[sentences, tokens, tags])
    crf.build(emissions.shape)
    return tf.constant(emissions, "float32"), tf.ones([sentences, tokens], "bool"), crf


def print_results(results):
    table = []
    for r in results:
        if "seconds" in r:
            print(
                f"{r['row']}: {r['seconds']:.1f} s for {STREAM} batches of {r['num_shapes']} "
                f"shapes; {r['calls_over_0.1_s']} calls took more than 0.1 s"
            )
            continue
        peer, ratio = "-", "-"
        if "ratio" in r:
            peer, ratio = f"{r['peer_tokens_per_second']:,.0f}", f"{r['ratio']:.1f}"
        goal = r["to_reach"] or "-"
        table.append([r["row"], f"{r['tokens_per_second']:,.0f}", peer, ratio, goal])
    if table:
        rows.print_table("row | tokens/s | peer | ratio | to reach", table)


if __name__ == "__main__":
    raise SystemExit(main())
