"""Fills the tables of training/RESULTS.md: trains every row with every seed, then prints the table.

    python -m benchmarks.tables resume_ner --data PATH/TO/data --runs runs/tables
    python -m benchmarks.tables resume_ner --data PATH/TO/data --runs runs/tables --only S-LSTM

Each training is a `tfreps` command in a run folder of its own, printed before it starts. A row that
was finished before is read from its results.json, and one that was killed goes on where it stood:
run the same command again.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

NER = (
    "train-tagger --train {data}/resume_ner/train.char.bmes --dev {data}/resume_ner/dev.char.bmes "
    "--test {data}/resume_ner/test.char.bmes --scheme bmes --tokens characters --constrain decode "
    "--seed {seed} --run {run} --resume "
)
HMM = (
    "train-hmm --train {data}/resume_ner/train.char.bmes --dev {data}/resume_ner/dev.char.bmes "
    "--test {data}/resume_ner/test.char.bmes --scheme bmes --tokens characters --run {run} "
)
HOTEL = (
    "train-classifier --train {data}/hotel_reviews/train_sentiment.txt "
    "--test {data}/hotel_reviews/test_sentiment.txt --format json --tokens characters "
    "--max-length 400 --seed {seed} --run {run} --resume "
)
# Table: name of a row -> (command, seeds).
TABLES = {
    "resume_ner": {
        "HMM, zero counts as 1e-10": (HMM + "--floor 1e-10 --unknown uniform", 1),
        "HMM, add-k tuned on dev": (HMM, 1),
        "CRF on character features": (NER + "--encoder window --learning-rate 0.01", 3),
        "BiLSTM": (NER + "--encoder bilstm --softmax", 3),
        "BiLSTM+CRF": (NER + "--encoder bilstm", 3),
        "S-LSTM": (NER + "--encoder slstm --units 300 --softmax", 3),
        "S-LSTM+CRF": (NER + "--encoder slstm --units 300", 3),
    },
    "hotel_reviews": {
        "TextCNN": (HOTEL + "--encoder cnn", 3),
        "S-LSTM": (HOTEL + "--encoder slstm --units 150 --num-steps 7", 3),
    },
}
# Table: heading of a column -> where its figure stands in results.json.
COLUMNS = {
    "resume_ner": {
        "token P": ("test", "weighted", "precision"),
        "token R": ("test", "weighted", "recall"),
        "token F1": ("test", "weighted", "f1"),
        "entity F1": ("test", "spans", "micro", "f1"),
    },
    "hotel_reviews": {"accuracy": ("test", "accuracy"), "AUC": ("test", "auc")},
}


def main(argv=None):
    options = make_parser().parse_args(argv)
    rows = TABLES[options.table]
    results = {}
    for name, (command, seeds) in rows.items():
        if options.only in name:
            results[name] = [
                train(options, name, command, seed) for seed in range(min(seeds, options.seeds))
            ]
            print(table_row(name, results[name], options.table), flush=True)
    print("\n" + "\n".join(table(results, options.table)))
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--data", required=True, help="folder with the data sets")
    parser.add_argument("--runs", required=True, help="folder for the run folders")
    parser.add_argument("--only", default="", metavar="PART", help="rows whose name holds this")
    parser.add_argument("--seeds", type=int, default=3, help="at most (3)")
    return parser


def train(options, name, command, seed):
    """results.json of one row and seed; trains first unless it is there."""
    folder = "".join(c if c.isalnum() else "-" for c in name.lower())
    run = pathlib.Path(options.runs, options.table, f"{folder}-{seed}")
    finished = run / "results.json"
    if not finished.exists() or "test" not in json.loads(finished.read_text()):
        run.parent.mkdir(parents=True, exist_ok=True)
        words = command.format(data=options.data, run=run, seed=seed).split()
        print("tfreps " + " ".join(words), flush=True)
        with open(f"{run}.log", "a", encoding="utf-8") as log:
            subprocess.run(
                [sys.executable, "-m", "tfreps", *words], stderr=log, stdout=log, check=True
            )
    return json.loads(finished.read_text())


def table(results, name):
    """The lines of a Markdown table: mean, and where there are several seeds the spread."""
    yield f"| | {' | '.join(COLUMNS[name])} | seeds |"
    yield "|---|" + "---|" * (len(COLUMNS[name]) + 1)
    for row, runs in results.items():
        yield table_row(row, runs, name)


def table_row(row, runs, name):
    cells = [row, *(figure(runs, path) for path in COLUMNS[name].values()), str(len(runs))]
    return f"| {' | '.join(cells)} |"


def figure(runs, path):
    """Mean over the runs, and half the distance between the best and the worst."""
    values = []
    for results in runs:
        for key in path:
            results = results[key]
        values.append(results)
    spread = f" ± {(max(values) - min(values)) / 2:.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.4f}{spread}"


if __name__ == "__main__":
    raise SystemExit(main())
