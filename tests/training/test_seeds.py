"""Tests --seeds: a run for each seed, the report on them, and continuing after a signal."""

import json
import shutil
import signal
import statistics

import numpy as np
import pytest

from tests.training import labeling
from tests.training.labeling import ask, refused, results
from tests.training.test_labeling_resume import KILLED
from tests.training.test_pretrain_resume import finish, start
from tfreps._src.reports.seed_reports import format_seeds, summarize_seeds
from tfreps.runs import RunFolder

SIZES = ["--encoder", "embeddings", "--embedding-dim", "4", "--epochs", "1", "--dropout", "0.3"]
SIZES += ["--characters", "none", "--learning-rate", "0.05", "--deterministic"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return labeling.write_tagged(tmp_path_factory.mktemp("seeds"), sizes=(40, 20, 20))


def train(files, run, *more):
    return ask("train-tagger", *files, "--scheme", "bio", *SIZES, "--run", run, *more)


def weights(run):
    return [weight.numpy() for weight in RunFolder.open(run).load_model().weights]


def are_equal(run, other):
    pairs = zip(weights(run), weights(other), strict=True)
    return all(np.array_equal(*pair) for pair in pairs)


@pytest.mark.slow
def test_a_run_for_each_seed(files, tmp_path, capsys):
    run = tmp_path / "run"
    out = train(files, run, "--seeds", 3, 1)
    assert out.index("Seed 3:") < out.index("Seed 1:")
    assert "2 seeds (3, 1); std is the sample standard deviation." in out
    options = RunFolder.open(run / "seed-3").options
    assert (options["seed"], options["seeds"]) == (3, None)
    found = results(run)
    assert found["seeds"] == [3, 1]
    for part in "validation", "test":
        own = [results(run / name)[part]["spans"]["micro"]["f1"] for name in ("seed-3", "seed-1")]
        f1 = found[part]["f1"]
        assert f1["values"] == own and f1["mean"] == pytest.approx(statistics.mean(own))
        assert f1["std"] == pytest.approx(statistics.stdev(own)) and f1["max"] == max(own)
    assert not are_equal(run / "seed-3", run / "seed-1")

    compared = ["compare", run, run / "seed-1", "--data", files[5], "--samples", 10]
    ask(*compared, "--output", tmp_path / "compared.json")
    method = json.loads((tmp_path / "compared.json").read_text())["runs"]["run"]
    assert method["f1"] == pytest.approx(found["test"]["f1"]["mean"], rel=1e-12)
    assert method["values"]["f1"] == pytest.approx(found["test"]["f1"]["values"], rel=1e-12)

    err = refused(capsys, "evaluate", run, "--data", files[5])
    assert f"contains runs of several seeds. Choose one of them, such as {run}/seed-3" in err
    err = refused(capsys, "train-tagger", "--run", run, "--resume", "--epochs", "2")
    assert "was started with different options: epochs" in err
    err = refused(capsys, "train-tagger", *files, "--scheme", "bio", "--run", run, "--seeds", 1, 2)
    assert "already contains a run of `tfreps train-tagger`" in err

    before = (run / "results.json").read_bytes()
    (run / "results.json").unlink()  # as if the command was killed before the report
    assert ask("train-tagger", "--run", run, "--resume").count("has ended") == 2
    assert (run / "results.json").read_bytes() == before


@pytest.mark.slow
def test_a_seed_alone_is_the_same_run(files, tmp_path):
    train(files, tmp_path / "run", "--seeds", 0, 1)
    given = [*files, "--scheme", "bio", *SIZES, "--run", str(tmp_path / "alone")]
    finish(start(("-m", "tfreps"), "train-tagger", *given, "--seed", "1"), 0)
    assert are_equal(tmp_path / "alone", tmp_path / "run" / "seed-1")
    ours, theirs = (results(x) for x in (tmp_path / "alone", tmp_path / "run" / "seed-1"))
    assert json.dumps(ours) == json.dumps(theirs)
    out = ask("train-tagger", "--run", tmp_path / "run", "--resume", "--seeds", 0, 1, 2)
    assert out.count("has ended") == 2 and len(results(tmp_path / "run")["seeds"]) == 3
    train(files, tmp_path / "run", "--seeds", 5, 6, "--overwrite")  # removes the runs of all seeds
    assert sorted(x.name for x in (tmp_path / "run").glob("seed-*")) == ["seed-5", "seed-6"]


@pytest.mark.slow
def test_stopped_and_resumed(files, tmp_path):
    whole, run = tmp_path / "whole", tmp_path / "run"
    train(files, whole, "--seeds", 0, 1)
    given = [*files, "--scheme", "bio", *SIZES, "--run", str(run), "--seeds", "0", "1"]
    stop = "-c", KILLED, "2", str(int(signal.SIGTERM))
    err = finish(start(stop, "train-tagger", *given), 143)
    assert f"Continue with: tfreps train-tagger --run {run} --resume\n" in err
    assert not (run / "seed-1").exists()
    out = ask("train-tagger", "--run", run, "--resume")
    assert "Resuming" in out and results(run) == results(whole)
    assert all(are_equal(run / name, whole / name) for name in ("seed-0", "seed-1"))


def test_mistakes(files, tmp_path, capsys):
    run = tmp_path / "run"
    given = ["train-tagger", *files, "--scheme", "bio", "--run", run]
    for more, message in (
        (["--seed", 2, "--seeds", 0, 1], "--seeds cannot be combined with --seed."),
        (["--seeds", 1], "--seeds must be two or more different numbers; got [1]."),
        (["--seeds", 1, 1], "--seeds must be two or more different numbers; got [1, 1]."),
        (["--seeds", 0, 1, "--train", "absent"], "matches no file"),
    ):
        assert message in refused(capsys, *given, *more)
        assert not run.exists()
    RunFolder.create(run, "train-tagger", {"seeds": None})
    err = refused(capsys, *given, "--resume", "--seeds", 0, 1)
    assert "was started with one seed. Omit --seeds" in err or "different options" in err
    shutil.rmtree(run)


def test_the_report_of_a_classifier():
    def measured(accuracy, **more):
        return {"accuracy": accuracy, "macro": {"f1": accuracy / 2}, **more}

    runs = [{"validation": measured(0.5, auc=0.7)}, {"validation": measured(0.7)}]
    found = summarize_seeds([{**each, "test": {}} if n else each for n, each in enumerate(runs)])
    assert list(found) == ["validation"] and list(found["validation"]) == ["accuracy", "macro_f1"]
    assert format_seeds("validation", found["validation"]).splitlines() == [
        "validation    mean     std     min     max",
        "accuracy    0.6000  0.1414  0.5000  0.7000",
        "macro F1    0.3000  0.0707  0.2500  0.3500",
    ]
