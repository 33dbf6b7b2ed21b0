"""Measures the memory of `tfreps annotate`, kills a worker, and gives it damaged records.

    .venv-beam/bin/python -m benchmarks.annotate_faults demo/exports/tagger \\
        --text demo/corpus/train*.txt

Each part prints one line. "killed" kills a worker process in the middle of a run, and compares the
sorted bytes of the output with those of an undisturbed run. "rejected" replaces one sentence in a
hundred by one that cannot be answered. "memory" annotates short lines with a small untrained
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
from benchmarks.rows import program_parser

BROKEN = [b"not UTF-8 \xff", b"x " * 150_000, b"a NUL \0 character"]


def main(argv=None):
    options = make_parser().parse_args(argv)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        write_corpus(folder / "corpus.txt", options.text, options.sentences)
        killed(folder, options)
        rejected(folder, options)
        memory(folder, options)
    return 0


def make_parser():
    parser = program_parser("benchmarks.annotate_faults", __doc__)
    add = parser.add_argument
    add("export", metavar="EXPORT", help="Folder of an exported model that reads text.")
    about = "Files with one sentence per line."
    add("--text", nargs="+", metavar="FILE", required=True, help=about)
    about = "Number of sentences. Defaults to 100,000."
    add("--sentences", type=int, default=100_000, help=about)
    about = "Number of short lines of the memory test. Defaults to 10,000,000."
    add("--lines", type=int, default=10_000_000, help=about)
    add("--workers", type=int, default=2, help="Number of worker processes. Defaults to 2.")
    add("--folder", metavar="DIR", help="Where to write. Defaults to the temporary folder.")
    return parser


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
    if process.returncode:
        raise SystemExit(f"The run ended with exit code {process.returncode}.")
    same = read_lines(folder / "killed") == read_lines(folder / "undisturbed")
    again = "attempt 2 ended" in (folder / "log.txt").read_text(encoding="utf-8")
    print(
        f"killed: a worker after {seconds / 2:.0f} s; attempts {2 if again else 1}; "
        f"{read_schema(folder / 'killed')['answered']:,} records; sorted bytes "
        f"{'equal' if same else 'DIFFERENT'}",
        flush=True,
    )


def workers_of(pid):
    """Returns the ids of the worker processes of a run."""
    found = []
    for process in processes_of(pid):
        with contextlib.suppress(OSError):  # has ended
            command = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            if b"tfreps.distribute.beam.local_worker" in command:
                found.append(process)
    return found


def rejected(folder, options):
    """Prints the numbers of answered and rejected records, and of reasons."""
    lines = (folder / "corpus.txt").read_bytes().splitlines()
    places = random.Random(0).sample(range(len(lines)), len(lines) // 100)
    for number, place in enumerate(places):
        lines[place] = BROKEN[number % len(BROKEN)]
    (folder / "broken.txt").write_bytes(b"\n".join(lines) + b"\n")
    words = annotate(options.export, folder, "broken.txt", "rejected", options.workers)
    run_tfreps(words, folder / "log.txt")
    schema = read_schema(folder / "rejected")
    print(
        f"rejected: {schema['answered']:,} answered, {schema['rejected']:,} rejected of "
        f"{len(lines):,}, {len(places):,} of them broken; "
        f"{len(read_lines(folder / 'rejected', 'rejected')):,} reasons written",
        flush=True,
    )


def memory(folder, options):
    """Prints the largest resident memory in each quarter of a run."""
    export = small_tagger(folder / "small")
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
    if process.returncode:
        raise SystemExit(f"The run ended with exit code {process.returncode}.")
    seconds, answered = time.perf_counter() - start, read_schema(folder / "short")["answered"]
    quarters = [
        max(sizes[len(sizes) * n // 4 : len(sizes) * (n + 1) // 4] or [0]) for n in range(4)
    ]
    print(
        f"memory: {answered:,} lines in {seconds:.0f} s; largest resident memory in each quarter: "
        + ", ".join(f"{size:.0f}" for size in quarters)
        + " MB",
        flush=True,
    )


def small_tagger(folder):
    """Exports a small untrained tagger and returns its folder."""
    from tfreps.export import open_for_export, write_export
    from tfreps.inference import TextTagger
    from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder
    from tfreps.text import TokenIndexer

    indexer = TokenIndexer.from_sentences([["a", "river", "station"]])
    embedder = TokenEmbedder(vocabulary_size=indexer.vocabulary_size, embedding_dim=8)
    model = Tagger(BiLSTMEncoder(embedder, 8), ["O", "B-PLACE", "I-PLACE"])
    write_export(open_for_export(TextTagger(model, indexer)), folder)
    return folder


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    raise SystemExit(main())
