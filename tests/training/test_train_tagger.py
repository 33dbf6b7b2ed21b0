"""Tests that `tfreps train-tagger` learns a rule with every encoder and input format."""

import os
import signal
from pathlib import Path

import h5py
import numpy as np
import pytest
import tensorflow as tf

import tfreps
from tests import tiny_run
from tests.closeness import assert_close
from tests.convert.lac_fixture import write_lac
from tests.training import labeling
from tests.training.labeling import SMALL, ask, history, results, train_tagger
from tfreps.__main__ import main
from tfreps._src.cli import tagged_files
from tfreps._src.reports import evaluation
from tfreps.runs import RunFolder
from tfreps.text import Vocabulary

EMBEDDINGS = ["--encoder", "embeddings", "--embedding-dim", "8"]


def f1(run, part="test"):
    return results(run)[part]["spans"]["micro"]["f1"]


@pytest.mark.parametrize(
    "trained_on", ["names_only", pytest.param("tagged", marks=pytest.mark.slow)]
)
def test_it_learns_the_rule_and_says_how_well(trained_on, request):
    """Tags of names depend on the previous token; test numbers are new, so characters decide."""
    has_numbers = trained_on == "tagged"
    tagged = request.getfixturevalue(trained_on)
    tagger = request.getfixturevalue("tagger" if has_numbers else "word_tagger")
    assert f1(tagger, "validation") >= 0.97 and f1(tagger) >= 0.95
    names = {path.name for path in tagger.iterdir()}
    assert names == {
        *("options.json", "results.json", "model.keras", "vocabulary.txt", "tags.txt"),
        *("manifest.json", "logs", "plots"),
    }
    assert (tagger / "tags.txt").read_text().split("\n") == [
        *("O", "B-LOC", "I-LOC", *["B-NUM"] * has_numbers, "B-PER", "I-PER", ""),
    ]
    found = {path.stem for path in (tagger / "plots").iterdir()}
    assert found == {"learning_curves", "confusion", *["transitions"] * has_numbers}
    measured = [line["span_f1"] for line in history(tagger) if line["run"] == "validation"]
    assert (
        results(tagger)["best"]["span_f1"]
        == max(measured)
        == pytest.approx(f1(tagger, "validation"))
    )
    training = results(tagger)["training"]
    sentences = labeling.read_columns(Path(tagged[1]).read_text() + "\n")
    assert training["sentences"] == len(sentences) == (240 if has_numbers else 480)
    assert training["tokens"] == sum(len(tokens) for tokens, _ in sentences)


@pytest.mark.slow
def test_partial_tags_suffice(names_only, tmp_path):
    """Half of the tags are unknown, and most others are a choice of two."""
    rng, known = np.random.default_rng(0), ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    sentences = labeling.read_columns(Path(names_only[1]).read_text() + "\n")
    tokens, tags = [], []
    for words, columns in sentences:
        tokens.append(words)
        tags.append([])
        for (name,) in columns:
            other, share = str(rng.choice(known)), rng.random()
            tags[-1].append("_" if share < 0.5 else f"{other}|{name}" if share < 0.9 else name)
    train = labeling.write_columns(tmp_path / "partial.conll", tokens, tags)
    flags = ["--train", train, *names_only[2:], "--partial-tags"]
    more = ["--characters", "none", *labeling.WORD_TAGGER, "--learning-rate", "0.03"]
    run = train_tagger(flags, tmp_path / "run", *more)
    assert f1(run) >= 0.9
    assert sorted(tfreps.load(run).names) == sorted(known)


@pytest.mark.slow
def test_sets_of_one_tag_train_like_tags(tmp_path):
    whole = labeling.write_tagged(tmp_path, sizes=(20, 1, 1))[1]
    sentences = labeling.read_columns(Path(whole).read_text() + "\n")
    tags = [[f"{name}|{name}" for (name,) in columns] for _, columns in sentences]
    sets = labeling.write_columns(tmp_path / "sets.conll", [words for words, _ in sentences], tags)
    flags = "--epochs", "1", "--characters", "none", "--dropout", "0"
    runs = [
        train_tagger(["--train", train], tmp_path / name, *flags, *more, sizes=EMBEDDINGS)
        for name, train, more in [
            ("whole", whole, []),
            ("sets", sets, ["--partial-tags"]),
        ]
    ]
    one, other = (tfreps.load(run).model.get_weights() for run in runs)
    for ours, theirs in zip(one, other, strict=True):
        assert_close(ours, theirs, terms=200)  # Adam divides by the size of small gradients


def test_a_tagger_starts_from_another_one(word_tagger, names_only, tmp_path, capsys):
    """Almost without training, the encoder is that of --init, and the tags are new."""
    merged = []
    for name, path in zip(names_only[::2], names_only[1::2], strict=True):
        text = Path(path).read_text().replace("PER", "NAME").replace("LOC", "NAME")
        (tmp_path / f"{name[2:]}.conll").write_text(text)
        merged += [name, str(tmp_path / f"{name[2:]}.conll")]
    run, init = tmp_path / "run", ["--scheme", "bio", "--init", str(word_tagger)]
    flags = [*merged, *init, *labeling.FAST, "--run", str(run)]
    assert (
        main(
            [
                "train-tagger",
                *flags,
                "--learning-rate",
                "1e-9",
                "--epochs",
                "1",
                "--keep-checkpoints",
            ]
        )
        == 0
    )
    first, second = (tfreps.load(path) for path in (word_tagger, run))
    assert second.names == ["O", "B-NAME", "I-NAME"] != first.names
    assert second.tokens == first.tokens
    assert second.indexer.get_config() == first.indexer.get_config()
    features = first.indexer(tf.constant([["Ada", "lives", "in", "unknown"]]))
    one, other = (loaded.model.encoder(features)["sequence_output"] for loaded in (first, second))
    assert_close(other, one, magnitude=1.0)
    assert (first.model.encoder.dropout, second.model.encoder.dropout) == (0.0, 0.1)
    more = ["--run", str(run), "--resume", "--epochs", "2"]
    assert main(["train-tagger", *more]) == 0
    assert len([row for row in history(run) if row["run"] == "train"]) == 2
    capsys.readouterr()
    assert main(["train-tagger", *flags, "--units", "9"]) == 2
    assert "--units cannot be combined with --init" in capsys.readouterr().err


def test_a_tagger_starts_from_lac(tmp_path, capsys):
    pytest.importorskip("onnx")
    write_lac(tmp_path / "lac")
    (tmp_path / "train.conll").write_text("你 B-X\n好 I-X\n\n国 O\na O\n\n" * 8, encoding="utf-8")
    flags = ["--train", str(tmp_path / "train.conll"), "--scheme", "bio", "--epochs", "1"]
    flags += ["--init", str(tmp_path / "lac"), "--run", str(tmp_path / "run")]
    assert main(["train-tagger", *flags]) == 0
    assert "does not reproduce" not in capsys.readouterr().out
    loaded = tfreps.load(tmp_path / "run")
    assert loaded.tokenize(["你 好"]) == [["你", "▁", "好"]] and loaded.names == ["O", "B-X", "I-X"]
    assert main(["train-tagger", *flags, "--overwrite", "--tokens", "words"]) == 2
    assert "--tokens must be all_characters, with which --init" in capsys.readouterr().err


def test_an_encoder_that_init_cannot_take(tmp_path, names_only, capsys):
    hmm = str(tmp_path / "hmm")
    assert main(["train-hmm", *names_only, "--scheme", "bio", "--run", hmm]) == 0
    flags = [*names_only, "--scheme", "bio", "--run", str(tmp_path / "run")]
    assert main(["train-tagger", *flags, "--init", hmm]) == 2
    assert "--init must be a tagger with another encoder" in capsys.readouterr().err


@pytest.mark.slow
def test_its_figures_are_those_of_its_answers(tagger, tagged, tmp_path):
    """The metrics are those of the tags that `tfreps tag` assigns to the test text."""
    truth = labeling.read_columns(Path(tagged[5]).read_text() + "\n")
    text = tmp_path / "test.txt"
    text.write_text("".join(" ".join(tokens) + "\n" for tokens, _ in truth))
    answers = labeling.read_columns(ask("tag", tagger, text))
    assert [tokens for tokens, _ in answers] == [tokens for tokens, _ in truth]
    gold = [[columns[0] for columns in rows] for _, rows in truth]
    guess = [[columns[0] for columns in rows] for _, rows in answers]
    same = [a == b for pair in zip(gold, guess, strict=True) for a, b in zip(*pair, strict=True)]
    test = results(tagger)["test"]
    assert test["accuracy"] == pytest.approx(np.mean(same)) and test["tokens"] == len(same)
    spans = [
        [(n, *s) for n, t in enumerate(tags) for s in labeling.spans(t)] for tags in (gold, guess)
    ]
    correct = len(set(spans[0]) & set(spans[1]))
    precision, recall = correct / len(spans[1]), correct / len(spans[0])
    assert_close(
        test["spans"]["micro"],
        {
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall),
            "support": len(spans[0]),
        },
    )


@pytest.mark.slow
def test_context_and_characters_are_what_it_learns_from(tagged, tmp_path):
    """Without context, the model finds no persons, places or new numbers."""
    more = ["--epochs", "4", "--no-use-crf", "--characters", "none"]
    run = train_tagger(tagged, tmp_path / "run", *more, sizes=EMBEDDINGS)
    assert f1(run) < 0.4
    assert results(run)["test"]["spans"]["types"]["NUM"]["recall"] < 0.2
    assert {p.stem for p in (run / "plots").iterdir()} == {"learning_curves", "confusion"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "least, sizes",
    [
        (
            0.9,
            ["--encoder", "slstm", "--units", "32", "--set", "num_steps=4", "--embedding-dim", "16"]
            + ["--characters", "none"],
        ),
        (0.9, ["--encoder", "linear", "--learning-rate", "0.1"]),
        (0.9, ["--encoder", "embeddings", "--linear-features", "--learning-rate", "0.1"]),
    ],
    ids=["slstm", "window", "window features"],
)
def test_other_encoders_learn_it_too(names_only, tmp_path, least, sizes):
    flags = [*labeling.FAST, *sizes, "--epochs", "10", "--patience", "10", "--scheme", "bio"]
    run = tmp_path / "run"
    assert main(["train-tagger", *names_only, *flags, "--run", str(run)]) == 0
    assert f1(run) >= least


@pytest.mark.slow
def test_characters_alone(tmp_path):
    """A BiLSTM over characters recognizes new numbers."""
    rng = np.random.default_rng(0)
    flags = []
    for part, size in (("train", 60), ("test", 30)):
        tokens = [
            [str(n) if n % 2 else labeling.WORDS[n % 6] + str(rng.choice(list("abc"))) for n in row]
            for row in rng.integers(1000, 10000, [size, 6])
        ]
        path = labeling.write_columns(tmp_path / part, tokens, map(labeling.tag, tokens))
        flags += [f"--{part}", path]
    more = ["--no-words", "--characters", "bilstm", "--epochs", "8", "--no-use-crf"]
    assert f1(train_tagger(flags, tmp_path / "run", *more, sizes=EMBEDDINGS)) == 1.0


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Returns options with few training sentences, and a dict of the vectors of most words."""
    folder = tmp_path_factory.mktemp("few")
    flags = labeling.write_tagged(folder, sizes=(16, 1, 1))[:2]
    words = [*labeling.NAMES, *labeling.WORDS]
    rows = np.random.default_rng(0).normal(size=[len(words), 5]).round(3)
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows, strict=True)]
    (folder / "vectors.txt").write_text("".join(lines))
    path, _ = tiny_run.make_run(folder / "bilm")
    flags += ["--vectors", str(folder / "vectors.txt"), "--elmo", path]
    return flags, dict(zip(words, rows, strict=True))


def weights_of(run):
    """Returns a dict of the word vectors of a trained tagger, its Elmo, and its biLM's weights."""
    embedder = RunFolder.open(run).load_model().encoder
    table = np.array(embedder.word_embeddings)[1:]
    words = dict(zip(Vocabulary.read(run / "vocabulary.txt").tokens, table, strict=True))
    return words, embedder.elmo, [np.array(weight) for weight in embedder.elmo.bilm.weights]


def largest_change(vectors, words):
    changes = [np.abs(words[word] - row).max() for word, row in vectors.items() if word in words]
    assert len(changes) > 5
    return max(changes)


def largest_difference(bilm_weights):
    before = [np.array(weight) for weight in tiny_run.make_pretrainer().bilm.weights]
    return max(np.abs(a - b).max() for a, b in zip(before, bilm_weights, strict=True))


@pytest.mark.slow
def test_frozen_word_vectors_and_a_frozen_elmo(few, tmp_path):
    flags, vectors = few
    more = ["--set", "trainable_embeddings=false", "--epochs", "2"]
    run = train_tagger(flags, tmp_path / "run", *more, sizes=EMBEDDINGS)
    words, elmo, bilm = weights_of(run)
    assert largest_change(vectors, words) < 1e-6 and largest_difference(bilm) == 0
    mix = np.array(elmo.mixes[0].scalar_weights)
    assert np.ptp(mix) > 1e-4  # it was zeros
    assert (run / "plots" / "elmo_mix.png").exists()
    assert RunFolder.open(run).options["elmo"] == flags[-1]


@pytest.mark.slow
def test_words_of_the_file_alone_are_known_in_lower_case(tmp_path, capsys):
    """The tag follows from the first number of the vector, also of words not in --train."""
    rng = np.random.default_rng(0)
    side = {f"w{n:02}x": rng.choice([-1, 1]) for n in range(80)}
    rows = "".join(f"{word} {sign} {rng.normal():.3f}\n" for word, sign in side.items())
    (tmp_path / "vectors.txt").write_text(rows)
    sentences = [rng.choice(list(side)[:40], 5).tolist() for _ in range(40)]
    tags = [["AB"[int(side[word] > 0)] for word in words] for words in sentences]
    flags = ["--train", labeling.write_columns(tmp_path / "train", sentences, tags)]
    more = ["--scheme", "none", "--vectors", str(tmp_path / "vectors.txt"), "--no-use-crf"]
    more += ["--tokens", "treebank", "--epochs", "9", "--dropout", "0", "--characters", "none"]
    run = train_tagger(flags, tmp_path / "run", *more, sizes=["--encoder", "embeddings"])
    assert "have a vector" in capsys.readouterr().out
    unseen = [word.upper() for word in list(side)[40:]]
    expected = ["AB"[int(side[word.lower()] > 0)] for word in unseen]
    found = tfreps.load(run)
    assert found.indexer.lowercase_fallback and found.model.encoder.num_frozen_words == 40
    assert found.tag([unseen])[0].tags == expected
    assert main(["export", str(run), "--output", str(tmp_path / "export")]) == 0
    served = tf.saved_model.load(str(tmp_path / "export" / "1")).signatures["serving_default"]
    out = served(tf.constant([f"({' '.join(unseen)})."]))
    names = [name.decode() for name in out["tags"][0].numpy()]
    assert names[1:-2] == expected


@pytest.mark.slow
def test_learning_rates_of_their_own(few, tmp_path):
    flags, vectors = few
    more = ["--elmo-fine-tune", "--elmo-learning-rate", "0.01"]
    more += ["--set", "embedding_learning_rate=1e-9"]
    run = train_tagger(flags, tmp_path / "a", *more, "--epochs", "2", sizes=EMBEDDINGS)
    words, _, bilm = weights_of(run)
    assert largest_change(vectors, words) < 1e-6 and largest_difference(bilm) > 1e-3


@pytest.mark.slow
def test_the_top_layer_of_elmo_beside_trained_words(few, tmp_path):
    flags, vectors = few
    run = train_tagger(
        flags, tmp_path / "run", "--set", "elmo_top_only=true", "--epochs", "2", sizes=EMBEDDINGS
    )
    words, elmo, bilm = weights_of(run)
    assert largest_change(vectors, words) > 1e-3 and largest_difference(bilm) == 0
    assert elmo.top_only and not (run / "plots" / "elmo_mix.png").exists()


@pytest.mark.slow
def test_vectors_that_were_stored_before(tmp_path):
    """All sentences are equal, so only their vectors, found by their number, give the tags."""
    flags = []
    for part, size in (("train", 64), ("validation", 16), ("test", 16)):
        tags = np.random.default_rng(len(part) + size).integers(0, 2, [size, 4])
        names = [["AB"[tag] for tag in row] for row in tags]
        path = labeling.write_columns(tmp_path / part, [["x"] * 4] * size, names)
        with h5py.File(tmp_path / f"{part}.hdf5", "w") as file:
            for number, row in enumerate(tags):
                file[str(number)] = np.stack([np.zeros([4, 2]), np.eye(2)[row]])  # 2 layers
        flags += [f"--{part}", path, f"--{part}-vectors", str(tmp_path / f"{part}.hdf5")]
    more = ["--no-words", "--epochs", "6", "--no-use-crf", "--scheme", "none"]
    run = train_tagger(flags, tmp_path / "run", *more, sizes=EMBEDDINGS)
    assert results(run)["test"]["accuracy"] == 1.0
    assert (run / "plots" / "vector_mix.png").exists()

    line = ["evaluate", run, "--data", flags[9], "--vectors", flags[11]]
    assert "accuracy 1.0000" in ask(*line)
    (tmp_path / "raw.txt").write_text("x x\n")
    assert main(["tag", str(run), str(tmp_path / "raw.txt")]) == 2


@pytest.mark.slow
def test_what_breaks_the_scheme_is_told(tmp_path, capsys):
    (tmp_path / "train").write_text("a O\nb I-X\n\nc B-X\nd I-X\n")
    flags = ["--train", str(tmp_path / "train"), "--epochs", "1"]
    train_tagger(flags, tmp_path / "a", sizes=EMBEDDINGS)
    out = capsys.readouterr().out
    assert (
        "Warning: --train has 1 transitions that are illegal in 'bio', in 1 of 2 sentences" in out
    )
    assert f"starts in line 1 of {tmp_path / 'train'}" in out and "--constrain decode" in out


@pytest.mark.slow
def test_minutes_that_end_in_the_first_epoch_leave_figures(tmp_path, capsys):
    files = labeling.write_tagged(tmp_path, sizes=(64, 4, 4))
    more = ["--time-limit-minutes", "1e-9", "--no-use-crf"]
    run = train_tagger(files, tmp_path / "run", *more, sizes=EMBEDDINGS)
    out = capsys.readouterr().out
    assert "\nvalidation: accuracy" in out and "\ntest: accuracy" in out
    assert not (run / "logs" / "history.jsonl").exists()
    assert results(run)["best"] == {"steps": 1} and results(run)["test"]["sentences"] == 4
    assert {p.stem for p in (run / "plots").iterdir()} == {"confusion"}


@pytest.mark.slow
def test_signals_before_the_first_step_and_in_the_evaluation(tmp_path, monkeypatch, capfd):
    """No file is incomplete, and --resume evaluates the trained model."""
    files = labeling.write_tagged(tmp_path, sizes=(16, 4, 4))
    run = tmp_path / "run"
    line = ["train-tagger", *files, "--scheme", "bio", "--no-use-crf", *EMBEDDINGS, "--epochs", "1"]
    line += ["--run", str(run)]

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(tagged_files, "read_tagged_files", interrupted)
        assert main(line) == 143 and not run.exists()
    assert capfd.readouterr().err.endswith("tfreps train-tagger: stopped by SIGTERM.\n")
    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "evaluate_tagger", interrupted)
        assert main(line) == 143
    command = f"Continue with: tfreps train-tagger --run {run} --resume\n"
    assert capfd.readouterr().err.endswith(f"stopped by SIGTERM. {command}")
    names = {path.name for path in run.iterdir()}
    assert names == {
        *("options.json", "results.json", "model.keras", "vocabulary.txt", "tags.txt"),
        *("manifest.json", "checkpoints", "logs"),
    }
    assert set(results(run)) == {"checksum", "training"}
    assert main(["train-tagger", "--run", str(run), "--resume"]) == 0
    assert set(results(run)) == {"checksum", "training", "best", "validation", "test"}


@pytest.mark.slow
def test_a_finished_run_can_go_on(tagger, tagged, capsys):
    before = results(tagger)
    train_tagger(tagged, tagger, *labeling.TAGGER, "--resume")
    assert results(tagger) == before  # nothing was left to do
    assert main(["train-tagger", "--run", str(tagger), "--resume", "--epochs", "9"]) == 2
    assert "its checkpoints were removed. Start a longer run in" in capsys.readouterr().err
    assert main(["train-tagger", "--run", str(tagger), "--resume"]) == 0
    assert results(tagger) == before  # nor with other options
    line = ["train-tagger", *tagged, "--scheme", "bio", *SMALL, *labeling.FAST]
    assert main([*line, *labeling.TAGGER, "--resume", "--units", "13", "--run", str(tagger)]) == 2
    assert "started with different options: units." in capsys.readouterr().err


@pytest.mark.parametrize("encoder", ["embeddings", pytest.param("linear", marks=pytest.mark.slow)])
def test_the_best_epoch_is_chosen_by_the_figure_of_the_report(tmp_path, encoder):
    """The tag follows from the word; the capitals of the validation data are new."""
    words = [f"w{n}x" for n in range(8)]
    tags = [["AB"[n % 2] for n in range(8)]] * 16
    flags = ["--train", labeling.write_columns(tmp_path / "train", [words] * 16, tags)]
    other = [[word.upper() for word in words]]
    flags += ["--validation", labeling.write_columns(tmp_path / "dev", other, tags[:1])]
    more = ["--scheme", "none", "--no-use-crf", "--epochs", "4", "--learning-rate", "0.2"]
    more += [] if encoder == "linear" else ["--characters", "none", *EMBEDDINGS[2:]]
    run = train_tagger(flags, tmp_path / "run", *more, sizes=["--encoder", encoder])
    assert results(run)["best"]["accuracy"] == results(run)["validation"]["accuracy"] == 1.0
