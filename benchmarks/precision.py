"""Measures how much faster bfloat16 makes a training step, by kind of model and batch.

    python -m benchmarks.precision
    python -m benchmarks.precision --only tagger --repeats 5

The models have random weights and the sizes that the training commands have by default; a name ends
with the number of rows and the tokens of each row. Each row of the table runs in its own process,
in which steps in float32 and in bfloat16 alternate, so that other load slows both. "float32" and
"bfloat16" are tokens per second (of one direction for a biLM), from the median step. "ratio" is the
second divided by the first, and "spread" is that of the steps in bfloat16; "CPU ratio" is that of
the CPU seconds of all cores, which depends less on other load. `tfreps.choose_precision` chooses
bfloat16 for a kind and size of model if both are at least 1.15 in one of its rows, and neither is
below 1 in any.
"""

import statistics
import sys
import time

from benchmarks.runner import run_rows, spread

UNTIMED = 3  # number of first steps, which trace the function and fill the caches
# Name of a row -> (kind of model, sizes or options, rows, tokens per row).
STEPS = {
    "elmo-tiny-128x20": ("elmo", "elmo_tiny", 128, 20),
    "elmo-tiny-32x20": ("elmo", "elmo_tiny", 32, 20),
    "elmo-small-128x20": ("elmo", "elmo_small", 128, 20),
    "elmo-small-32x20": ("elmo", "elmo_small", 32, 20),
    "elmo-small-1x20": ("elmo", "elmo_small", 1, 20),
    "bert-nano-32x128": ("bert", "bert_nano", 32, 128),
    "bert-mini-32x128": ("bert", "bert_mini", 32, 128),
    "bert-6x384-32x128": ("bert", "bert_6x384", 32, 128),
    "bert-6x384-1x128": ("bert", "bert_6x384", 1, 128),
    "tagger-bilstm-32x25": ("tagger", {"encoder": "bilstm"}, 32, 25),
    "tagger-bilstm-10x25": ("tagger", {"encoder": "bilstm"}, 10, 25),
    "tagger-bilstm-100-32x25": ("tagger", {"encoder": "bilstm", "units": 100}, 32, 25),
    "tagger-slstm-32x25": ("tagger", {"encoder": "slstm"}, 32, 25),
    "tagger-slstm-10x25": ("tagger", {"encoder": "slstm"}, 10, 25),
    "tagger-slstm-100-32x25": ("tagger", {"encoder": "slstm", "units": 100}, 32, 25),
    "tagger-slstm-300-10x25": ("tagger", {"encoder": "slstm", "units": 300}, 10, 25),
    "tagger-transformer-32x25": ("tagger", {"encoder": "transformer"}, 32, 25),
    "tagger-transformer-100-32x25": (
        "tagger", {"encoder": "transformer", "hidden_dim": 100}, 32, 25,
    ),
    "tagger-bert-32x25": ("tagger", {"encoder": "bert"}, 32, 25),
    "tagger-elmo-32x25": ("tagger", {"encoder": "bilstm", "elmo": True}, 32, 25),
    "tagger-elmo-tuned-32x25": (
        "tagger", {"encoder": "bilstm", "elmo": True, "elmo_fine_tune": True}, 32, 25,
    ),
    "classifier-cnn-32x64": ("classifier", {"encoder": "cnn"}, 32, 64),
    "classifier-cnn-50-32x64": ("classifier", {"encoder": "cnn", "num_filters": 50}, 32, 64),
    "classifier-cnn-8x64": ("classifier", {"encoder": "cnn"}, 8, 64),
    "classifier-bilstm-32x64": ("classifier", {"encoder": "bilstm"}, 32, 64),
    "classifier-slstm-32x64": ("classifier", {"encoder": "slstm"}, 32, 64),
    "classifier-transformer-32x64": ("classifier", {"encoder": "transformer"}, 32, 64),
    "classifier-bert-32x64": ("classifier", {"encoder": "bert"}, 32, 64),
    "classifier-bert-1x64": ("classifier", {"encoder": "bert"}, 1, 64),
}  # fmt: skip
ROWS = {name: ("step", *row) for name, row in STEPS.items()}


def main(argv=None):
    return run_rows(sys.modules[__name__], argv, repeats=12)


def step(kind, how, number, length, run):
    """Runs training steps of both precisions, which alternate."""
    from benchmarks.precision_models import training_step

    steps = [
        training_step(policy, kind, how, number, length) for policy in ("float32", "mixed_bfloat16")
    ]
    times = [[timed(step) for step in steps] for _ in range(UNTIMED + run.repeats)][UNTIMED:]
    medians = [map(statistics.median, zip(*side, strict=True)) for side in zip(*times, strict=True)]
    (full, full_cpu), (half, half_cpu) = medians
    return {
        "float32": round(number * length / full),
        "bfloat16": round(number * length / half),
        "spread": spread([seconds for _, (seconds, _) in times]),
        "ratio": round(full / half, 2),
        "CPU ratio": round(full_cpu / half_cpu, 2),
    }


def timed(step):
    """Returns the seconds of a step, and the CPU seconds of this process."""
    begin, cpu = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - begin, time.process_time() - cpu


if __name__ == "__main__":
    raise SystemExit(main())
