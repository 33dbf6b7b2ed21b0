"""Compares `tfreps annotate` with `tfreps tag`, `classify` and `embed` in speed and answers.

    .venv-beam/bin/python -m benchmarks.annotate --text demo/corpus/train*.txt \\
        --tagger demo/tagger --bilm demo/run --classifier runs/reviews

Every program reads the same corpus and runs to its end, so the seconds include its start. The
programs take turns, and the fastest turn of each counts. The distances are the largest differences
between the numbers of both answers; for a tagger and a classifier, the first 10,000 texts are
compared with `tfreps.load(RUN)`, since the programs round what they write. The environment must
have the extra `beam`.
"""

import json
import os
import pathlib
import tempfile

import numpy as np

from benchmarks.annotate_runs import read_lines, read_schema, run_tfreps, write_corpus
from benchmarks.rows import program_parser

COMPARED = 10_000
# Program and its arguments, and the outputs that `annotate` writes.
TASKS = {
    "tagger": ("tag {run} {text} --format json --output {out}", "tokens tags confidences spans"),
    "classifier": ("classify {run} {text} --format json --output {out}", "label probabilities"),
    "bilm": ("embed {run} {text} --layers top --output {out}", "{top}"),
}


def main(argv=None):
    options = make_parser().parse_args(argv)
    print("| model, program | seconds | tokens/s | of the program | distance |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        text = folder / "corpus.txt"
        distinct = write_corpus(text, options.text, options.sentences)
        for task in TASKS:
            if run := getattr(options, task):
                measure(task, run, text, folder, options)
    print(
        f"\n{options.sentences:,} sentences, {min(distinct, options.sentences):,} of them distinct"
    )
    return 0


def make_parser():
    parser = program_parser("benchmarks.annotate", __doc__)
    add = parser.add_argument
    about = "Files with one tokenized sentence per line."
    add("--text", nargs="+", metavar="FILE", required=True, help=about)
    for task in TASKS:
        add(f"--{task}", metavar="RUN", help=f"Run folder of a {task}.")
    about = "Number of sentences. Defaults to 100,000."
    add("--sentences", type=int, default=100_000, help=about)
    about = "Numbers of worker processes. Defaults to 1 and 2."
    add("--workers", type=int, nargs="+", default=[1, 2], help=about)
    add("--turns", type=int, default=2, help="Number of runs of each program. Defaults to 2.")
    add("--folder", metavar="DIR", help="Where to write. Defaults to the temporary folder.")
    return parser


def measure(task, run, text, folder, options):
    """Prints the rows of a model."""
    log, export = folder / "log.txt", folder / f"{task}-export"
    program, outputs = TASKS[task]
    run_tfreps(["export", run, "--to", export], log)
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
    print_rows(task, {name: min(s) for name, s in seconds.items()}, run, text, folder)


def print_rows(task, seconds, run, text, folder):
    workers = [name for name in seconds if name != "program"]
    outputs = {number: folder / f"{task}-{number}" for number in workers}
    tokens = read_schema(outputs[workers[0]])["tokens"]
    program = TASKS[task][0].split()[0]
    rate = tokens / seconds["program"]
    print(f"| {task}, `tfreps {program}` | {seconds['program']:.1f} | {rate:,.0f} | 1 | |")
    for number, output in outputs.items():
        rate, share = tokens / seconds[number], seconds["program"] / seconds[number]
        apart = DISTANCES[task](run, text, folder / f"{task}.out", output)
        print(
            f"| {task}, `tfreps annotate --workers {number}` | {seconds[number]:.1f} | "
            f"{rate:,.0f} | {share:.2f} | {apart:.1e} |",
            flush=True,
        )


def num_lstm_layers(run):
    """Returns the number of LSTM layers of a run of a biLM, or None for other runs."""
    from tfreps import load

    bilm = getattr(load(run), "bilm", None)
    return bilm and bilm.num_layers


def first_texts(text, number=COMPARED):
    lines = pathlib.Path(text).read_text(encoding="utf-8").splitlines()
    return lines[:number]


def answers_by_text(output):
    """Returns a dict from each text to the record that `tfreps annotate` wrote."""
    return {record["text"]: record for record in map(json.loads, read_lines(output))}


def tag_distance(run, text, out, output):
    """Returns the largest difference of confidences; raises ValueError if a tag is different."""
    from tfreps import load

    texts, found = first_texts(text), answers_by_text(output)
    model, apart = load(run), 0.0
    for line, answer in zip(texts, model.tag(model.tokenize(texts)), strict=True):
        if found[line]["tags"] != list(answer.tags):
            raise ValueError(f"The tags of both programs differ for {line!r}.")
        apart = max(apart, difference(found[line]["confidences"], answer.confidences))
    return apart


def label_distance(run, text, out, output):
    """Returns the largest difference of probabilities; raises ValueError if a label is other."""
    from tfreps import load

    texts, found = first_texts(text), answers_by_text(output)
    model, apart = load(run), 0.0
    for line, answer in zip(texts, model.classify(model.tokenize(texts)), strict=True):
        if found[line]["label"] != answer.label:
            raise ValueError(f"The labels of both programs differ for {line!r}.")
        shares = [answer.probabilities[name] for name in model.names]
        apart = max(apart, difference(found[line]["probabilities"], shares))
    return apart


def vector_distance(run, text, out, output):
    """Returns the largest difference between the vectors of the HDF5 file and the Parquet files."""
    import h5py
    import pyarrow.parquet

    apart = 0.0
    with h5py.File(out) as file:
        numbers = json.loads(file["sentence_to_index"][0])
        for path in sorted(pathlib.Path(output).glob("answers-*.parquet")):
            for batch in pyarrow.parquet.ParquetFile(path).iter_batches(256):
                texts, vectors = batch.column(0).to_pylist(), batch.column(1).to_pylist()
                for line, found in zip(texts, vectors, strict=True):
                    apart = max(apart, difference(file[numbers[line]], found))
    return apart


def difference(a, b):
    return float(np.max(np.abs(np.asarray(a, "float64") - np.asarray(b, "float64")), initial=0.0))


DISTANCES = {"tagger": tag_distance, "classifier": label_distance, "bilm": vector_distance}


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    raise SystemExit(main())
