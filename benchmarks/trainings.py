"""Runs each training of the tables once, in its own run folder."""

import json
import pathlib
import subprocess
import sys


def run_folder(runs, table, name):
    """Returns the run folder of a training.

    Example:
    >>> run_folder("runs", "fdu_mtl", "TextCNN, own vectors-0/baby").as_posix()
    'runs/fdu_mtl/textcnn--own-vectors-0/baby'
    """
    folder = "".join(c if c.isalnum() or c in "/_" else "-" for c in name.lower())
    return pathlib.Path(runs, table, folder)


def train_once(run, words, last="test"):
    """Returns the results of a run; trains or resumes it first unless it is finished.

    Args:
        run: `pathlib.Path` of the run folder. The output of the program is written to `RUN.log`.
        words: list of str. Arguments of the `tfreps` command, including `--run RUN` and, if the
            program can resume, `--resume`.
        last: str. Key that results.json has only after the run is finished. Defaults to `"test"`.

    Returns:
        dict. The contents of results.json.

    Raises:
        subprocess.CalledProcessError: If the program fails.
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
