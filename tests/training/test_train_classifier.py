"""Tests that `tfreps train-classifier` learns a rule with every encoder and input format."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests import tiny_run
from tests.closeness import assert_close
from tests.training import labeling
from tests.training.labeling import ask, results, train_classifier
from tfreps.__main__ import main

EMBEDDINGS = ["--encoder", "embeddings", "--embedding-dim", "8"]


def accuracy(run, part="test"):
    return results(run)[part]["accuracy"]


def test_it_learns_the_rule_and_says_how_well(classifier):
    assert accuracy(classifier, "validation") >= 0.98 and accuracy(classifier) >= 0.98
    assert (classifier / "labels.txt").read_text() == "bad\ngood\n"
    assert_close(results(classifier)["best"]["accuracy"], accuracy(classifier, "validation"))
    assert results(classifier)["training"]["sentences"] == 320
    found = {path.stem for path in (classifier / "plots").iterdir()}
    assert found == {"learning_curves", "confusion"}


def test_its_figures_are_those_of_its_answers(classifier, labeled, tmp_path):
    """The metrics are those of the labels that `tfreps classify` assigns to the test texts."""
    pairs = [line.split("\t") for line in Path(labeled[5]).read_text().splitlines()]
    text = tmp_path / "test.txt"
    text.write_text("".join(text + "\n" for _, text in pairs))
    lines = ask("classify", classifier, text, "--output-format", "json").splitlines()
    answers = [json.loads(line) for line in lines]
    assert [answer["text"] for answer in answers] == [text for _, text in pairs]
    test = results(classifier)["test"]
    right = [a["label"] == label for a, (label, _) in zip(answers, pairs, strict=True)]
    assert_close(test["accuracy"], np.mean(right))
    confusion = [[0, 0], [0, 0]]
    for answer, (label, _) in zip(answers, pairs, strict=True):
        confusion[label == "good"][answer["label"] == "good"] += 1
    assert test["confusion"] == confusion
    shares = [(a["probabilities"]["good"], p[0]) for a, p in zip(answers, pairs, strict=True)]
    good = [share for share, label in shares if label == "good"]
    bad = [share for share, label in shares if label == "bad"]
    above = [(g > b) + (g == b) / 2 for g in good for b in bad]
    assert test["auc"] == pytest.approx(np.mean(above), abs=0.01)  # they are rounded
    assert test["threshold"] == results(classifier)["validation"]["threshold"]


@pytest.mark.slow
def test_a_bag_of_words_does_not_learn_it(labeled, tmp_path):
    run = train_classifier(labeled, tmp_path / "run", "--epochs", "4", sizes=EMBEDDINGS)
    assert accuracy(run) < 0.75


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        [*labeling.SMALL, "--pooling", "attention", "--set", "hidden_units=8"],
        ["--encoder", "slstm", "--units", "16", "--set", "num_steps=3", "--embedding-dim", "8"],
        ["--encoder", "linear", "--learning-rate", "0.1"],
    ],
    ids=["bilstm", "slstm", "window"],
)
def test_other_encoders_learn_it_too(labeled, tmp_path, sizes):
    flags = [*labeling.FAST, *sizes, "--epochs", "12", "--run", str(tmp_path / "run")]
    assert main(["train-classifier", *labeled, *flags]) == 0
    assert accuracy(tmp_path / "run") >= 0.95


@pytest.mark.slow
def test_a_transformer_learns_it_in_more_and_smaller_steps(labeled, tmp_path):
    flags = [*labeling.FAST, "--learning-rate", "0.003", "--epochs", "25", "--patience", "25"]
    flags += ["--encoder", "transformer", "--set", "hidden_dim=32", "num_heads=4"]
    flags += ["--embedding-dim", "16", "--pooling", "attention", "--run", str(tmp_path / "run")]
    assert main(["train-classifier", *labeled, *flags]) == 0
    assert accuracy(tmp_path / "run") >= 0.95


@pytest.mark.slow
def test_vectors_that_were_stored_before_and_a_part_held_out(tmp_path):
    """All texts are equal, so only their vectors, found by number, give the label."""
    flags = []
    for part, size in (("train", 100), ("test", 20)):
        labels = np.random.default_rng(size).integers(0, 2, size)
        (tmp_path / f"{part}.tsv").write_text("".join(f"{n}\tx y z\n" for n in labels))
        with h5py.File(tmp_path / f"{part}.hdf5", "w") as file:
            for number, label in enumerate(labels):
                file[str(number)] = np.full([3, 2], 2.0 * label - 1)  # one layer
        flags += [f"--{part}", str(tmp_path / f"{part}.tsv")]
        flags += [f"--{part}-vectors", str(tmp_path / f"{part}.hdf5")]
    more = ["--no-words", "--validation-split", "0.3", "--epochs", "5"]
    run = train_classifier(flags, tmp_path / "run", *more, sizes=EMBEDDINGS)
    assert accuracy(run, "validation") == accuracy(run) == 1.0
    found = results(run)
    assert (found["training"]["sentences"], found["validation"]["texts"]) == (70, 30)
    line = ["evaluate", run, "--data", flags[5], "--vectors", flags[7]]
    assert "accuracy 1.0000, AUC 1.0000" in ask(*line)


@pytest.mark.slow
def test_the_ingredients_of_a_recipe(labeled, tmp_path):
    """AUC as the monitor, warm-up, plateau decay, truncated texts and L2 have an effect."""
    more = ["--monitor", "val_auc", "--warmup-steps", "4", "--set", "plateau_decay=0.5", "l2=1e-4"]
    more += ["--set", "truncation_rate=0.3", "--epochs", "6", "--learning-rate", "0.04"]
    run = train_classifier(labeled, tmp_path / "run", *more, sizes=EMBEDDINGS)
    best, lines = results(run)["best"], labeling.history(run)
    found = [line["auc"] for line in lines if line["run"] == "validation"]
    # Half a pair of about 900, in case two scores differ only by rounding.
    assert best["auc"] == max(found) == pytest.approx(results(run)["validation"]["auc"], abs=6e-4)
    rates = [line["training/learning_rate"] for line in lines if line["run"] == "train"]
    reductions, expected = 0, []
    for number, auc in enumerate(found):  # written before the rate is reduced
        expected.append(0.04 * 0.5**reductions)
        reductions += auc <= max(found[:number], default=-1)
    assert (
        rates == pytest.approx(expected) and best.get("learning_rate_reductions", 0) == reductions
    )


@pytest.mark.slow
def test_balanced_weights(tmp_path, capsys):
    """All texts are equal, so the model learns the weighted frequency of the labels."""
    (tmp_path / "train").write_text("a\tx\n" * 30 + "b\tx\n" * 9 + "only\tx\n")
    shares = {}
    for flag in ([], ["--balance"]):
        run = tmp_path / f"run{len(flag)}"
        more = [
            "--epochs",
            "30",
            "--validation-split",
            "0",
            "--learning-rate",
            "0.1",
            "--dropout",
            "0",
        ]
        flags = ["--train", str(tmp_path / "train"), *flag]
        train_classifier(flags, run, *more, sizes=EMBEDDINGS)
        line = ask("classify", run, "--output-format", "json", stdin=b"x\n")
        shares[len(flag)] = list(json.loads(line)["probabilities"].values())
    assert shares[0] == pytest.approx([30 / 40, 9 / 40, 1 / 40], abs=0.06)  # after 30 epochs
    assert shares[1] == pytest.approx([1 / 3] * 3, abs=0.06)
    assert "Warning: 1 label with only one example ('only')" in capsys.readouterr().out


@pytest.mark.slow
def test_elmo_beside_words_in_bfloat16(labeled, tmp_path):
    path, _ = tiny_run.make_run(tmp_path / "bilm")
    more = ["--elmo", path, "--precision", "bfloat16", "--epochs", "1", "--max-length", "5"]
    sizes = ["--encoder", "cnn", "--set", "num_filters=4", "--embedding-dim", "4"]
    run = train_classifier(labeled, tmp_path / "run", *more, sizes=sizes)
    assert 0.3 < accuracy(run) <= 1 and (run / "plots" / "elmo_mix.png").exists()
    assert results(run)["training"]["tokens"] <= 5 * 320
