"""Measures the memory of `tfreps annotate`, kills a worker, and gives it damaged records.

    .venv-beam/bin/python -m benchmarks.annotate_faults demo/exports/tagger \\
        --text demo/corpus/train*.txt

Each part prints one line. "killed" kills a worker process in the middle of a run, and compares the
sorted bytes of the output with those of an undisturbed run. "rejected" replaces one sentence in a
hundred by one that cannot be read. "memory" annotates short lines with a small untrained
tagger, and prints the largest resident memory of all processes in each quarter of the run. The
environment must have the extra `beam`.
"""

import contextlib
import os
import pathlib
import random
import signal
import tempfile
import time

from benchmarks.annotate_runs import (
    read_lines,
    read_schema,
    run_tfreps,
    start_tfreps,
    write_corpus,
)
from benchmarks.processes import processes_of, resident_mb
from benchmarks.runner import parse
from benchmarks.small_tagger import write_tagger

BROKEN = [b"not UTF-8 \xff", b"x " * 150_000, b"a NUL \0 character"]


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.annotate_faults",
        __doc__,
        export={"help": "Folder of an exported model that reads text."},
        text=(..., "Files with one sentence per line.", {"nargs": "+"}),
        sentences=(100_000, "Number of sentences."),
        lines=(10_000_000, "Number of short lines of the memory test."),
        workers=(2, "Number of worker processes."),
        folder=(None, "Where to write. Defaults to the temporary folder.", {"metavar": "DIR"}),
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        write_corpus(folder / "corpus.txt", options.text, options.sentences)
        killed(folder, options)
        rejected(folder, options)
        memory(folder, options)
    return 0


def annotate(export, folder, text, output, workers):
    """Returns the arguments of `tfreps annotate`."""
    words = ["annotate", export, folder / text, "--output", folder / output]
    return [*words, "--workers", workers, "--threads", 1]


def killed(folder, options):
    """Kills a worker after half of the seconds that an undisturbed run takes."""
    words = annotate(options.export, folder, "corpus.txt", "undisturbed", options.workers)
    seconds = run_tfreps(words, folder / "log.txt")
    words = annotate(options.export, folder, "corpus.txt", "killed", options.workers)
    with start_tfreps(words, folder / "log.txt") as process:
        time.sleep(seconds / 2)
        while process.poll() is None and not workers_of(process.pid):
            time.sleep(0.1)
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
    check_exit(process)
    same = read_lines(folder / "killed") == read_lines(folder / "undisturbed")
    again = "attempt 2 succeeded" in (folder / "log.txt").read_text(encoding="utf-8")
    print(
        f"killed: a worker after {seconds / 2:.0f} s; attempts {2 if again else 1}; "
        f"{read_schema(folder / 'killed')['annotated']:,} records; sorted bytes "
        f"{'equal' if same else 'DIFFERENT'}",
        flush=True,
    )


def check_exit(process):
    if process.returncode:
        raise SystemExit(f"The run ended with exit code {process.returncode}.")


def workers_of(pid):
    """Returns the ids of the worker processes of a run."""
    found = []
    for process in processes_of(pid):
        with contextlib.suppress(OSError):  # raised if the process has ended
            command = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            if b"tfreps.serving.annotation.local_worker" in command:
                found.append(process)
    return found


def rejected(folder, options):
    """Prints how many of some damaged records `tfreps annotate` annotated and rejected."""
    lines = (folder / "corpus.txt").read_bytes().splitlines()
    places = random.Random(0).sample(range(len(lines)), len(lines) // 100)
    for number, place in enumerate(places):
        lines[place] = BROKEN[number % len(BROKEN)]
    (folder / "broken.txt").write_bytes(b"\n".join(lines) + b"\n")
    words = annotate(options.export, folder, "broken.txt", "rejected", options.workers)
    run_tfreps(words, folder / "log.txt")
    schema = read_schema(folder / "rejected")
    print(
        f"rejected: {schema['annotated']:,} annotated, {schema['rejected']:,} rejected of "
        f"{len(lines):,}, {len(places):,} of them broken; "
        f"{len(read_lines(folder / 'rejected', 'rejected')):,} reasons written",
        flush=True,
    )


def memory(folder, options):
    """Prints the largest resident memory in each quarter of a run."""
    export = write_tagger(folder / "small", units=8, tags=["O", "B-PLACE", "I-PLACE"])
    words = "a river old bank near station three days rain".split()
    shuffled = random.Random(0)
    with open(folder / "short.txt", "w", encoding="utf-8") as file:
        for _ in range(options.lines):
            file.write(f"{shuffled.choice(words)} {shuffled.choice(words)}\n")
    start, sizes = time.perf_counter(), []
    words = annotate(export, folder, "short.txt", "short", options.workers)
    with start_tfreps([*words, "--outputs", "tags"], folder / "log.txt") as process:
        while process.poll() is None:
            sizes.append(sum(map(resident_mb, processes_of(process.pid))))
            time.sleep(1)
    check_exit(process)
    seconds, annotated = time.perf_counter() - start, read_schema(folder / "short")["annotated"]
    quarters = [
        max(sizes[len(sizes) * n // 4 : len(sizes) * (n + 1) // 4] or [0]) for n in range(4)
    ]
    print(
        f"memory: {annotated:,} lines in {seconds:.0f} s; largest resident memory in each quarter: "
        + ", ".join(f"{size:.0f}" for size in quarters)
        + " MB",
        flush=True,
    )


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    raise SystemExit(main())
