"""batched: answers requests to a signature that arrive at the same time together."""

import dataclasses
import itertools

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class BatchOptions:
    """Options for merging requests.

    Args:
        max_rows: most rows (sentences) of a batch; 0 or 1 merges nothing.
        timeout_ms: how long a batch waits for more, when a thread is free to run it. At 0 requests
            meet only while they wait for those before them, so that a lone one loses no time.
        threads: batches that run at the same time.
        max_queued: batches that may wait; beyond it requests get UNAVAILABLE.
    """

    max_rows: int = 64
    timeout_ms: float = 0.0
    threads: int = 1
    max_queued: int = 1_000


NUMBERS = itertools.count()


def batched(call, signature, options: BatchOptions):
    """A function like `call` that merges what several threads ask it at the same time.

    TensorFlow's own batch operation does the work. It finds its queue by a name, which is therefore
    another one for each function.

    Args:
        call: a signature of a loaded SavedModel: keyword arguments to a dict of tensors.
        signature: its `Signature`; `signature.batches` holds.
        options: see `BatchOptions`.

    Returns:
        function of the same keyword arguments, with the same answer; of at most
        `options.max_rows` rows a call. It raises what any of the merged requests raises.
    """
    takes = list(signature.inputs)
    gives = list(signature.outputs)

    @tf.nondifferentiable_batch_function(
        options.threads,
        options.max_rows,
        int(options.timeout_ms * 1_000),
        max_enqueued_batches=options.max_queued,
        autograph=False,
    )
    def together(*inputs):
        answer = call(**dict(zip(takes, inputs, strict=True)))
        return [answer[name] for name in gives]

    @tf.function(autograph=False)
    def ask(*inputs):
        with tf.name_scope(f"tfreps_queue_{number}"):
            return together(*inputs)

    number = next(NUMBERS)
    compiled = ask.get_concrete_function(*[signature.inputs[name] for name in takes])
    return lambda **inputs: dict(
        zip(gives, compiled(*[inputs[name] for name in takes]), strict=True)
    )
