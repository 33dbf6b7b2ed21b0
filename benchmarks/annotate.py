"""Compares `tfreps annotate` with `tfreps tag`, `classify` and `embed` in speed and outputs.

    .venv-beam/bin/python -m benchmarks.annotate --text demo/corpus/train*.txt \\
        --tagger demo/tagger --bilm demo/run --classifier runs/reviews

Every program reads the same corpus and runs to its end, so the seconds include its start. The
programs take turns, and the fastest turn of each counts. The distances are the largest differences
between the numbers of both outputs; for a tagger and a classifier, the first 10,000 texts are
compared with `tfreps.load(RUN)`, since the programs round what they write. The environment must
have the extra `beam`.
"""

import json
import os
import pathlib
import tempfile

import numpy as np

from benchmarks.annotate_runs import read_lines, read_schema, run_tfreps, write_corpus
from benchmarks.runner import parse, print_machine, print_table

COMPARED = 10_000
# Kind of model -> command that applies the model in one process, and the outputs that `annotate`
# writes.
TASKS = {
    "tagger": (
        "tag {run} {text} --output-format json --output {out}",
        "tokens tags confidences spans",
    ),
    "classifier": (
        "classify {run} {text} --output-format json --output {out}",
        "label probabilities",
    ),
    "bilm": ("embed {run} {text} --layers top --output {out}", "{top}"),
}


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.annotate",
        __doc__,
        text=(..., "Files with one tokenized sentence per line.", {"nargs": "+"}),
        **{task: (None, f"Run folder of a {task}.", {"metavar": "RUN"}) for task in TASKS},
        sentences=(100_000, "Number of sentences."),
        workers=([1, 2], "Numbers of worker processes."),
        turns=(2, "Number of runs of each program."),
        folder=(None, "Where to write. Defaults to the temporary folder.", {"metavar": "DIR"}),
    )
    print_machine()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        text = folder / "corpus.txt"
        distinct = write_corpus(text, options.text, options.sentences)
        runs = [(task, getattr(options, task)) for task in TASKS if getattr(options, task)]
        rows = (row for task, run in runs for row in measure(task, run, text, folder, options))
        print_table("model, program | seconds | tokens/s | of the program | distance", rows)
    print(
        f"\n{options.sentences:,} sentences, {min(distinct, options.sentences):,} of them distinct"
    )
    return 0


def measure(task, run, text, folder, options):
    """Yields the rows of the table for one model: one for each program."""
    log, export = folder / "log.txt", folder / f"{task}-export"
    program, outputs = TASKS[task]
    run_tfreps(["export", run, "--output", export], log)
    outputs = outputs.format(top=f"lstm_outputs{num_lstm_layers(run)}").split()
    commands = {"program": program.format(run=run, text=text, out=folder / f"{task}.out").split()}
    for workers in options.workers:
        words = ["annotate", export, text, "--outputs", *outputs, "--workers", workers]
        words += ["--output-format", "parquet" if task == "bilm" else "jsonl"]
        commands[workers] = [*words, "--output", folder / f"{task}-{workers}"]
    seconds = {name: [] for name in commands}
    for _ in range(options.turns):
        for name, words in commands.items():
            again = ["--overwrite"] if seconds[name] else []
            seconds[name].append(run_tfreps(words + again, log))
    fastest = {name: min(found) for name, found in seconds.items()}
    tokens = read_schema(folder / f"{task}-{options.workers[0]}")["tokens"]
    for name, found in fastest.items():
        cells = f"{found:.1f}", f"{tokens / found:,.0f}", f"{fastest['program'] / found:.2f}"
        if name == "program":
            yield f"{task}, `tfreps {program.split()[0]}`", *cells, "-"
        else:
            apart = DISTANCES[task](run, text, folder / f"{task}.out", folder / f"{task}-{name}")
            yield f"{task}, `tfreps annotate --workers {name}`", *cells, f"{apart:.1e}"


def num_lstm_layers(run):
    """Returns the number of LSTM layers of a run of a biLM, or None for other runs."""
    from tfreps import load

    bilm = getattr(load(run), "bilm", None)
    return bilm and bilm.num_layers


def label_distance(run, text, out, output):
    """Returns the largest difference of probabilities; raises ValueError if tags or labels differ.

    The outputs are compared with those of `tfreps.load(RUN)`.
    """
    from tfreps import load

    texts = pathlib.Path(text).read_text(encoding="utf-8").splitlines()[:COMPARED]
    found = {record["text"]: record for record in map(json.loads, read_lines(output))}
    model, apart = load(run), 0.0
    for line, output in zip(texts, model(model.tokenize(texts)), strict=True):
        if model.is_tagger:
            expected, shares = {"tags": list(output.tags)}, {"confidences": output.confidences}
        else:
            expected = {"label": output.label}
            shares = {"probabilities": [output.probabilities[name] for name in model.names]}
        if not expected.items() <= found[line].items():
            raise ValueError(f"The outputs of both programs differ for {line!r}.")
        apart = max(apart, *(difference(found[line][name], own) for name, own in shares.items()))
    return apart


def vector_distance(run, text, out, output):
    """Returns the largest difference between the vectors of the HDF5 file and the Parquet files."""
    import h5py
    import pyarrow.parquet

    apart = 0.0
    with h5py.File(out) as file:
        numbers = json.loads(file["sentence_to_index"][0])
        for path in sorted(pathlib.Path(output).glob("annotated-*.parquet")):
            for batch in pyarrow.parquet.ParquetFile(path).iter_batches(256):
                texts, vectors = batch.column(0).to_pylist(), batch.column(1).to_pylist()
                for line, found in zip(texts, vectors, strict=True):
                    apart = max(apart, difference(file[numbers[line]], found))
    return apart


def difference(a, b):
    return float(np.max(np.abs(np.asarray(a, "float64") - np.asarray(b, "float64")), initial=0.0))


DISTANCES = {"tagger": label_distance, "classifier": label_distance, "bilm": vector_distance}


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    raise SystemExit(main())
