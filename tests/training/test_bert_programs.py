"""Tests `--encoder bert` in train-classifier and train-tagger, from raw text to exports."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from tests import tiny_bert
from tests.training.labeling import ask, refused, results
from tfreps.__main__ import main

WORDS = "房 间 很 好 差 大 小 吃".split()
PAIRS = {"房": "B-NOUN", "间": "I-NOUN"}  # other characters have the tag O
SPEED = ["--learning-rate", "0.01", "--dropout", "0", "--batch-tokens", "256"]
SPEED += ["--schedule", "constant"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Writes texts whose label is one of their characters, and sentences with tagged characters."""
    folder, rng, found = tmp_path_factory.mktemp("files"), np.random.default_rng(0), {}
    for part, size in (("train", 120), ("validation", 30), ("test", 30)):
        labeled, tagged = [], []
        for _ in range(size):
            label = rng.integers(2)
            text = [*rng.choice(WORDS[:3] + WORDS[5:], rng.integers(1, 7)), "差好"[label]]
            labeled.append(f"{label}\t{''.join(rng.permutation(text))}\n")
            words = [
                w for n in rng.integers(2, 8, 4) for w in (["房", "间"] if n < 4 else [WORDS[n]])
            ]
            tagged.append("".join(f"{word} {PAIRS.get(word, 'O')}\n" for word in words))
        (folder / f"{part}.tsv").write_text("".join(labeled), "utf-8")
        (folder / f"{part}.conll").write_text("\n".join(tagged), "utf-8")
        for kind in ("tsv", "conll"):
            found.setdefault(kind, []).extend([f"--{part}", str(folder / f"{part}.{kind}")])
    return found


@pytest.fixture(scope="module")
def characters(tmp_path_factory):
    """Returns a run of pretrain-bert with character tokens and 24 positions."""
    tokenizer = tiny_bert.characters("".join(WORDS))
    return str(tiny_bert.write_run(tmp_path_factory.mktemp("b") / "run", tokenizer)[0])


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """Returns the folder of a published checkpoint with WordPiece."""
    tokenizer = tiny_bert.pieces(*WORDS)
    return str(tiny_bert.write_checkpoint(tmp_path_factory.mktemp("b") / "hf", tokenizer)[0])


def flags(source, *more):
    return ["--encoder", "bert", "--bert", str(source), *SPEED, *map(str, more)]


def train(program, line, run, *more):
    assert main([program, *map(str, line), *map(str, more), "--run", str(run)]) == 0
    return run


@pytest.fixture(scope="module")
def classifier(characters, files, tmp_path_factory):
    """Returns a finished run on character tokens, which tests must not change."""
    more = ["--pooling", "mean_max", "--num-layers", "1", "--epochs", "8"]
    more += ["--set", "layer_decay=0.9", "bert_dropout=0.1"]
    line = [*files["tsv"], *flags(characters, *more)]
    return train("train-classifier", line, tmp_path_factory.mktemp("c") / "run")


@pytest.fixture(scope="module")
def tagger(pieces, files, tmp_path_factory):
    """Returns a finished run on WordPiece, which tests must not change."""
    more = ["--scheme", "bio", "--tokens", "characters", "--epochs", "5"]
    line = [*files["conll"], *flags(pieces, *more)]
    return train("train-tagger", line, tmp_path_factory.mktemp("t") / "run")


ASK = """
import json, sys, tensorflow as tf
module = tf.saved_model.load(sys.argv[1])
answer = module.signatures["default"](text=tf.constant(json.loads(sys.argv[2])))
print(json.dumps({k: v.numpy().tolist() for k, v in answer.items() if v.dtype != tf.string}))
assert "tensorflow_text" not in sys.modules and "tfreps" not in sys.modules
"""


def served(run, folder, texts):
    """Returns the outputs of an export in a process that has only TensorFlow."""
    assert main(["export", str(run), "--output", str(folder)]) == 0
    command = [sys.executable, "-c", ASK, str(folder / "1"), json.dumps(texts)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def check_classifier(run, folder):
    assert results(run)["test"]["accuracy"] > 0.9
    assert (run / "tfreps_tokenizer.json").exists() and not (run / "vocabulary.txt").exists()
    texts = ["房间很好", "", "差" * 40, "好 X"]
    stdin = "".join(text + "\n" for text in texts).encode()
    lines = ask("classify", run, "--output-format", "json", stdin=stdin).splitlines()
    expected = [list(json.loads(line)["probabilities"].values()) for line in lines]
    answer = served(run, folder, texts)
    found = np.array(answer["probabilities"])
    assert found == pytest.approx(np.array(expected), abs=1e-4)  # 4 digits
    assert answer["sequence_len"] == [6, 2, 24, 4]


def check_tagger(run, folder):
    assert results(run)["test"]["spans"]["micro"]["f1"] > 0.9
    lines = ask("tag", run, "--output-format", "json", stdin="吃房间很\n".encode()).splitlines()
    answer = json.loads(lines[0])
    assert answer["tags"] == ["O", "B-NOUN", "I-NOUN", "O"]
    found = served(run, folder, ["吃房间很", ""])
    assert found["confidences"][0] == pytest.approx(answer["confidences"], abs=1e-4)  # 4 digits
    assert found["span_starts"][0] == [1] and found["sequence_len"] == [4, 0]


@pytest.mark.slow
def test_a_classifier_on_characters(classifier, files, tmp_path):
    check_classifier(classifier, tmp_path / "export")
    assert "accuracy" in ask("evaluate", classifier, "--data", files["tsv"][5])


@pytest.mark.slow
def test_the_recipe_of_aespressos_stopped_and_gone_on_with(characters, files, tmp_path):
    """Sizes and rates differ from the recipe; truncated texts, L2 and the hidden layer do not."""
    line = [*files["tsv"], "--config", "bert_6x384", "--bert", characters, "--num-layers", "1"]
    line += ["--learning-rate", "0.003", "--set", "bert_dropout=0.1", "--max-length", "24"]
    line += ["--keep-checkpoints"]
    run = train("train-classifier", line, tmp_path / "run", "--epochs", "2")
    steps = results(run)["best"]["steps"]
    train("train-classifier", ["--epochs", "6"], run, "--resume")
    assert results(run)["best"]["steps"] == 3 * steps and results(run)["test"]["auc"] > 0.8
    kept = json.loads((run / "options.json").read_text())["options"]
    assert (kept["truncation_rate"], kept["l2"], kept["hidden_units"]) == (0.1, 0.001, 384)


@pytest.mark.slow
def test_a_tagger_on_word_pieces(tagger, tmp_path, capsys):
    check_tagger(tagger, tmp_path / "export")
    (tmp_path / "text").write_text("房\n" + "房 " * 30)
    error = refused(capsys, "tag", tagger, tmp_path / "text")
    assert "text, line 2: the model accepts at most 22 pieces" in error
    (tmp_path / "long.conll").write_text("房\n\n" + "房\n" * 30)
    error = refused(capsys, "tag", tagger, tmp_path / "long.conll", "--input-format", "conll")
    assert "long.conll, line 3: the model accepts at most 22 pieces" in error
    (tmp_path / "long.conll").write_text("房 O\n\n" + "房 O\n" * 30)
    error = refused(capsys, "evaluate", tagger, "--data", tmp_path / "long.conll")
    assert "long.conll, line 3: the model accepts at most 22 pieces" in error


@pytest.mark.slow
def test_the_other_way_round(characters, pieces, files, tmp_path):
    line = [*files["tsv"], *flags(pieces, "--pooling", "mean_max", "--epochs", "8")]
    check_classifier(train("train-classifier", line, tmp_path / "c"), tmp_path / "1")
    more = ["--scheme", "bio", "--tokens", "characters", "--epochs", "5"]
    line = [*files["conll"], *flags(characters, *more)]
    check_tagger(train("train-tagger", line, tmp_path / "t"), tmp_path / "2")


@pytest.mark.slow
def test_adapters_stopped_and_gone_on_with(characters, files, tmp_path, capsys):
    more = ["--lora-rank", "4", "--pooling", "mean_max", "--learning-rate", "0.01"]
    line = [*files["tsv"], *flags(characters, *more), "--keep-checkpoints"]
    run = train("train-classifier", line, tmp_path / "run", "--epochs", "3")
    assert re.search(r"Training [\d,]+ of [\d,]+ parameters in", capsys.readouterr().out)
    train("train-classifier", ["--epochs", "15"], run, "--resume")
    check_classifier(run, tmp_path / "export")


@pytest.mark.slow
def test_a_word_of_several_pieces_has_one_tag(pieces, tmp_path):
    (tmp_path / "train").write_text("房间房 X\n好 O\n\n好差! O\n房间 X\n\n" * 20)
    line = ["--train", tmp_path / "train", "--scheme", "none", "--linear-features"]
    run = train("train-tagger", [*line, *flags(pieces, "--epochs", "6")], tmp_path / "run")
    lines = ask("tag", run, stdin="好差 房房房房\n".encode()).splitlines()
    assert [line.split("\t")[:2] for line in lines[:2]] == [["好差", "O"], ["房房房房", "X"]]


@pytest.mark.slow
def test_texts_that_are_too_long(characters, tmp_path, capsys):
    (tmp_path / "train").write_text("1\t好\n0\t差\n" * 5 + f"1\t{'好' * 30}\n")
    line = [
        "--train",
        tmp_path / "train",
        "--validation-split",
        "0",
        *flags(characters, "--epochs", "1"),
    ]
    train("train-classifier", line, tmp_path / "run")
    assert "(1 texts were truncated)" in capsys.readouterr().out
    line += ["--run", tmp_path / "other", "--too-long", "error"]
    error = refused(capsys, "train-classifier", *line)
    assert "train, line 11: the text has 32 tokens; expected at most 24. Shorten it" in error
    (tmp_path / "tagged").write_text("房 O\n" * 30)
    line = ["--train", tmp_path / "tagged", "--scheme", "none", "--run", tmp_path / "third"]
    error = refused(capsys, "train-tagger", *line, *flags(characters))
    assert "tagged, line 1: the model accepts at most 22 pieces" in error


@pytest.mark.parametrize(
    "more, message",
    [
        (["--encoder", "bert"], "--bert is missing: pre-trained BERT model: a run folder"),
        (["--bert", "x"], "--bert has no effect with --encoder cnn; it applies to bert."),
        (["--set", "layer_decay=0.9"], "--set layer_decay requires --bert."),
        (["--encoder", "bert", "--bert", "nowhere"], "error: nowhere does not exist. Expected"),
        (
            ["--encoder", "bert", "--bert", "x", "--tokens", "words"],
            "--tokens cannot be combined",
        ),
        (
            ["--encoder", "bert", "--bert", "x", "--lowercase"],
            "--lowercase has no effect",
        ),
        (["--encoder", "bert", "--bert", "RUN", "--freeze-layers", "3"], "got 3"),
        (
            "--encoder bert --bert x --set bert_from_scratch=true --freeze-layers 1".split(),
            "--freeze-layers cannot be combined with --set bert_from_scratch=true.",
        ),
        (["--encoder", "bert", "--bert", "RUN", "--num-layers", "3"], "the number of layers"),
        (
            ["--encoder", "bert", "--bert", "RUN", "--max-length", "2"],
            "room for text alongside 2 sp",
        ),
    ],
)
def test_bad_options(more, message, characters, files, tmp_path, capsys):
    more = [characters if flag == "RUN" else flag for flag in more]
    line = [*files["tsv"], *more, "--run", tmp_path / "run"]
    assert message in refused(capsys, "train-classifier", *line)
    assert not (tmp_path / "run").exists()


def test_the_way_of_a_bert_without_one(files, tmp_path, capsys):
    line = ["--train", "x", "--scheme", "none", "--tokens", "bert", "--run", tmp_path / "run"]
    error = refused(capsys, "train-tagger", *line)
    assert "--tokens bert has no effect with --encoder bilstm; it applies to bert." in error


@pytest.mark.slow
def test_a_stopped_run_goes_on(characters, files, tmp_path):
    """A run of one epoch that is resumed for another equals a run of two epochs."""
    line = [*files["tsv"], *flags(characters, "--num-layers", "1", "--set", "bert_dropout=0.2")]
    line += ["--set", "layer_decay=0.5", "--keep-checkpoints"]
    two = train("train-classifier", line, tmp_path / "two", "--epochs", "2")
    one = train("train-classifier", line, tmp_path / "one", "--epochs", "1")
    train("train-classifier", ["--epochs", "2"], one, "--resume")  # the run has the other options
    assert results(one)["test"] == results(two)["test"]
