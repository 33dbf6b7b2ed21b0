"""choose_precision: the precision that suits a machine, a model and a batch."""

from typing import NamedTuple

import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice
from tfreps._src.layers.ops.cpu_instructions import bfloat16_instructions

# Precision of matrix multiplications -> dtype policy of Keras, under which weights stay in float32.
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
# Data type -> lowest compute capability of GPUs that multiply fast in it, the best type first.
OF_GPUS = {"bfloat16": (8, 0), "float16": (7, 0)}
# Kind of model -> pairs of the lowest batch size and the lowest width of the model for which
# bfloat16 was faster on an AMD EPYC with AVX512_BF16 instructions (`python -m
# benchmarks.precision`): a training step at least 1.15 times as fast as in float32 in one of the
# measured models, and slower in none. Kinds without pairs do few matrix multiplications.
OF_AVX512 = {
    "elmo": ((128, 256), (2, 1024)),
    "bert": ((32, 256), (2, 384)),
    "bilstm": ((32, 200),),
    "slstm": ((32, 100), (10, 200)),
    "transformer": ((32, 200),),
    "cnn": ((32, 50),),
    "bigru": (),  # not measured
    "embeddings": (),
    "linear": (),
}
# Instruction set of the CPU -> such pairs for each kind of model. On an Intel Xeon with AMX, a
# tagger with a Transformer was slower in bfloat16. No Arm CPU was measured.
OF_CPUS = {
    "AVX512_BF16": OF_AVX512,
    "AMX_BF16": {**OF_AVX512, "transformer": ()},
    "BF16": OF_AVX512,
}


class Precision(NamedTuple):
    """Precision of matrix multiplications, and the reason for it.

    Args:
        name: str. `"float32"`, `"bfloat16"` or `"float16"`.
        reason: str. Why this precision was chosen, as a clause.
    """

    name: str
    reason: str

    @property
    def policy(self) -> str:
        """Dtype policy of Keras, such as `"mixed_bfloat16"`."""
        return POLICIES[self.name]


def choose_precision(
    kind: str, batch_size: int, hidden_dim: int | None = None, float16: bool = False
) -> Precision:
    """Chooses the precision in which this machine trains a model fastest.

    The choice depends only on the machine, the arguments and, on a CPU, the environment variables
    `TF_ENABLE_ONEDNN_OPTS` and `ONEDNN_MAX_CPU_ISA`, which can disable bfloat16 instructions:

    - On a GPU, it is bfloat16 if the compute capability is at least 8.0, float16 if it is at least
      7.0 and `float16` is `True`, and otherwise float32. The oldest of several GPUs counts.
    - On a CPU with native bfloat16 instructions, it is bfloat16 if training such models on such
      batches was measured to be faster in bfloat16, and otherwise float32. Arm CPUs were not
      measured; they follow the measurements with AVX512_BF16 instructions.
    - On any other CPU, and on every CPU of a system other than Linux, it is float32.

    Args:
        kind: str. Kind of model: `"elmo"`, `"bert"`, or the encoder of a tagger or classifier, such
            as `"bilstm"`.
        batch_size: int. Number of sentences or texts in a batch.
        hidden_dim: int. Width of the states, hidden vectors or filters. If `None` (the default),
            the model counts as wide.
        float16: bool. Whether float16 is allowed. Its gradients can underflow, unless the optimizer
            scales the loss. Defaults to `False`.

    Returns:
        `Precision`, with the attributes `name`, `reason` and `policy`.

    Raises:
        ValueError: If the kind is unknown.

    Example:
    >>> import tfreps
    >>> choice = tfreps.choose_precision("bert", batch_size=1)
    >>> choice.name in ("bfloat16", "float32"), choice.policy in ("mixed_bfloat16", "float32")
    (True, True)
    """
    check_choice(OF_AVX512, kind=kind)
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        return _of_gpus(min(map(_capability, gpus)), float16)
    instructions = bfloat16_instructions()
    if instructions is None:
        return Precision("float32", "this CPU has no native bfloat16 instructions")
    hidden_dim = float("inf") if hidden_dim is None else hidden_dim
    if any(batch_size >= rows and hidden_dim >= dim for rows, dim in OF_CPUS[instructions][kind]):
        return Precision("bfloat16", f"this CPU has {instructions} instructions")
    return Precision("float32", "bfloat16 is not known to be faster for this model and batch size")


def bfloat16_is_slow() -> bool:
    """Returns True if models compute on a CPU that has no native bfloat16 instructions."""
    return not tf.config.list_physical_devices("GPU") and bfloat16_instructions() is None


def _of_gpus(capability, float16):
    """Returns the `Precision` for GPUs of the compute capability `(major, minor)`."""
    reason = "the compute capability of the GPU is {}.{}".format(*capability)
    for name, least in OF_GPUS.items():
        if capability >= least and (name != "float16" or float16):
            return Precision(name, reason)
    return Precision("float32", reason)


def _capability(gpu):
    details = tf.config.experimental.get_device_details(gpu)
    return tuple(details.get("compute_capability") or (0, 0))
