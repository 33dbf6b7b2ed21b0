"""Trainings of the tables: each a `tfreps` command in a run folder of its own, done once."""

import json
import pathlib
import subprocess
import sys


def run_folder(runs, table, name):
    """Where the training of that name is.

    Example:
    >>> run_folder("runs", "fdu_mtl", "TextCNN, own vectors-0/baby").as_posix()
    'runs/fdu_mtl/textcnn--own-vectors-0/baby'
    """
    folder = "".join(c if c.isalnum() or c in "/_" else "-" for c in name.lower())
    return pathlib.Path(runs, table, folder)


def train_once(run, words, last="test"):
    """results.json of a run; trains first, or trains on, unless it is finished.

    Args:
        run: path of the run folder; what the program says goes to `RUN.log`.
        words: the `tfreps` command, which has `--run RUN` and `--resume` in it.
        last: str, what is in results.json at the end alone.
    """
    finished = pathlib.Path(run, "results.json")
    if not finished.exists() or last not in json.loads(finished.read_text()):
        run.parent.mkdir(parents=True, exist_ok=True)
        print("tfreps " + " ".join(words), flush=True)
        with open(f"{run}.log", "a", encoding="utf-8") as log:
            subprocess.run(
                [sys.executable, "-m", "tfreps", *words], stderr=log, stdout=log, check=True
            )
    return json.loads(finished.read_text())
