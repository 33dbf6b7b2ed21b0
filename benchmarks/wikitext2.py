"""Trains a biLM on the validation text of WikiText-2 and measures it as bilm-tf does.

    python -m benchmarks.wikitext2 PATH/TO/valid.txt

The first 90% of the non-empty lines are the training text and yield the vocabulary; the other
lines are the test text. `<unk>` is replaced by `<UNK>`. The biLM is trained for six epochs with the
settings of bilm-tf. The program prints the test perplexity over the full softmax, with carried
states in 32 rows, as the geometric mean of both directions: once over full batches as in
`run_test.py` of bilm-tf (which drops the last tokens of the rows, here 13% of the predictions),
and once over all tokens. It also prints the seconds of training and their product with the speed of
benchmarks.gemm in GFLOP/s, which is comparable between machines. bilm-tf reached a perplexity of
175.4 in 319 s on two cores at 465 GFLOP/s (GEMM).
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from benchmarks.gemm import gemm
from benchmarks.runner import parse

TRAIN = (
    *("--filters", "[[1,32],[2,32],[3,64],[4,128],[5,256]]", "--num-highways", "1"),
    *("--units", "512", "--projection-dim", "128", "--dropout", "0.1", "--batch-size", "32"),
    *("--unroll-steps", "20", "--num-sampled", "2048", "--epochs", "6", "--reset-probability", "0"),
)
MEASURE = ("--carry-state", "--batch-size", "32", "--unroll-steps", "1")


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.wikitext2",
        __doc__,
        text={"help": "Validation text of WikiText-2 (valid.txt)."},
        seeds=(3, "Number of runs, each with its own seed."),
        precision=("float32", "Precision of training.", {"choices": ["float32", "bfloat16"]}),
    )
    results = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_texts(options.text, folder)
        for seed in range(1, options.seeds + 1):
            results.append(one_run(folder, seed, options.precision))
            print(json.dumps(results[-1]), flush=True)
    keys = "perplexity_as_bilm_tf_counts", "perplexity_of_all_tokens", "seconds"
    mean = {key: sum(r[key] for r in results) / len(results) for key in keys}
    print(json.dumps({"seeds": len(results), **{f"mean_{k}": round(mean[k], 2) for k in mean}}))
    return 0


def write_texts(path, folder):
    """Writes train.txt, test.txt and the vocabulary of train.txt."""
    text = pathlib.Path(path).read_text(encoding="utf-8").replace("<unk>", "<UNK>")
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    cut = len(lines) * 9 // 10
    for name, part in (("train.txt", lines[:cut]), ("test.txt", lines[cut:])):
        folder.joinpath(name).write_text("\n".join(part) + "\n", encoding="utf-8")
    run("build-vocabulary", folder / "train.txt", "--output", folder / "vocabulary.txt")


def one_run(folder, seed, precision):
    """Trains and evaluates a biLM once; times the whole training program."""
    target, rates = folder / f"run-{seed}", [gemm()]
    begin = time.monotonic()
    run(
        *("pretrain-elmo", "--train", folder / "train.txt", "--run", target, *TRAIN),
        *("--vocabulary", folder / "vocabulary.txt", "--seed", seed, "--precision", precision),
    )
    seconds = time.monotonic() - begin
    rates.append(gemm())
    run("evaluate-lm", target, "--text", folder / "test.txt", *MEASURE)
    results = json.loads((target / "results.json").read_text(encoding="utf-8"))
    measured = results["evaluation"]
    return {
        "seed": seed,
        "perplexity_as_bilm_tf_counts": round(measured["full_batches"]["perplexity"], 2),
        "perplexity_of_all_tokens": round(measured["perplexity"], 2),
        "steps": results["steps"],
        "seconds": round(seconds, 1),
        "gemm_before_after": [round(rate) for rate in rates],
        "seconds_times_gemm": round(seconds * sum(rates) / 2),
    }


def run(program, *arguments):
    command = [sys.executable, "-m", "tfreps", program, *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    raise SystemExit(main())
