"""MetricLog: event files, history.jsonl and a progress line, for all training logs."""

import json
import math
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from tfreps._src.callbacks.counted_steps import CountedSteps
from tfreps._src.callbacks.step_logs import Logs
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.disk_errors import naming

SECONDS_BETWEEN_LINES = 0.5
# Type of a function that is called as print_fn(text, final=bool, progress=bool).
PrintFn = Callable[..., object]


class MetricLog(CountedSteps):
    """Base class for callbacks that write the metrics of the runs `train` and `validation`.

    Args:
        folder: str or path-like. Folder for the event files and `history.jsonl`.
        print_fn: Callable that shows a line of progress, called as
            `print_fn(text, final=bool, progress=bool)`. The next line may replace a line that is
            not `final`, and a line with `progress` is of interest only while training runs. If
            `None` (the default), nothing is shown.
    """

    def __init__(self, folder: str | os.PathLike[str], print_fn: PrintFn | None = None) -> None:
        super().__init__()
        self.folder: pathlib.Path = pathlib.Path(folder)
        self._print_fn = print_fn
        self._history_path = self.folder / "history.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._writers = {
            name: tf.summary.create_file_writer(str(self.folder / name))
            for name in ("train", "validation")
        }

    def _evaluate(self, dataset: "tf.data.Dataset[Any]") -> dict[str, float]:
        """Returns the metrics of the model on a dataset; `fit_epochs` replaces this method."""
        return self.model.evaluate(dataset, verbose=0, return_dict=True)

    def _learning_rate(self) -> float:
        """Returns the current learning rate of the optimizer as a float."""
        return float(tf.convert_to_tensor(self.model.optimizer.learning_rate))

    def _write(self, run: str, step: int, metrics: Logs) -> None:
        """Writes metrics to the event files of TensorBoard.

        `run` is `"train"` or `"validation"`.
        """
        with self._writers[run].as_default():
            for name, value in metrics.items():
                tf.summary.scalar(name, value, step)

    def _append(self, metrics: Mapping[str, Any]) -> None:
        """Appends the metrics as a line to `history.jsonl`."""
        path = self._history_path
        with naming(path), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(metrics) + "\n")

    def _say(self, text: str, final: bool = False, progress: bool = False) -> None:
        """Shows a line of progress with `print_fn`; does nothing if there is no `print_fn`."""
        if self._print_fn is not None:
            self._print_fn(text, final=final, progress=progress)

    def _flush(self) -> None:
        """Flushes the event files, so that TensorBoard can read them."""
        for writer in self._writers.values():
            writer.flush()

    def _forget_later_steps(self) -> None:
        """Removes from `history.jsonl` the lines of steps after the current one.

        An incomplete last line is removed as well.
        """
        if not self._history_path.exists():
            return
        lines = self._history_path.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        kept = [line for line in whole if json.loads(line)["step"] <= self.step]
        write_text(self._history_path, "".join(kept))


def check_finite(logs: Logs, step: int) -> None:
    """Raises ValueError if a training loss or perplexity in `logs` is NaN or infinite.

    Validation metrics are not checked. Callbacks call this function before they write metrics or
    save a checkpoint or model.
    """
    for name, value in logs.items():
        is_checked = name.endswith(("loss", "perplexity"))
        if is_checked and not name.startswith("val_") and not math.isfinite(value):
            raise ValueError(
                f"Training has diverged: at step {step} the {name.replace('_', ' ')} is {value}. "
                "Start a new run with a lower learning rate."
            )


def clock(seconds: float) -> str:
    """Returns a number of seconds as text: `"1:02:03"`, or `"2:03"` if below one hour."""
    hours, rest = divmod(int(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
