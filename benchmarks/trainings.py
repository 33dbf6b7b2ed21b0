"""Runs each training of the tables once, in its own run folder."""

import json
import pathlib
import subprocess
import sys


def run_folder(runs, table, name):
    """Returns the run folder of a training."""
    folder = "".join(c if c.isalnum() or c in "/_" else "-" for c in name.lower())
    return pathlib.Path(runs, table, folder)


def train_once(run, words, last="test"):
    """Returns the results of a run; trains or resumes it first unless it is finished.

    `last` is a key that results.json has only after the run is finished.
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
