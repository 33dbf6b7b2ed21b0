"""The benchmarks of speed measure every row with small models, and print it."""

import json
import os
import subprocess
import sys
import types

import pytest

from benchmarks import (
    bert,
    elmo,
    gemm,
    hmm,
    initial_state,
    lm_batches,
    machine,
    precision,
    precision_models,
    runner,
    slstm,
    startup,
    taggers,
    wide_matmul,
)
from tests.closeness import assert_close
from tfreps._src.models.sizes import BERT, ELMO
from tfreps.models import BiLM
from tfreps.text import batch_to_ids

TINY_ELMO = {"filters": [[1, 8], [2, 8]], "num_highways": 1, "units": 16, "projection_dim": 4}
TINY_BERT = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "max_sequence_length": 64}
# Benchmarks of rows, and the rows that are measured here.
ROWS = [(bert, row) for row in bert.ROWS] + [(taggers, row) for row in taggers.ROWS]
ROWS += [(elmo, "small-32x25-bfloat16"), (elmo, "train-small-128x20-float32")]
ROWS += [(slstm, "train-32x30-float32"), (slstm, "encode-32x30-bfloat16-paper")]
ROWS += [(precision, f"{row}-small") for row in ("elmo", "bert", "tagger", "classifier")]


@pytest.fixture
def small(monkeypatch):
    for name in "elmo_small", "elmo_original":
        monkeypatch.setitem(ELMO, name, TINY_ELMO)
    for name in "bert_nano", "bert_6x384":
        monkeypatch.setitem(BERT, name, TINY_BERT)
    shape = {"vocabulary_size": 30001, "hidden_dim": 4, "num_layers": 1, "num_heads": 2}
    for name in "base", "6x384":
        monkeypatch.setitem(bert.SHAPES, name, shape)
    for name, (task, size, _, *rest) in list(bert.ROWS.items()):
        monkeypatch.setitem(bert.ROWS, name, (task, size, 2, *rest))
    for name, (task, _, _, _, *rest) in list(taggers.ROWS.items()):
        monkeypatch.setitem(taggers.ROWS, name, (task, 2, 3, 4, *rest))
    for kind, how in (
        ("elmo", "elmo_small"),
        ("bert", "bert_nano"),
        ("tagger", {"encoder": "bilstm", "units": 8, "elmo": True}),
        ("classifier", {"encoder": "bert"}),
    ):
        monkeypatch.setitem(precision.ROWS, f"{kind}-small", ("step", kind, how, 3, 7))
    for module, name, value in (
        (gemm, "gemm", lambda *_, **__: 100.0),
        (elmo, "TRAIN_VOCABULARY", 300),
        (elmo, "TRAIN_NEGATIVES", 50),
        (taggers, "STREAM", 3),
        (precision_models, "VOCABULARY", 60),
        (precision_models, "NEGATIVES", 20),
        *((slstm, name, 4) for name in ("UNITS", "STEPS", "BATCH", "LENGTH")),
        (hmm, "RANDOM_SENTENCES", 30),
        *((wide_matmul, name, 64) for name in ("INNER", "COLUMNS")),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "module, row", ROWS, ids=lambda value: value if isinstance(value, str) else value.__name__[11:]
)
def test_a_row(small, module, row, capsys):
    result = runner.measure(module, row, runner.Run(2, {}))
    runner.print_results([json.loads(json.dumps(result))])
    assert f"| {row} | " in capsys.readouterr().out


def some_benchmark():
    """Returns a benchmark of rows that measures nothing."""
    return types.SimpleNamespace(
        __spec__=types.SimpleNamespace(name="benchmarks.some"),
        __doc__="Measures.",
        ROWS={"a-1": ("count", 2), "b-1": ("count", 3)},
        count=lambda factor, run: {"repeats": factor * run.repeats, **run.pythons},
    )


def test_each_row_runs_in_a_process_of_its_own(monkeypatch, capsys):
    def run(command, **_):
        commands.append(command)
        return types.SimpleNamespace(
            returncode=code, stdout='noise\n{"row": "a-1", "tokens/s": 1234.5}\n', stderr="no"
        )

    commands, code = [], 0
    options = {"repeats": 7, "pythons": {"peer_python": "a peer"}}
    argv = ["--row", "b-1", "--peer-python", "P"]
    assert runner.run_rows(some_benchmark(), argv, **options) == 0
    row = {"row": "b-1", "repeats": 21, "peer_python": "P"}
    assert json.loads(capsys.readouterr().out) == row
    monkeypatch.setattr(subprocess, "run", run)
    argv = ["--only", "a", "--repeats", "3", "--peer-python", "P"]
    assert runner.run_rows(some_benchmark(), argv, **options) == 0
    assert commands == [[sys.executable, "-m", "benchmarks.some", *argv, "--row", "a-1"]]
    lines = capsys.readouterr().out.splitlines()
    today = str(runner.datetime.date.today())
    assert lines[0].startswith(f"{today}; {runner.processor()}; {os.cpu_count()} cores; ")
    assert lines[1] == runner.shlex.join(sys.orig_argv)
    assert lines[-3::2] == ["| row | tokens/s |", "| a-1 | 1,234 |"]
    with pytest.raises(SystemExit):
        runner.run_rows(some_benchmark(), ["--only", "c"], **options)
    assert capsys.readouterr().err.endswith("selects no row. The rows are:\n  a-1\n  b-1\n")
    code = 1
    with pytest.raises(SystemExit, match="a-1 failed:\nno"):
        runner.run_rows(some_benchmark(), [], **options)


def test_gemm_is_operations_by_seconds(monkeypatch):
    monkeypatch.setattr(gemm, "SIZE", 64)
    monkeypatch.setattr(gemm, "TIMES", 3)
    times = iter([1e-3, 9e-3, 2e-3])
    monkeypatch.setattr(gemm, "seconds", lambda call: next(times))
    assert gemm.gemm(warm_up=0.0) == 2 * 64**3 / 2e-3 / 1e9


def test_the_machine_is_one_row(small, capsys):
    assert machine.main([]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(" | 100 | 100 |")


@pytest.mark.slow
def test_hmm_prints_every_row(small, monkeypatch, capsys):
    monkeypatch.setattr(os, "sched_setaffinity", lambda *_: None)
    assert hmm.main(["--repeats", "1"]) == 0
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[-3:]]
    assert [name for name, *_ in lines] == ["fit", "decode-xla", "decode-graph"]
    assert all(float(speed.replace(",", "")) > 0 for _, speed, *_ in lines)


def test_wide_matmul_print_every_form(small, capsys):
    assert wide_matmul.main(["--rows", "4", "--repeats", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()[6:]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == [*wide_matmul.make_forms()]


def report(capsys):
    """Returns the output of a program after the two lines about the machine."""
    return capsys.readouterr().out.split("\n", 2)[2]


@pytest.mark.slow
def test_lm_batches_print_their_speed(capsys):
    assert lm_batches.main(["--megabytes", "1", "--repeats", "1", "--shuffle"]) == 0
    assert json.loads(report(capsys))["tokens_per_second"] > 0


@pytest.mark.slow
def test_masked_lm_batches_print_their_speed(capsys):
    pytest.importorskip("tensorflow_text", reason="masked language modeling needs it")
    from benchmarks import masked_lm_batches

    line = ["--megabytes", "1", "--repeats", "2", "--max-length", "64"]
    assert masked_lm_batches.main(line) == 0
    assert json.loads(report(capsys))["batch_tokens_per_second"] > 0


@pytest.mark.slow
def test_the_distance_between_initial_states():
    bilm = BiLM(**TINY_ELMO, initial_state="carry")
    batches = [[["a", "b"], ["c"], ["d", "e", "f"]]] * 3
    expected = []
    for batch in batches:
        top = bilm(batch_to_ids(batch))["sequence_output"].numpy()
        expected.append([top[row, : len(sentence)] for row, sentence in enumerate(batch)])
    bilm.reset_states()
    found = initial_state.compare(bilm, batches, expected)
    assert_close(found["relative_distance"], 0.0)
    assert_close(found["mean_cosine"], 1.0)
    zero = initial_state.compare(bilm.with_initial_state("zero"), batches, expected)
    assert zero["relative_distance"] > 1e-3


def test_start_up_alternates_between_installations(monkeypatch, capsys, tmp_path):
    def run(command, **_):
        commands.append(command)
        return types.SimpleNamespace(returncode=code, stdout="4\n3\n2\n1\n", stderr="no such run")

    commands, code = [], 0
    (tmp_path / "9").mkdir()
    (tmp_path / "9" / "saved_model.pb").touch()
    monkeypatch.setattr(startup.subprocess, "run", run)
    given = ["--run", "R", "--export", str(tmp_path), "--before", "other", "--repeats", "2"]
    assert startup.main([*given, "--only", "predict"]) == 0
    assert [command[0] for command in commands] == [sys.executable, "other"] * 6
    assert (
        "| predict, in Python: first answer | 3.00 | ±0% | 3.00 | 1.00 |" in capsys.readouterr().out
    )
    code = 2
    with pytest.raises(SystemExit, match="import keras failed:\nno such run"):
        startup.main(["--only", "keras"])
