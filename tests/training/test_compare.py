"""Tests `tfreps compare` on models whose predictions are known, against plain loops."""

import json
import shutil

import numpy as np
import pytest

from tests import known_models, tiny_run
from tests.closeness import assert_close
from tests.training.labeling import ask, refused
from tfreps import reports
from tfreps.__main__ import main

CONLL = "Ada B-PER\nsaw O\nRome B-PER\n\nslept O\nRome B-LOC\n"
TABLE = "bad\tAda\ngood\tsaw\ngood\tRome  Rome\ngood\tslept\n"
WORDS = {"Ada": "B-PER", "saw": "O", "Rome": "B-LOC", "slept": "O"}
OTHER = {"Ada": [0, 3, 1], "Rome": [0, 2, 1], "saw": [4, 0, 0], "slept": [0, 0, 5]}


@pytest.fixture
def taggers(tmp_path, monkeypatch):
    """Returns two runs and their data: the second tags Rome as B-PER and slept as B-LOC."""
    (tmp_path / "test.conll").write_text(CONLL)
    how = {"format": "conll", "token_column": 0, "tag_column": -1}
    first = known_models.tagger_run(tmp_path / "first", **how)
    monkeypatch.setattr(known_models, "WORDS", OTHER)
    second = known_models.tagger_run(tmp_path / "second", **how)
    return first.path, second.path, tmp_path / "test.conll"


@pytest.fixture
def classifiers(tmp_path, monkeypatch):
    """Returns two runs and their data: the first labels saw as bad, the second all as good."""
    (tmp_path / "test.tsv").write_text(TABLE)
    how = {"format": "tab", "text_field": "text", "label_field": "label", "encoding": "utf-8"}
    first = known_models.classifier_run(tmp_path / "first", **how)
    monkeypatch.setattr(known_models, "TEXTS", {word: [0, 1] for word in WORDS})
    second = known_models.classifier_run(tmp_path / "second", **how)
    return first.path, second.path, tmp_path / "test.tsv"


def test_taggers(taggers, tmp_path):
    *runs, data = taggers
    files = ["--errors", tmp_path / "errors.tsv", "--output", tmp_path / "c.json"]
    out = ask("compare", *runs, "--data", data, *files, "--samples", 50, "--seed", 3)
    assert "2 sentences\n" in out and "first      0.6667  0.6667  0.6667    0.8000\n" in out
    assert "second     0.5000  0.6667  0.5714    0.6000\n" in out
    assert "second - first" in out and "errors        first  second\n" in out

    true = [["B-PER", "O", "B-PER"], ["O", "B-LOC"]]
    found = [true[0][:2] + ["B-LOC"], true[1]], [true[0], ["B-LOC", "B-PER"]]
    counts = [reports.span_counts(true, y_pred, "bio") for y_pred in found]
    expected = reports.paired_tests(*counts, reports.span_scores, samples=50, seed=3)
    written = json.loads((tmp_path / "c.json").read_text())
    assert_close(written["tests"], {"second": expected})
    assert (written["data"], written["samples"], written["seed"]) == ([str(data)], 50, 3)
    assert written["confusion_names"] == ["LOC", "PER", "(none)"]
    assert written["runs"]["first"]["confusion"] == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert written["runs"]["second"]["confusion"] == [[0, 1, 0], [0, 2, 0], [1, 0, 0]]
    assert (tmp_path / "errors.tsv").read_text().splitlines() == [
        "file\tline\tstart\tend\ttext\ttrue\tfirst\tsecond\tsentence",
        f"{data}\t1\t2\t3\tRome\tPER\tLOC\tPER\tAda saw Rome",
        f"{data}\t5\t0\t1\tslept\t(none)\t(none)\tLOC\tslept Rome",
        f"{data}\t5\t1\t2\tRome\tLOC\tLOC\tPER\tslept Rome",
    ]
    assert not (runs[0] / "results.json").exists()  # the runs are not changed


def test_errors_as_json_lines(taggers, tmp_path):
    *runs, data = taggers
    out = ask("compare", *runs, "--data", data, "--samples", 5, "--errors", tmp_path / "e.jsonl")
    assert "e.jsonl: 3 rows on which a run is wrong" in out
    rows = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert rows[1] == {
        "file": str(data), "line": 5, "start": 0, "end": 1, "text": "slept", "true": None,
        "sentence": "slept Rome", "predicted": {"first": None, "second": "LOC"},
    }  # fmt: skip
    assert [row["true"] for row in rows] == ["PER", None, "LOC"]


def seeds_folder(path, *runs):
    """Returns a folder as `--seeds` writes it, with copies of the runs."""
    from tfreps.runs import RunFolder

    RunFolder.create(path, "train-tagger", {"format": "conll", "seeds": [*range(len(runs))]})
    for seed, run in enumerate(runs):
        shutil.copytree(run, path / f"seed-{seed}")
    return path


def test_folders_of_seeds(taggers, tmp_path):
    first, second, data = taggers
    one = seeds_folder(tmp_path / "one", first, second)
    files = ["--errors", tmp_path / "errors.tsv", "--output", tmp_path / "c.json"]
    out = ask("compare", one, second, "--data", data, *files, "--samples", 50)
    assert "one     0.5833 ± 0.1179  0.6667 ± 0.0000  0.6190 ± 0.0673  0.7000 ± 0.1414\n" in out
    assert "mean ± the sample standard deviation" in out
    assert "errors        one  second\n" in out
    written = json.loads((tmp_path / "c.json").read_text())
    run = written["runs"]["one"]
    assert run["seeds"] == [0, 1] and run["values"]["accuracy"] == [0.8, 0.6]
    assert_close(run["std"]["accuracy"], np.std([0.8, 0.6], ddof=1))
    assert run["confusion"] == [[1, 1, 0], [1, 3, 0], [1, 0, 0]]
    test = written["tests"]["second"]["f1"]
    assert_close((test["first"], test["second"]), (np.mean([2 / 3, 4 / 7]), 4 / 7))
    lines = (tmp_path / "errors.tsv").read_text().splitlines()
    assert lines[0].split("\t")[6:9] == ["one/seed-0", "one/seed-1", "second"]
    assert lines[1].split("\t")[5:9] == ["PER", "LOC", "PER", "PER"]


def test_numbers_of_seeds(taggers, tmp_path, capsys):
    first, second, data = taggers
    one = seeds_folder(tmp_path / "one", first, second)
    two = seeds_folder(tmp_path / "two", first, first, second)
    err = refused(capsys, "compare", one, two, "--data", data)
    assert "same number of seeds, or single models; one has 2, two has 3. Train" in err
    err = refused(capsys, "compare", one, "--data", data)
    assert "at least two different models" in err
    output = one / "seed-1" / "options.json"
    err = refused(capsys, "compare", one, first, "--data", data, "--output", output, "--overwrite")
    assert "is an input of this command" in err
    shutil.rmtree(two / "seed-2")
    err = refused(capsys, "compare", two, first, "--data", data)
    assert f"seed 2 in {two} has not ended. Continue with: tfreps train-tagger --run {two} " in err


def test_seeds_with_different_tags(taggers, tmp_path, monkeypatch, capsys):
    first, second, data = taggers
    monkeypatch.setattr(known_models, "TAGS", ["O", "B-PER", "B-ORG"])
    other = known_models.tagger_run(tmp_path / "other", format="conll").path
    one = seeds_folder(tmp_path / "one", first, other)
    err = refused(capsys, "compare", one, second, "--data", data)
    assert f"{one / 'seed-1'} has O, B-PER, B-ORG, and the first seed has O, B-PER, B-LOC." in err


def test_classifiers(classifiers, tmp_path):
    *runs, data = classifiers
    files = ["--errors", tmp_path / "errors.tsv", "--output", tmp_path / "c.json"]
    out = ask("compare", *runs, "--data", data, *files)
    assert "        accuracy  macro F1     AUC\n" in out and "4 texts\n" in out
    assert "first     0.7500    0.7333  1.0000\n" in out
    assert "second    0.7500    0.4286  0.5000\n" in out
    written = json.loads((tmp_path / "c.json").read_text())
    assert written["confusion_names"] == ["bad", "good"]
    assert written["runs"]["second"]["confusion"] == [[0, 1], [0, 3]]
    test = written["tests"]["second"]["accuracy"]
    # The runs are right on different texts: with 0 or 2 swaps the difference is 0.
    assert test["difference"] == 0.0 and test["randomization_p"] == 1.0
    drawn = np.random.default_rng(0).integers(4, size=(10_000, 4))
    assert test["low"] == np.quantile((drawn == 1).mean(1) - (drawn == 0).mean(1), 0.025)
    assert (tmp_path / "errors.tsv").read_text().splitlines() == [
        "file\tline\ttext\ttrue\tfirst\tsecond",
        f"{data}\t1\tAda\tbad\tbad\tgood",
        f"{data}\t2\tsaw\tgood\tbad\tgood",
    ]


@pytest.mark.slow
def test_an_export_a_preset_and_a_run(taggers, tmp_path):
    first, second, data = taggers
    assert main(["export", str(first), "--output", str(tmp_path / "export")]) == 0
    import tfreps

    tfreps.load(first).save_to_preset(tmp_path / "preset")
    runs = tmp_path / "export", tmp_path / "preset", second
    out = ask("compare", *runs, "--data", data, "--output", tmp_path / "c.json", "--samples", 20)
    written = json.loads((tmp_path / "c.json").read_text())
    assert written["runs"]["export"] == written["runs"]["preset"]
    assert written["tests"]["preset"]["f1"]["randomization_p"] == 1.0
    assert "preset - export" in out and "second - export" in out


def test_what_cannot_be_compared(taggers, tmp_path, capsys):
    first, second, data = taggers
    err = refused(capsys, "compare", first, first, "--data", data)
    assert "at least two different models" in err and "use tfreps evaluate" in err
    err = refused(capsys, "compare", first, second, "--data", data, "--label-field", "x")
    assert "--label-field has no effect with a tagger" in err
    same = ["--errors", tmp_path / "a", "--output", tmp_path / "a"]
    err = refused(capsys, "compare", first, second, "--data", data, *same)
    assert "--errors and --output must be different files" in err
    (tmp_path / "old").write_text("x")
    err = refused(capsys, "compare", first, second, "--data", data, "--errors", tmp_path / "old")
    assert "already exists" in err
    err = refused(
        *(capsys, "compare", first, second, "--data", data, "--overwrite"),
        *("--output", second / "options.json"),
    )
    assert "is an input of this command" in err
    data.write_text(CONLL + "\nMax B-ORG\n")
    err = refused(capsys, "compare", first, second, "--data", data)
    assert "line 8, token 1: the tag 'B-ORG' is not one of the 3" in err


@pytest.mark.slow
def test_runs_of_different_kinds(taggers, tmp_path, monkeypatch, capsys):
    first, _, data = taggers
    classifier = known_models.classifier_run(tmp_path / "classifier").path
    err = refused(capsys, "compare", first, classifier, "--data", data)
    assert f"{first} is a tagger, and {classifier} is a classifier" in err
    path, _ = tiny_run.make_run(tmp_path / "bilm")
    err = refused(capsys, "compare", first, path, "--data", data)
    assert "is a biLM; expected a tagger or classifier" in err


def test_runs_of_different_schemes(taggers, tmp_path, monkeypatch, capsys):
    from tfreps.models import Tagger
    from tfreps.runs import RunFolder
    from tfreps.tags import TagSet

    first, _, data = taggers
    run = RunFolder.create(tmp_path / "plain", "train-tagger", {"tokens": "spaces"})
    embedder = known_models.embedder(OTHER, 3)
    TagSet(known_models.TAGS).write(run.tags_path)
    known_models.keep(run, Tagger(embedder, known_models.TAGS, None, use_crf=False, name="tagger"))
    err = refused(capsys, "compare", first, run.path, "--data", data)
    assert "same tag scheme" in err and "has bio, and" in err and "has no scheme" in err
