"""Tests `tfreps convert`: the other commands accept the runs that it makes."""

import json

import h5py
import numpy as np
import pytest

from tests.bilm_tf_run import training_arrays, training_options, write_training_folder
from tests.closeness import assert_close
from tests.tiny_run import VOCABULARY, make_run
from tfreps.__main__ import main
from tfreps._src.convert import bilm_tf, bilm_tf_checkpoint
from tfreps.models import BiLM, BiLMPretrainer
from tfreps.runs import RunFolder

TEXT = "The dog left the bank .\nher hand\n"
WORDS = {"filters": [], "vocabulary_size": len(VOCABULARY), "num_layers": 1}
TWENTY = [*VOCABULARY.tokens, "zebra"]
TO_BILM_TF = "--output-format", "bilm-tf"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "run")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def convert(*arguments):
    assert main(["convert", *map(str, arguments)]) == 0


def refused(capsys, *arguments, program="convert"):
    capsys.readouterr()
    assert main([program, *map(str, arguments)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tfreps {program}: error: ") and err.count("\n") == 1
    return err


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def vectors(tmp_path, name, *arguments):
    output = tmp_path / name
    assert main(["embed", *map(str, arguments), "--output", str(output)]) == 0
    with h5py.File(output) as file:
        return [file[key][()] for key in ("0", "1")]


@pytest.mark.slow
def test_there_and_back(run, text, tmp_path, capsys):
    path, model = run
    files = tmp_path / "deep" / "published"
    convert(path, *TO_BILM_TF, "--output", files)
    assert names(files) == ["README.md", "options.json", "vocabulary.txt", "weights.hdf5"]
    card = (files / "README.md").read_text()
    assert "# published\n" in card and 'tfreps.load("published")' in card
    assert names(files.parent) == ["published"]
    assert (files / "vocabulary.txt").read_text().split("\n")[:-1] == VOCABULARY.tokens
    assert json.loads((files / "options.json").read_text())["lstm"]["dim"] == 12
    out = capsys.readouterr().out
    assert (
        f"Wrote {files}: README.md, options.json, vocabulary.txt, weights.hdf5." in out
        and "Next" in out
    )

    pair = ["--elmo-config", files / "options.json", "--elmo-weights", files / "weights.hdf5"]
    back = tmp_path / "back"
    back.mkdir()  # an empty folder is allowed
    convert(*pair, "--output", back)
    assert f"Wrote {back}: " in (out := capsys.readouterr().out) and "tfreps embed" in out
    folder = RunFolder.open(back, "convert")
    bilm = folder.load_model()
    assert isinstance(bilm, BiLM) and not folder.vocabulary_path.exists()
    expected = bilm_tf.weights_of(model.bilm)
    for name, weight in bilm_tf.weights_of(bilm).items():
        first = 1 if name == "token_encoder/characters" else 0  # row 0 is padding
        np.testing.assert_array_equal(weight[first:], expected[name][first:], err_msg=name)

    for one, other in zip(
        vectors(tmp_path, "a.hdf5", path, text),
        vectors(tmp_path, "b.hdf5", back, text),
        strict=True,
    ):
        assert_close(one, other)
    err = refused(capsys, back, "--text", text, program="evaluate-lm")
    assert f"tfreps pretrain-elmo --init {back}" in err


def test_files_that_allennlp_cannot_load(tmp_path, capsys):
    bilm = BiLM(filters=[[1, 4]], units=4, projection_dim=4, max_characters=10)
    RunFolder.create(tmp_path / "run", "convert", {}).save_model(bilm)
    convert(tmp_path / "run", *TO_BILM_TF, "--output", tmp_path / "files")
    out = capsys.readouterr().out
    assert "warning: bilm-tf can load weights.hdf5, but AllenNLP cannot: the model has LSTMs" in out
    assert "Next, in AllenNLP" not in out


@pytest.mark.slow
def test_an_export_of_a_converted_run(run, tmp_path):
    convert(run[0], *TO_BILM_TF, "--output", tmp_path / "files")
    pair = (
        "--elmo-config",
        tmp_path / "files/options.json",
        "--elmo-weights",
        tmp_path / "files/weights.hdf5",
    )
    convert(*pair, "--vocabulary", tmp_path / "files/vocabulary.txt", "--output", tmp_path / "run")
    assert RunFolder.open(tmp_path / "run").vocabulary().tokens == VOCABULARY.tokens
    assert main(["export", str(tmp_path / "run"), "--output", str(tmp_path / "export")]) == 0
    assert main(["predict", str(tmp_path / "export"), "the dog left"]) == 0


@pytest.fixture(scope="module")
def training_folder(tmp_path_factory):
    """Returns a run of bilm-tf over token ids, and its vocabulary."""
    folder = tmp_path_factory.mktemp("old")
    options = training_options({"n_layers": 1}, characters=None)
    write_training_folder(folder / "run", options, training_arrays(options))
    (folder / "vocabulary.txt").write_text("".join(token + "\n" for token in TWENTY))
    return folder


@pytest.mark.slow
def test_a_training_folder(training_folder, text, tmp_path, capsys):
    old, vocabulary = training_folder / "run", training_folder / "vocabulary.txt"
    run = tmp_path / "run"
    convert("--checkpoint", old, "--vocabulary", vocabulary, "--output", run)
    out = capsys.readouterr().out
    assert f"tfreps evaluate-lm {run} --text FILE" in out and "over 20 tokens" in out
    assert f"tfreps pretrain-elmo --init {old}" in out
    folder = RunFolder.open(run, "convert")
    model, expected = folder.load_model(), bilm_tf_checkpoint.read_training_folder(old).model
    assert isinstance(model, BiLMPretrainer) and folder.vocabulary().tokens == TWENTY
    theirs = bilm_tf_checkpoint.weights_of(expected)
    for name, weight in bilm_tf_checkpoint.weights_of(model).items():
        np.testing.assert_array_equal(weight.numpy(), theirs[name].numpy(), err_msg=name)

    assert main(["evaluate-lm", str(run), "--text", str(text)]) == 0
    assert folder.results()["evaluation"]["perplexity"] > 1
    assert vectors(tmp_path, "v.hdf5", run, text)[0].shape == (2, 6, 8)
    train = ["--train", str(text), "--run", str(tmp_path / "new"), "--steps", "1"]
    train += ["--batch-size", "1", "--unroll-steps", "4", "--num-sampled", "0"]
    assert main(["pretrain-elmo", "--init", str(run), *train]) == 0
    assert RunFolder.open(tmp_path / "new").vocabulary().tokens == TWENTY


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["MODEL", "--elmo-config", "O"],
        ["MODEL", *TO_BILM_TF, "--vocabulary", "V"],
        ["--elmo-config", "O"],
        ["--elmo-config", "O", "--elmo-weights", "W", *TO_BILM_TF],
        ["--elmo-config", "O", "--elmo-weights", "W", "--checkpoint", "C"],
        ["--checkpoint", "C"],
    ],
)
def test_what_belongs_together(capsys, arguments):
    err = refused(capsys, *arguments, "--output", "OUT")
    expected = "only MODEL with --output-format" if TO_BILM_TF[0] in arguments else "MODEL [--sch"
    assert f"Expected {expected}" in err and "; got " in err


def spoiled(tmp_path, model, spoil):
    files = tmp_path / "options.json", tmp_path / "weights.hdf5"
    bilm_tf.write_weights(model, *files)
    spoil(*files)
    return ["--elmo-config", files[0], "--elmo-weights", files[1]]


def drop(options, weights):
    with h5py.File(weights, "a") as file:
        del file["CNN/W_cnn_0"]


def spoil_with_nan(options, weights):
    with h5py.File(weights, "a") as file:
        file["char_embed"][3] = np.nan


def cut(options, weights):
    weights.write_bytes(weights.read_bytes()[:2000])


def misname(options, weights):
    options.write_text(options.read_text().replace('"relu"', '"gelu"'))


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "spoil, message",
    [
        (drop, "missing: CNN/W_cnn_0"),
        (spoil_with_nan, "char_embed"),
        (cut, "weights.hdf5"),
        (misname, "gelu"),
        (lambda options, weights: options.unlink(), "options.json"),
        (lambda options, weights: weights.unlink(), "weights.hdf5"),
    ],
)
def test_broken_files_leave_nothing(run, tmp_path, capsys, spoil, message):
    source = spoiled(tmp_path, run[1].bilm, spoil)
    before = names(tmp_path)
    assert message in refused(capsys, *source, "--output", tmp_path / "run")
    assert names(tmp_path) == before


def test_a_full_disk_leaves_nothing(run, tmp_path, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(BiLM, "save_pretrained", full)
    assert "No space left" in refused(capsys, run[0], *TO_BILM_TF, "--output", tmp_path / "out")
    assert names(tmp_path) == []


def test_the_target_is_taken(run, tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("mine")
    for target in (tmp_path, tmp_path / "thesis.tex"):
        assert "Choose another" in refused(capsys, run[0], *TO_BILM_TF, "--output", target)
    assert names(tmp_path) == ["thesis.tex"]


def test_bad_runs(tmp_path, capsys):
    out = tmp_path / "out"
    assert "does not exist" in refused(capsys, tmp_path / "nowhere", *TO_BILM_TF, "--output", out)
    path, _ = make_run(tmp_path / "run", bidirectional=False, **WORDS)
    assert "one direction" in refused(capsys, path, *TO_BILM_TF, "--output", out)
    assert not out.exists()


def test_vocabularies(training_folder, tmp_path, capsys):
    """A biLM that reads token ids needs a vocabulary, and rejects one of another size."""
    path, model = make_run(tmp_path / "run", **WORDS)
    pair = spoiled(tmp_path, model.bilm, lambda *_: None)
    new = tmp_path / "new"
    assert "--vocabulary is missing. " in refused(capsys, *pair, "--output", new)
    vocabulary = training_folder / "vocabulary.txt"
    err = refused(capsys, *pair, "--vocabulary", vocabulary, "--output", new)
    assert "weights.hdf5 has 19 tokens, but" in err and "vocabulary.txt has 20" in err
    own = RunFolder.open(path).vocabulary_path
    err = refused(
        capsys, "--checkpoint", training_folder / "run", "--vocabulary", own, "--output", new
    )
    assert "a vocabulary of 20 tokens" in err
    err = refused(capsys, "--checkpoint", path, "--vocabulary", own, "--output", new)
    assert "--vocabulary applies only to" in err and "its own vocabulary" in err
    assert not new.exists()
    convert(*pair, "--vocabulary", own, "--output", new)
    bilm = RunFolder.open(new).load_model()
    assert (bilm.sentence_start_id, bilm.sentence_end_id) == (1, 2)


def test_a_folder_of_a_published_bilm(run, tmp_path, capsys):
    files, back = tmp_path / "published", tmp_path / "back"
    convert(run[0], *TO_BILM_TF, "--output", files)
    convert(files, "--output", back)
    assert f"Wrote {back}: " in capsys.readouterr().out
    folder = RunFolder.open(back, "convert")
    assert isinstance(folder.load_model(), BiLM)
    assert folder.vocabulary().tokens == VOCABULARY.tokens
    err = refused(capsys, back, "--output", tmp_path / "again")
    assert "is already a run folder" in err
    words = tmp_path / "words"
    BiLM(units=8, projection_dim=4, vocabulary_size=9).save_pretrained(words)
    err = refused(capsys, words, "--output", tmp_path / "again")
    assert "vocabulary" in err and not (tmp_path / "again").exists()
