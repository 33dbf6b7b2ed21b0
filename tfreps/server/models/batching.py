"""batched: merges concurrent requests to a signature into batches."""

import dataclasses
import itertools

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class BatchOptions:
    """Options for merging requests into batches.

    Args:
        max_rows: int. Maximum number of rows in a batch, where each text is a row. If 0 or 1,
            requests are not merged. Defaults to 64.
        timeout_ms: float. Milliseconds that a batch waits for more requests when a thread is free
            to run it. If 0, only requests that wait for a thread are merged, so that a single
            request is not delayed. Defaults to 0.0.
        threads: int. Maximum number of batches that run concurrently. Defaults to 1.
        max_queued: int. Maximum number of waiting batches. Further requests are rejected with
            UNAVAILABLE. Defaults to 1,000.

    Example:
    >>> BatchOptions(max_rows=16).timeout_ms
    0.0
    """

    max_rows: int = 64
    timeout_ms: float = 0.0
    threads: int = 1
    max_queued: int = 1_000


NUMBERS = itertools.count()


def batched(call, signature, options: BatchOptions):
    """Returns a function like `call` that merges concurrent calls from several threads.

    The function uses TensorFlow's batch operation, which identifies queues by name. The queue of
    each function therefore has a unique name.

    Args:
        call: Signature of a loaded SavedModel: a function that takes keyword arguments and returns
            a dict of tensors.
        signature: The `Signature` of `call`, whose `batches` must be `True`.
        options: `BatchOptions`.

    Returns:
        A function with the same arguments and results as `call`, which accepts at most
        `options.max_rows` rows per call. If a batch fails, all calls that were merged into it raise
        the error.
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
