"""Runs the programs that train in one process, on replicas and on workers, for tests."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import safetensors.numpy

from tests.conftest import CHECKOUT
from tests.training import bert_corpus, labeling, pretraining

# Dropout 0, because its random numbers depend on the number of replicas.
LABELING = ["--encoder", "bilstm", "--units", "8", "--embedding-dim", "6", "--dropout", "0"]
LABELING += ["--batch-size", "7", "--checkpoint-every", "5", "--learning-rate", "0.01"]
MIRRORED = """
import sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
logical = [tf.config.LogicalDeviceConfiguration()] * int(sys.argv[1])
tf.config.set_logical_device_configuration(cpu, logical)
from tfreps.__main__ import main
raise SystemExit(main(sys.argv[2:]))
"""


def tagger_line(folder, sizes=(60, 20, 10), epochs=2):
    given = labeling.write_tagged(folder, sizes=sizes)
    more = ["--scheme", "bio", "--config", "none", "--epochs", str(epochs)]
    return ["train-tagger", *given, *LABELING, *more]


def classifier_line(folder):
    given = labeling.write_labeled(folder)
    return ["train-classifier", *given, *LABELING, "--epochs", "1", "--batch-size", "33"]


def elmo_line(folder):
    line = pretraining.flags(pretraining.write_corpus(folder / "text"), "RUN", steps=20)
    line = line[: line.index("--run")] + line[line.index("--run") + 2 :]
    line[line.index("--batch-size") + 1] = "12"  # 2, 3 and 4 replicas divide it
    return [*line, "--dropout", "0", "--checkpoint-every", "5"]


def bert_line(folder):
    given = bert_corpus.files(bert_corpus.write_documents(folder))
    sizes = [*bert_corpus.SIZES, "--attention-dropout", "0"]
    sizes[sizes.index("--dropout") + 1] = "0"
    batches = ["--batch-tokens", "120", "--epochs", "1", "--checkpoint-every", "5"]
    return ["pretrain-bert", *given, *sizes, *batches, "--log-every", "5"]


LINES = {
    "train-tagger": tagger_line,
    "train-classifier": classifier_line,
    "pretrain-elmo": elmo_line,
    "pretrain-bert": bert_line,
}


def command(line, run, workers=1, replicas=1):
    """Returns the command that runs a program on workers or on logical CPU devices."""
    line = [*line, "--keep-checkpoints", "--run", str(run)]
    if workers > 1:
        start = ["launch", "--workers", str(workers), "--threads-per-worker", "1", "--"]
        return [sys.executable, "-m", "tfreps", *start, *line]
    if replicas > 1:
        line = [str(replicas), *line, "--distribute", "mirrored"]
        return [sys.executable, "-c", MIRRORED, *line]
    return [sys.executable, "-m", "tfreps", *line]


def run_program(line, run, **how):
    done = subprocess.run(command(line, run, **how), cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def killed_after(line, run, step, worker, number=signal.SIGKILL, **how):
    """Starts workers, sends a signal to one after the checkpoint of a step, and waits for the end.

    Returns:
        Tuple `(code, messages, seconds)`. `seconds` is the time from the signal to the end.
    """
    started = subprocess.Popen(
        command(line, run, **how), cwd=CHECKOUT, stderr=subprocess.PIPE, text=True
    )
    path = run / "checkpoints" / f"step-{step:08d}.safetensors"
    while not path.exists():
        assert started.poll() is None, started.stderr.read()[-3000:]
        time.sleep(0.01)
    os.kill(process_of_worker(started.pid, worker), number)
    begin = time.monotonic()
    messages = started.communicate(timeout=60)[1]
    return started.returncode, messages, time.monotonic() - begin


def process_of_worker(parent, worker):
    """Returns the process id of a worker that `tfreps launch` started, on Linux."""
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        children = file.read().split()
    for child in children:
        with open(f"/proc/{child}/environ", "rb") as file:
            found = re.search(rb'"index": (\d+)', file.read())
        if found and int(found[1]) == worker:
            return int(child)
    raise AssertionError(f"no worker {worker} among {children}")


def history(run):
    """Returns the lines of history.jsonl without the speed."""
    lines = (run / "logs" / "history.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in lines]
    return [{k: v for k, v in x.items() if "per_second" not in k} for x in lines]


def last_arrays(run):
    """Returns the arrays of the last checkpoint."""
    path = max((run / "checkpoints").glob("step-*.safetensors"))
    return safetensors.numpy.load_file(path)


def check_same_training(run, expected, rtol=1e-5):
    """Compares the logged metrics and the weights and carried states of two runs.

    Sums over replicas are added in another order, which changes float32 values by about 1e-7 in
    each step, and Adam enlarges these changes. In the two epochs of the tagger, the losses differ
    by up to 2e-7, and the weights by up to 3e-6; in a third epoch, the losses would differ by 1e-4.
    If one of two replicas weighs its gradient by 0.9, the losses of the two epochs differ by 1e-4
    or more, and the weights by up to 0.1.
    """
    found, wanted = history(run), history(expected)
    assert [line["step"] for line in found] == [line["step"] for line in wanted]
    for line, other in zip(found, wanted, strict=True):
        assert line.keys() == other.keys()
        for name, value in other.items():
            if isinstance(value, float):
                assert line[name] == pytest.approx(value, rel=rtol, abs=1e-6), name
    arrays, others = last_arrays(run), last_arrays(expected)
    assert arrays.keys() == others.keys()
    for name, array in others.items():
        if name.startswith("model/") and "seed" not in name:
            assert arrays[name] == pytest.approx(array, rel=0, abs=5e-5), name


def check_identical(run, expected):
    """Compares the last checkpoints and the history of two runs bit by bit."""
    assert history(run) == history(expected)
    arrays, others = last_arrays(run), last_arrays(expected)
    for name, array in others.items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)
