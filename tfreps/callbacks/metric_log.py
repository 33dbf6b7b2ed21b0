"""MetricLog: event files, history.jsonl and a progress line, for all logs of training."""

import json
import math
import pathlib

import tensorflow as tf

from tfreps.callbacks.counted_steps import CountedSteps
from tfreps.files.atomic_files import write_text
from tfreps.files.disk_errors import naming

SECONDS_BETWEEN_LINES = 0.5


class MetricLog(CountedSteps):
    """Writes metrics of the runs `train` and `validation`; how and when is the subclass's.

    Args:
        folder: path. Where the event files and `history.jsonl` go.
        say: function that shows a line of progress to whoever looks on, called with the text and
            the keywords of `MetricLog.say`; None to show nothing.
    """

    def __init__(self, folder, say=None):
        super().__init__()
        self.folder, self.show = pathlib.Path(folder), say
        self.history_path = self.folder / "history.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.writers = {
            name: tf.summary.create_file_writer(str(self.folder / name))
            for name in ("train", "validation")
        }

    def write(self, run, step, metrics):
        """Scalars for TensorBoard."""
        with self.writers[run].as_default():
            for name, value in metrics.items():
                tf.summary.scalar(name, value, step)

    def append(self, metrics):
        """A line of the history."""
        path = self.history_path
        with naming(path), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(metrics) + "\n")

    def say(self, text, final=False, progress=False):
        """Hands a line of progress to whoever shows it.

        Args:
            text: str.
            final: bool. Whether the line stays; else the next one may be written over it.
            progress: bool. Whether the line is only for people who look on.
        """
        if self.show is not None:
            self.show(text, final=final, progress=progress)

    def flush(self):
        """Makes what was written so far visible to TensorBoard."""
        for writer in self.writers.values():
            writer.flush()

    def forget_later_steps(self):
        """Drops from the history the lines of steps that will be done again."""
        if not self.history_path.exists():
            return
        lines = self.history_path.read_text(encoding="utf-8").splitlines(keepends=True)
        whole = [line for line in lines if line.endswith("\n")]
        kept = [line for line in whole if json.loads(line)["step"] <= self.step]
        write_text(self.history_path, "".join(kept))


def check_finite(logs, step, metrics=("loss", "perplexity")):
    """Ends a run that has diverged, before a checkpoint or a model of it is saved.

    Args:
        logs: dict from the name of a metric to its value, as in `fit`.
        step: int. The number of the step, for the message.
        metrics: names, or ends of them, that have to be finite.

    Raises:
        ValueError: a metric of training is not finite.
    """
    for name, value in logs.items():
        if name.endswith(metrics) and not name.startswith("val_") and not math.isfinite(value):
            raise ValueError(
                f"Training has diverged: at step {step} the {name.replace('_', ' ')} is {value}. "
                "Begin a new run with a lower learning rate."
            )


def clock(seconds):
    """Seconds as `1:02:03`."""
    hours, rest = divmod(int(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
