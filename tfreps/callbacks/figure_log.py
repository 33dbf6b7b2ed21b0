"""FigureLog: event files, history.jsonl and a progress line, for all logs of training."""

import json
import math
import sys

import keras
import tensorflow as tf

from tfreps.files.atomic_files import write_text
from tfreps.files.disk_errors import naming

SECONDS_BETWEEN_LINES = 0.5


class FigureLog(keras.callbacks.Callback):
    """Writes figures of the runs `train` and `validation`; how and when is the subclass's.

    Args:
        folder: pathlib.Path. Where the event files and `history.jsonl` go.
        checkpoints: `Checkpoints`, for the number of the step.
    """

    def __init__(self, folder, checkpoints):
        super().__init__()
        self.folder, self.checkpoints = folder, checkpoints
        self.history_path = folder / "history.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self.writers = {
            name: tf.summary.create_file_writer(str(folder / name))
            for name in ("train", "validation")
        }

    def write(self, run, step, figures):
        """Scalars for TensorBoard."""
        with self.writers[run].as_default():
            for name, value in figures.items():
                tf.summary.scalar(name, value, step)

    def append(self, figures):
        """A line of the history."""
        path = self.history_path
        with naming(path), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")

    def say(self, text, final=False, progress=False):
        """A line on stderr, over the one before where that was not final.

        Args:
            text: str.
            final: bool. Whether the line stays.
            progress: bool. Whether the line is for people only who look on.
        """
        if sys.stderr.isatty():
            end = "\n" if final else ""
            print(f"\r\033[K{text}", end=end, file=sys.stderr, flush=True)
        elif not progress:
            print(text, file=sys.stderr, flush=True)

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
        kept = [line for line in whole if json.loads(line)["step"] <= self.checkpoints.step]
        write_text(self.history_path, "".join(kept))


def check_finite(logs, step, figures=("loss", "perplexity")):
    """Ends a run that has diverged, before a checkpoint or a model of it is saved."""
    for name, value in logs.items():
        if name.endswith(figures) and not name.startswith("val_") and not math.isfinite(value):
            raise ValueError(
                f"Training has diverged: at step {step} the {name.replace('_', ' ')} is {value}. "
                "Begin a new run with a lower --learning-rate."
            )


def clock(seconds):
    """Seconds as `1:02:03`."""
    hours, rest = divmod(int(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
