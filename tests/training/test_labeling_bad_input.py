"""Tests bad input of the training commands: one line, exit code 2, and no files."""

import numpy as np
import pytest

from tests import known_models, tiny_run
from tests.training.labeling import refused
from tfreps.__main__ import main

GOOD = "Ada B-PER\nslept O\n\nRome B-LOC\n"
TEXTS = "good\tfine food\nbad\tno food\ngood\tfine\nbad\tno\n"
TINY = ["--encoder", "embeddings", "--embedding-dim", "2", "--epochs", "1"]


@pytest.fixture
def files(tmp_path):
    """Returns a function that writes text or bytes to a file and returns its path."""

    def write(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def refuse(capsys, tmp_path, program, *flags):
    err = refused(capsys, program, *flags, "--run", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    return err


TAGGED = {
    "one column in a line": ("Ada B-PER\n\nslept\n", "line 3: expected 2 columns as in line 1"),
    "Latin-1": ("na\xefve O\n".encode("latin-1"), "line 1"),
}


def test_files_of_another_format_name_the_flag(files, tmp_path, capsys):
    record = '{"text": ["Ada", "slept"], "label": ["B-PER", "O"]}\n'
    lines, columns = files("a.jsonl", record), files("a.conll", GOOD)
    for program, more in ("train-tagger", []), ("train-hmm", ["--smoothing", "0.1"]):
        more += ["--scheme", "bio"]
        err = refuse(capsys, tmp_path, program, "--train", lines, *more)
        assert "line 1: expected one token per line" in err and "Set --format to json." in err
        err = refuse(capsys, tmp_path, program, "--train", columns, "--format", "json", *more)
        assert "If the file has a different format, set --format." in err
    err = refuse(capsys, tmp_path, "train-classifier", "--train", lines)
    assert "expected 2 columns, label<TAB>text; got 1" in err and "or set --format." in err
    known_models.tagger_run(tmp_path / "tagger")
    err = refused(capsys, "evaluate", tmp_path / "tagger", "--data", lines)
    assert "Set --format to json." in err
    err = refused(capsys, "tag", tmp_path / "tagger", lines, "--input-format", "conll")
    assert "Set --input-format to json." in err


@pytest.mark.parametrize("part", ["--train", "--validation", "--test"])
@pytest.mark.parametrize("case", TAGGED)
def test_tagged_text(files, tmp_path, capsys, part, case):
    text, message = TAGGED[case]
    paths = {
        name: files(f"{name[2:]}.conll", GOOD) for name in ("--train", "--validation", "--test")
    }
    paths[part] = files("bad.conll", text)
    flags = [word for pair in paths.items() for word in pair]
    err = refuse(capsys, tmp_path, "train-tagger", *flags, "--scheme", "bio")
    assert "bad.conll" in err and message in err


@pytest.mark.parametrize("part", ["--validation", "--test"])
def test_a_new_tag(files, tmp_path, capsys, part):
    held_out = files("b", GOOD + "\nMax B-ORG\n")
    flags = ["--train", files("a", GOOD), part, held_out, "--scheme", "bio"]
    err = refuse(capsys, tmp_path, "train-tagger", *flags)
    assert f"{tmp_path / 'b'}, line 6, token 1: the tag 'B-ORG' is not one of the 3" in err


def test_tags_and_tokens_of_different_number(files, tmp_path, capsys):
    path = files(
        "a.json", '{"text": ["a"], "label": ["O"]}\n{"text": ["a", "b"], "label": ["O"]}\n'
    )
    flags = ["--train", path, "--format", "json", "--scheme", "bio"]
    err = refuse(capsys, tmp_path, "train-tagger", *flags)
    assert "line 2: expected as many tags in 'label' as tokens in 'text'; got 1 and 2" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        # byte order mark, CRLF, tabs and blanks, no line end, more blank lines
        "\ufeff\n\nAda\tB-PER\r\nslept O\r\n\r\n\r\n\n\nRome B-LOC",
        "Ada B-PER\n",
    ],
)
def test_what_looks_odd_and_is_not(files, tmp_path, text):
    flags = ["--train", files("a", text), "--scheme", "bio", *TINY]
    assert main(["train-tagger", *flags, "--run", str(tmp_path / "run")]) == 0
    tokens = ["Ada", "slept", "Rome"][: 3 if "Rome" in text else 1]
    vocabulary = (tmp_path / "run" / "vocabulary.txt").read_text().split("\n")[3:-1]
    assert sorted(vocabulary) == sorted(tokens)


LABELED = {
    "no tab": ("good fine\n", "bad.tsv, line 1: expected 2 columns, label<TAB>text; got 1"),
    "new label": (TEXTS + "so-so\tx\n", "bad.tsv, line 5: the label 'so-so' is not one of the 2"),
}


def test_too_few_texts_to_hold_some_out(files, tmp_path, capsys):
    path = files("two.tsv", "good\tfine\nbad\tpoor\n")
    err = refuse(capsys, tmp_path, "train-classifier", "--train", path)
    assert (
        "--validation-split 0.1 of 2 texts leaves no texts for training or none for evaluation"
        in err
    )


@pytest.mark.parametrize("part", ["--train", "--validation", "--test"])
@pytest.mark.parametrize("case", LABELED)
def test_labeled_texts(files, tmp_path, capsys, part, case):
    text, message = LABELED[case]
    if part == "--train" and case == "new label":
        pytest.skip("is none there")
    paths = {
        name: files(f"{name[2:]}.tsv", TEXTS) for name in ("--train", "--validation", "--test")
    }
    paths[part] = files("bad.tsv", text)
    flags = [word for pair in paths.items() for word in pair]
    assert message in refuse(capsys, tmp_path, "train-classifier", *flags)


def test_an_area_under_the_curve_needs_both_labels(files, tmp_path, capsys):
    flags = ["--train", files("a", TEXTS), "--validation", files("b", "good\tfine\ngood\tx\n")]
    err = refuse(capsys, tmp_path, "train-classifier", *flags, "--monitor", "val_auc")
    assert (
        "needs validation texts of both labels, but every validation text has the label 'good'"
        in err
    )


def test_a_single_label(files, tmp_path, capsys):
    flags = ["--train", files("a", "good\tfine\ngood\tx\n"), "--validation-split", "0"]
    err = refuse(capsys, tmp_path, "train-classifier", *flags)
    assert "at least two labels; all texts have the label 'good'." in err


def test_one_text_is_too_few_to_hold_some_out(files, tmp_path, capsys):
    err = refuse(capsys, tmp_path, "train-classifier", "--train", files("a", "good\tx\n"))
    assert "`labels` must contain at least two examples to be split; got 1" in err
    flags = ["--train", files("a", TEXTS), "--format", "folders"]
    assert "is not a folder" in refuse(capsys, tmp_path, "train-classifier", *flags)
    flags = ["--train", files("a", "x,y\n1,2\n"), "--format", "csv"]
    err = refuse(capsys, tmp_path, "train-classifier", *flags)
    assert "line 1: expected one column named 'text' in the header" in err


BOTH = [
    ("--units 0", "--units must be at least 1; got 0."),
    ("--set window=0", "--set window must be at least 1"),
    ("--dropout nan", "--dropout must be a finite number, at least 0 and below 1; got nan."),
    ("--learning-rate inf", "--learning-rate must be a finite number, above 0; got inf"),
    ("--seed 18446744073709551616", "--seed must be at least 0 and at most 2147483647; got 184"),
    ("--max-vocabulary 3", "--max-vocabulary must be at least 4"),
    ("--elmo absent", "absent does not exist"),
    ("--vectors absent.txt", "absent.txt"),
    ("--train-vectors absent.hdf5", "absent.hdf5: expected an HDF5 file of vectors"),
    ("--config absent.json", "absent.json does not exist"),
]
TAGGERS = [
    ("--token-column 5", "line 1: expected a token in column 5"),
    ("--token-column 1", "line 1: expected a token in column 1 and a tag in a different one"),
    (
        "--set transition_learning_rate_factor=5 --no-use-crf",
        "_factor cannot be combined with --no-use-crf.",
    ),
]
CLASSIFIERS = [
    ("--validation-split 1", "--validation-split must be at least 0 and below 1"),
    ("--encoder cnn --set widths=2,0", "--set widths must be at least 1"),
    ("--encoder embeddings --pooling pooled_output", "must have a `pooled_output`"),
    ("--encoding latin-9x", "latin-9x"),
]


def check_flags(files, tmp_path, capsys, program, words, message):
    train = files("train", GOOD if program == "train-tagger" else TEXTS)
    flags = ["--train", train, *(["--scheme", "bio"] if program == "train-tagger" else [])]
    assert message in refuse(capsys, tmp_path, program, *flags, *words.split())


@pytest.mark.parametrize("words, message", BOTH + TAGGERS)
def test_options_of_taggers(files, tmp_path, capsys, words, message):
    check_flags(files, tmp_path, capsys, "train-tagger", words, message)


@pytest.mark.parametrize("words, message", BOTH + CLASSIFIERS)
def test_options_of_classifiers(files, tmp_path, capsys, words, message):
    check_flags(files, tmp_path, capsys, "train-classifier", words, message)


def test_what_is_required(files, tmp_path, capsys):
    err = refuse(capsys, tmp_path, "train-tagger", "--scheme", "bio")
    assert "--train is missing: files with tagged sentences, or glob patterns." in err
    err = refuse(capsys, tmp_path, "train-tagger", "--train", files("a", GOOD))
    assert "--scheme is missing: tag scheme, which defines how tags mark spans" in err
    assert "--train is missing" in refuse(capsys, tmp_path, "train-classifier")
    err = refuse(capsys, tmp_path, "train-classifier", "--resume")
    assert f"There is no run in {tmp_path / 'run'} to resume." in err


def test_word_vectors(files, tmp_path, capsys):
    flags = ["--train", files("a", GOOD), "--scheme", "bio"]
    flags += ["--vectors", files("vectors.txt", "Ada x y\nslept 1 2\n")]
    assert "vectors.txt, line 1" in refuse(capsys, tmp_path, "train-tagger", *flags)


def test_stored_vectors_of_another_text(files, tmp_path, capsys):
    import h5py

    flags = ["--train", files("a", GOOD), "--scheme", "bio", "--train-vectors"]
    with h5py.File(tmp_path / "short.hdf5", "w") as file:
        file["0"] = np.zeros([2, 3])
    err = refuse(capsys, tmp_path, "train-tagger", *flags, tmp_path / "short.hdf5")
    assert "expected vectors of sentence 1" in err
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["0"], file["1"] = np.zeros([2, 3]), np.zeros([2, 3])
    err = refuse(capsys, tmp_path, "train-tagger", *flags, tmp_path / "other.hdf5")
    assert "sentence 1: the file has vectors of 2 tokens" in err
    err = refuse(capsys, tmp_path, "train-tagger", *flags, files("v.txt", "Ada 1 2\n"))
    assert "expected an HDF5 file of vectors" in err


def test_an_elmo_that_is_none(files, tmp_path, capsys):
    flags = ["--train", files("a", GOOD), "--scheme", "bio", "--elmo"]
    run = known_models.tagger_run(tmp_path / "tagger").path
    err = refuse(capsys, tmp_path, "train-tagger", *flags, run)
    assert "contains a tagger (Tagger); expected a biLM" in err
    path, _ = tiny_run.make_run(
        tmp_path / "ids", vocabulary_size=19, sentence_start_id=1, sentence_end_id=2
    )
    err = refuse(capsys, tmp_path, "train-tagger", *flags, path)
    assert "--elmo must be a biLM that reads character ids; " in err


def test_an_earlier_run_is_left_alone(files, tmp_path, capsys):
    run = known_models.tagger_run(tmp_path / "earlier").path
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    line = ["--train", files("a", GOOD), "--scheme", "bio", "--run", run]
    assert "already contains a run" in refused(capsys, "train-tagger", *line)
    bad = ["--train", files("b", "Ada\n"), "--scheme", "bio", "--run", run, "--overwrite"]
    assert "line 1: expected a token" in refused(capsys, "train-tagger", *bad)
    err = refused(
        capsys, "train-classifier", "--train", files("c", TEXTS), "--run", run, "--resume"
    )
    assert "is a run of `tfreps train-tagger`; expected" in err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("mine")
    line[-1] = tmp_path / "thesis"
    assert "thesis.tex" in refused(capsys, "train-tagger", *line, "--overwrite")


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--monitor", "val_auc"], "--monitor val_auc needs exactly two labels; got 3"),
        (["--set", "decay=0.9", "--warmup-steps", "2"], "--set decay cannot be combined with --"),
        (["--set", "decay=0.9", "--schedule", "linear"], "--set decay cannot be combined with --"),
        (
            ["--set", "truncation_rate=0.1", "--train-vectors", "x", "--test-vectors", "y"],
            "--set truncation_rate cannot be combined with --train-vectors.",
        ),
        (["--set", "truncation_rate=1.5"], "--set truncation_rate must be at least 0 and below 1"),
        (["--set", "plateau_decay=0"], "--set plateau_decay must be above 0"),
    ],
)
def test_recipes_that_make_no_sense(files, tmp_path, capsys, flags, message):
    train = files("train.tsv", TEXTS + "fair\tsome food\nfair\tfood\n")
    test = files("test.tsv", TEXTS)
    words = ["--train", train, "--test", test, *TINY, *flags]
    assert message in refuse(capsys, tmp_path, "train-classifier", *words)
