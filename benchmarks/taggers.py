"""Measures the tokens per second of CRF layers, and compares them with those of pytorch-crf.

    make peers
    python -m benchmarks.taggers --peer-python .venv-peers/torch/bin/python
    python -m benchmarks.taggers --only viterbi

Each row runs in its own process on random scores without padding. With `--peer-python`, the peer
runs in another process and alternates with tfreps every hundred batches, so that other load on the
machine slows both. "ratio" is the median speed of tfreps divided by that of the peer, and "to
reach" is its target. The row of one sentence of four tokens shows the overhead of a call. The peer
uses one or two threads, whichever is faster. Losses are timed with their gradients, inside a graph
in which the layer compiles the loss with XLA, as in `fit`.
"""

import statistics
import sys

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
    "viterbi-32x50x9": ("viterbi", 32, 50, 9, {"use_xla": True}, 12.0),
    "viterbi-graph-32x50x9": ("viterbi", 32, 50, 9, {"use_xla": False}, 2.0),
    "viterbi-32x100x29": ("viterbi", 32, 100, 29, {"use_xla": True}, 3.0),
    "viterbi-1x4x2": ("viterbi", 1, 4, 2, {"use_xla": True}, None),
}
PEERS = {"peer_python": "the packages of benchmarks/peers/torch.txt"}


def main(argv=None):
    return rows.run_rows(sys.modules[__name__], ROWS, argv, repeats=800, peers=PEERS)


def measure(name, repeats, peer_python=None):
    """Measures one row: medians over batches, alternating with the peer."""
    what, sentences, tokens, tags, how, goal = ROWS[name]
    make = {"loss": make_loss, "viterbi": make_viterbi}[what]
    call = make(sentences, tokens, tags, **how)
    command = None
    if peer_python:
        sizes = [str(size) for size in (sentences, tokens, tags)]
        command = [peer_python, "-m", "benchmarks.peer_crf", what, *sizes]
        command.append(str(how.get("scale", 1.0)))
    ours, theirs = in_turns(call, repeats, command)
    result = {"row": name, "tokens_per_second": sentences * tokens / statistics.median(ours)}
    if theirs:
        result["peer_tokens_per_second"] = sentences * tokens / statistics.median(theirs)
        result["ratio"] = statistics.median(theirs) / statistics.median(ours)
    return {**result, "to_reach": goal}


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


def make_viterbi(sentences, tokens, tags, use_xla):
    """Returns a function that decodes in a graph, as `predict` and exports do."""
    import tensorflow as tf

    emissions, mask, crf = random_inputs(sentences, tokens, tags)
    decode = tf.function(lambda x, mask: crf.decode(x, mask, use_xla=use_xla))
    return lambda: decode(emissions, mask)[0].numpy()


def random_inputs(sentences, tokens, tags, scale=1.0, follow_themselves=False):
    import numpy as np
    import tensorflow as tf

    from tfreps.layers import CRF

    allowed = None
    if follow_themselves:
        allowed = np.ones([tags + 2, tags + 2], bool)
        allowed[:tags, :tags] = np.eye(tags, dtype=bool)
    options = {"transition_initializer": "random_normal", "use_xla": "auto"}
    crf = CRF(tags, allowed_transitions=allowed, **options)
    emissions = scale * np.random.default_rng(0).normal(size=[sentences, tokens, tags])
    crf.build(emissions.shape)
    return tf.constant(emissions, "float32"), tf.ones([sentences, tokens], "bool"), crf


def print_table(results):
    print("\n| row | tokens/s | peer | ratio | to reach |\n|---|---|---|---|---|")
    for r in results:
        peer, ratio = r.get("peer_tokens_per_second"), r.get("ratio")
        print(
            f"| {r['row']} | {r['tokens_per_second']:,.0f} | {f'{peer:,.0f}' if peer else '-'} | "
            f"{f'{ratio:.1f}' if ratio else '-'} | {r['to_reach'] or '-'} |"
        )


if __name__ == "__main__":
    raise SystemExit(main())
