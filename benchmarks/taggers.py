"""Measures the tokens per second of CRF layers, and compares them with those of other libraries.

    make peers
    python -m benchmarks.taggers --peer-python .venv-peers/torch/bin/python
    python -m benchmarks.taggers --only graph

Each row runs in its own process on random scores without padding. With `--peer-python`, DeLFT and
pytorch-crf run in other processes and alternate with tfreps every hundred batches, so that other
load on the machine slows all of them; all use two threads. The number in brackets is the median
speed of tfreps divided by that of the library; "tokens/s" is from the calls that alternate with
pytorch-crf. The rows of one sentence of four tokens show the
overhead of a call.

    loss            the loss and its gradient in a graph; the layer compiles them with XLA, also in
                    `fit`, if `jit_compile` is "auto"
    loss-graph      the same without XLA, as in `fit` by default
    viterbi         an eager call of `CRF.decode`, as the libraries are called
    viterbi-graph   a call of a `tf.function` that decodes without XLA, as exports do
    viterbi-function    the same with XLA

The row "stream" decodes 200 batches of sentences of many lengths. "Seconds" contains all
compilations, and "over 0.1 s" is the number of calls that took longer.
"""

import sys
import time

from benchmarks.runner import THREADS, Peer, run_rows

XLA, PLAIN = {"jit_compile": "auto"}, {"jit_compile": False}
GRAPH = {"jit_compile": False, "graph": True}
FOLLOW = {"jit_compile": "auto", "scale": 60.0, "follow_themselves": True}
# Name of a row -> (function, sentences, tokens, tags, options).
ROWS = {
    "viterbi-graph-32x50x9": ("viterbi", 32, 50, 9, GRAPH),
    "viterbi-graph-32x100x29": ("viterbi", 32, 100, 29, GRAPH),
    "viterbi-graph-8x25x9": ("viterbi", 8, 25, 9, GRAPH),
    "viterbi-graph-1x300x44": ("viterbi", 1, 300, 44, GRAPH),
    "viterbi-graph-1x4x2": ("viterbi", 1, 4, 2, GRAPH),
    "loss-graph-32x50x9": ("loss", 32, 50, 9, PLAIN),
    "loss-graph-32x100x29": ("loss", 32, 100, 29, PLAIN),
    "loss-graph-8x25x9": ("loss", 8, 25, 9, PLAIN),
    "loss-graph-1x300x44": ("loss", 1, 300, 44, PLAIN),
    "loss-graph-1x4x2": ("loss", 1, 4, 2, PLAIN),
    "loss-32x50x9": ("loss", 32, 50, 9, XLA),
    "loss-32x100x29": ("loss", 32, 100, 29, XLA),
    "loss-log-space-32x100x29": ("loss", 32, 100, 29, FOLLOW),
    "viterbi-32x50x9": ("viterbi", 32, 50, 9, {"jit_compile": True}),
    "viterbi-function-32x50x9": ("viterbi", 32, 50, 9, {"jit_compile": True, "graph": True}),
    "viterbi-plain-32x50x9": ("viterbi", 32, 50, 9, {"jit_compile": False}),
    "viterbi-32x100x29": ("viterbi", 32, 100, 29, {"jit_compile": True}),
    "viterbi-1x4x2": ("viterbi", 1, 4, 2, {"jit_compile": True}),
    "stream": ("stream", 32, 120, 9, {"jit_compile": True}),
    "stream-function": ("stream", 32, 120, 9, {"jit_compile": True, "graph": True}),
}
STREAM = 200  # number of batches that the task `stream` computes
PYTHONS = {"peer_python": "the packages of benchmarks/peers/torch.txt"}


def main(argv=None):
    return run_rows(sys.modules[__name__], argv, repeats=800, pythons=PYTHONS)


def peers_of(*job):
    """Returns the calls of the other libraries: the task, the sizes and the scale of a row."""
    names = {"delft": "DeLFT", "pytorch-crf": "pytorch-crf"}
    return {
        title: Peer("peer_python", "crf", (library, *job, THREADS))
        for library, title in names.items()
    }


def loss(sentences, tokens, tags, how, run):
    """Computes the loss and its gradient in a graph."""
    import tensorflow as tf

    sizes = sentences, tokens, tags
    emissions, mask, crf = random_inputs(*sizes, **how)
    gold = tf.zeros([sentences, tokens], "int32")

    @tf.function
    def step(emissions):
        with tf.GradientTape() as tape:
            tape.watch(emissions)
            loss = crf.loss(emissions, gold, mask)
        return tape.gradient(loss, [emissions, *(w.value for w in crf.trainable_variables)])

    peers = peers_of("loss", *sizes, how.get("scale", 1.0))
    return run.cells(lambda: step(emissions)[0].numpy(), sentences * tokens, peers)


def viterbi(sentences, tokens, tags, how, run):
    """Decodes, eagerly or in a graph, as `predict` and exports do."""
    sizes = sentences, tokens, tags
    emissions, mask, crf = random_inputs(*sizes)
    decode, peers = make_decode(crf, **how), peers_of("viterbi", *sizes, 1.0)
    return run.cells(lambda: decode(emissions, mask)[0].numpy(), sentences * tokens, peers)


def make_decode(crf, jit_compile, graph=False):
    import tensorflow as tf

    def decode(emissions, mask):
        return crf.decode(emissions, mask, jit_compile=jit_compile)

    return tf.function(decode, reduce_retracing=True) if graph else decode


def stream(sentences, longest, tags, how, run):
    """Measures the seconds to decode batches of many shapes, including all compilations."""
    import numpy as np
    import tensorflow as tf

    rng = np.random.default_rng(0)
    _, _, crf = random_inputs(1, 1, tags)
    decode = make_decode(crf, **how)
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
    return {"batches": STREAM, "shapes": len(shapes), "seconds": sum(times), "over 0.1 s": slow}


def random_inputs(sentences, tokens, tags, scale=1.0, follow_themselves=False, jit_compile="auto"):
    """Returns random scores, their mask and a CRF.

    With `follow_themselves`, each tag may be followed only by the same tag.
    """
    import numpy as np
    import tensorflow as tf

    from tfreps.layers import CRF

    allowed = None
    if follow_themselves:
        allowed = np.ones([tags + 2, tags + 2], bool)
        allowed[:tags, :tags] = np.eye(tags, dtype=bool)
    options = {"transition_initializer": "random_normal", "jit_compile": jit_compile}
    crf = CRF(tags, allowed_transitions=allowed, **options)
    emissions = scale * np.random.default_rng(0).normal(size=[sentences, tokens, tags])
    crf.build(emissions.shape)
    return tf.constant(emissions, "float32"), tf.ones([sentences, tokens], "bool"), crf


if __name__ == "__main__":
    raise SystemExit(main())
