"""Runs `tfreps` programs on a corpus, and reads the output of `tfreps annotate`."""

import itertools
import json
import pathlib
import subprocess
import sys
import time


def write_corpus(path, files, number):
    """Writes `number` sentences of text files, one per line; returns how many the files have.

    If the files have too few, they are repeated. A repeated sentence has the number of the
    repetition as its first token.
    """
    lines = []
    for file in files:
        text = pathlib.Path(file).read_text(encoding="utf-8")
        lines += [line for line in text.splitlines() if line.strip()]
    first = itertools.chain([""], (f"{n} " for n in itertools.count(1)))
    repeated = (again + line for again in first for line in lines)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in itertools.islice(repeated, number))
    return len(lines)


def run_tfreps(words, log):
    """Runs a `tfreps` program to its end, appends its output to `log`, and returns the seconds."""
    start = time.perf_counter()
    with start_tfreps(words, log) as process:
        pass
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, ["tfreps", *words])
    return time.perf_counter() - start


def start_tfreps(words, log):
    """Starts a `tfreps` program, and returns its process."""
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"tfreps {' '.join(map(str, words))}\n")
        file.flush()
        command = [sys.executable, "-m", "tfreps", *map(str, words)]
        return subprocess.Popen(command, stdout=file, stderr=file)


def read_schema(output):
    """Returns schema.json of an output folder of `tfreps annotate`."""
    return json.loads(pathlib.Path(output, "schema.json").read_text(encoding="utf-8"))


def read_lines(output, part="annotated"):
    """Returns the sorted lines of the JSON lines of an output folder, as bytes."""
    files = sorted(pathlib.Path(output).glob(f"{part}-*.jsonl"))
    return sorted(line for file in files for line in file.read_bytes().splitlines())
