"""The option --precision, and the type for which its value auto stands on this machine."""

from tfreps.cli import distribute_options
from tfreps.cli.messages import say_precision, say_slow_bfloat16
from tfreps.cli.options import Option
from tfreps.distribute.workers import Workers
from tfreps.models.precision import Precision, bfloat16_is_slow, choose_precision

AUTO = "auto"
OPTION = Option(
    str, AUTO, "Data type of matrix products; weights stay float32. With auto, it is the type in "
    "which this machine trains such a model fastest; the run folder stores that type.",
    [AUTO, "bfloat16", "float32"],
)  # fmt: skip
WITH_FLOAT16 = OPTION._replace(choices=[*OPTION.choices, "float16"])


def settle(options, earlier, kind, rows, width=None, float16=False):
    """Replaces the value auto of `options.precision`, and prints the choice and its reason.

    A resumed run keeps its precision. Workers on machines that differ train in float32. For
    bfloat16 on a CPU without such products, a warning is printed.

    Args:
        options: namespace of all options of the program.
        earlier: `tfreps.runs.run_folder.RunFolder` to resume. If `None`, the run is new.
        kind: str. Kind of model, as in `tfreps.choose_precision`.
        rows: int. Number of rows in a batch, over all replicas.
        width: int. Width of the model. If `None` (the default), the model counts as wide.
        float16: bool. Whether the program offers float16. Defaults to `False`.
    """
    if options.precision == AUTO and earlier is not None:
        options.precision = earlier.options.get("precision", AUTO)
    if options.precision == AUTO:
        strategy = distribute_options.opened(options)
        rows = -(-rows // strategy.num_replicas_in_sync)
        choice = common(Workers(strategy), choose_precision(kind, rows, width, float16))
        options.precision = choice.name
        say_precision(choice)
    elif options.precision == "bfloat16" and bfloat16_is_slow():
        say_slow_bfloat16()


def common(workers, choice):
    """Returns the choice of all workers, or float32 if their choices differ.

    Args:
        workers: `tfreps.distribute.workers.Workers`.
        choice: `Precision` that this worker has chosen.
    """
    names = {name for name, _ in workers.gather(choice)}
    if len(names) == 1:
        return choice
    return Precision("float32", "the machines of the workers differ")
