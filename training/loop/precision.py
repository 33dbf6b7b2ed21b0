"""Sets the precision in which a model is trained."""

from tfreps._src.models.precision import Precision, bfloat16_is_slow, choose_precision
from tfreps.training.workers.strategies import open_strategy
from tfreps.training.workers.workers import Workers

AUTO = "auto"


def decide(options, earlier, kind, rows, width=None, float16=False):
    """Replaces the value `"auto"` of `options.precision`, and prints the choice and its reason.

    If the best choice differs between workers, all workers train in float32. If the precision is
    set to bfloat16 and this CPU has no instructions for it, a warning is printed.

    Args:
        options: Options of the command; `options.precision` is replaced.
        earlier: Run folder of a resumed run, whose precision is used again, or `None`.
        kind: str. Kind of the model, for `choose_precision`.
        rows: int. Number of rows in a batch, over all replicas.
        width: int. Width of the model. If `None` (the default), the model counts as wide.
        float16: bool. Whether float16 may be chosen. Defaults to `False`.
    """
    if options.precision == AUTO and earlier is not None:
        options.precision = earlier.options.get("precision", AUTO)
    if options.precision == AUTO:
        strategy = open_strategy(options.distribute)
        rows = -(-rows // strategy.num_replicas_in_sync)
        choice = common(Workers(strategy), choose_precision(kind, rows, width, float16))
        options.precision = choice.name
        print(f"Precision: {choice.name} ({choice.reason}).")
    elif options.precision == "bfloat16" and bfloat16_is_slow():
        print(
            "Warning: this CPU has no native bfloat16 instructions. On a CPU with AVX2 only, "
            "bfloat16 made training 1.45 times and encoding 1.75 times slower than float32."
        )


def common(workers, choice):
    """Returns `choice` if all workers chose the same precision, otherwise a float32 `Precision`."""
    names = {name for name, _ in workers.gather(choice)}
    if len(names) == 1:
        return choice
    return Precision("float32", "the machines of the workers differ")
