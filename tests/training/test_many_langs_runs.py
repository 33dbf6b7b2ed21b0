"""Commands on a model of ELMoForManyLangs: embed, convert, training of taggers and classifiers."""

import json
import shutil

import h5py
import numpy as np
import pytest

import tfreps
from tests.closeness import assert_close
from tests.convert.many_langs_fixture import FOLDER, SENTENCES
from tfreps._src.cli.commands import main
from tfreps.inference import TextTagger
from tfreps.models import Elmo, Tagger, TokenEmbedder
from tfreps.text import TokenIndexer

pytestmark = pytest.mark.usefixtures("eager_if_quick")

MODEL = FOLDER / "words"
TEXT = "the dog sat\n海林 海 林\n\nда café تك 😀 internationalization\n"
TAGGED = "the\tX\ndog\tY\nsat\tZ\n\n海林\tY\n海\tY\n林\tY\n\nда\tX\ncafé\tY\nتك\tZ\n\n"
COMBINED = {
    "average": lambda layers: layers.mean(axis=0),
    "0": lambda layers: layers[0],
    "1": lambda layers: layers[1],
    "2": lambda layers: layers[2],
    "all": lambda layers: layers,
}


def run(command, *arguments):
    assert main([command, *map(str, arguments)]) == 0


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.few(1)
@pytest.mark.parametrize("layers", ["1", "average", "0", "2", "all"])
def test_embed_writes_what_the_original_writes(text, tmp_path, layers):
    run("embed", MODEL, text, "--output", tmp_path / "v.hdf5", "--layers", layers, "--cache", 2)
    outputs = json.loads((MODEL / "outputs.json").read_text(encoding="utf-8"))
    with h5py.File(tmp_path / "v.hdf5") as file:
        for number, row in [("0", 0), ("1", 1), ("3", 2)]:
            expected = np.reshape(outputs[row], [3, len(SENTENCES[row]), 8])
            assert_close(file[number][()], COMBINED[layers](expected))
        assert file["2"].shape[-2] == 0
    before = (tmp_path / "v.hdf5").read_bytes()
    again = "embed", MODEL, text, "--output", tmp_path / "v.hdf5", "--layers", layers, "--cache", 2
    run(*again, "--resume")
    assert (tmp_path / "v.hdf5").read_bytes() == before


def test_errors(text, tmp_path, capsys):
    embed = "embed", MODEL, text, "--output", tmp_path / "v.hdf5"
    run("convert", MODEL, "--output", tmp_path / "run")
    for arguments, message in [
        ((*embed, "--layers", "3"), "--layers must be a number from 0 to 2, the layers of the"),
        ((*embed, "--layers", "-1"), "--layers must be all, top, average, mix or the number"),
        (("evaluate-lm", tmp_path / "run", "--text", text), "which has none.\n"),
        (
            ("convert", MODEL, "--output", tmp_path / "o", "--output-format", "bilm-tf"),
            "whose words and Unicode characters the format of bilm-tf cannot represent",
        ),
    ]:
        assert main([*map(str, arguments)]) == 2
        assert message in capsys.readouterr().err


def test_a_run_folder_and_neighbors(text, tmp_path, capsys):
    run("convert", MODEL, "--output", tmp_path / "run")
    converted, original = tfreps.load(tmp_path / "run"), tfreps.load(MODEL)
    ids = original.word_characters(SENTENCES[:2])
    np.testing.assert_array_equal(converted.word_characters(SENTENCES[:2]), ids)
    expected = original.model(ids)["layer_outputs"]
    assert_close(converted.model(ids)["layer_outputs"], expected)
    run("neighbors", tmp_path / "run", "--text", text, "--word", "dog")
    assert "the [dog] sat" in capsys.readouterr().out


def training(tmp_path, *flags):
    tagged = tmp_path / "tagged.conll"
    tagged.write_text(TAGGED, encoding="utf-8")
    shutil.copytree(MODEL, tmp_path / "model")
    return [
        *("--train", tagged, "--validation", tagged, "--scheme", "none", "--encoder", "embeddings"),
        *("--elmo", tmp_path / "model", "--run", tmp_path / "run", "--batch-size", 2, *flags),
    ]


def test_a_preset_of_a_tagger_needs_no_other_folder(tmp_path):
    shutil.copytree(MODEL, tmp_path / "model")
    loaded = tfreps.load(tmp_path / "model")
    indexer = TokenIndexer(["<S>", "</S>", "<UNK>"], word_characters=loaded.word_characters)
    embedder = TokenEmbedder(elmo=Elmo(loaded.model))
    TextTagger(Tagger(embedder, ["X", "Y"]), indexer).save_to_preset(tmp_path / "preset")
    shutil.rmtree(tmp_path / "model")
    check_elmo(tfreps.load(tmp_path / "preset"))


@pytest.mark.slow
def test_a_tagger_needs_no_other_folder(tmp_path):
    run("train-tagger", *training(tmp_path, "--epochs", 1, "--no-words"))
    shutil.rmtree(tmp_path / "model")
    (tmp_path / "run").rename(tmp_path / "moved")
    check_elmo(tfreps.load(tmp_path / "moved"))


def check_elmo(tagger):
    """Asserts that the Elmo of a tagger mixes the layers of the original."""
    elmo, original = tagger.model.find(Elmo), tfreps.load(MODEL)
    for one, other in zip(elmo.bilm.weights, original.model.weights, strict=True):
        np.testing.assert_array_equal(one, other)  # frozen
    features = tagger.indexer(np.array([SENTENCES[0]]))
    shares = np.asarray(elmo.mixes[0].normalized_weights())
    layers = original.encode(SENTENCES[:1])[0]
    gamma = float(np.asarray(elmo.mixes[0].gamma))
    expected = gamma * np.tensordot(shares, layers, 1)
    assert_close(tagger.model.encoder(features)["sequence_output"][0], expected)


@pytest.mark.slow
def test_commands_on_a_tagger(tmp_path, capsys):
    run("train-tagger", *training(tmp_path, "--epochs", 1, "--characters", "cnn"))
    shutil.rmtree(tmp_path / "model")
    tagger = tfreps.load(tmp_path / "run")
    run("evaluate", tmp_path / "run", "--data", tmp_path / "tagged.conll")
    assert "accuracy" in capsys.readouterr().out
    (tmp_path / "text.txt").write_text("the dog 海林\n", encoding="utf-8")
    run("tag", tmp_path / "run", tmp_path / "text.txt")
    assert "海林" in capsys.readouterr().out
    tagger.save_to_preset(tmp_path / "preset")
    again = tfreps.load(tmp_path / "preset")
    assert again.tag(SENTENCES[:2])[1].tags == tagger.tag(SENTENCES[:2])[1].tags


@pytest.mark.slow
def test_a_resumed_run_that_fine_tunes(tmp_path):
    flags = "--elmo-fine-tune", "--elmo-initial-state", "warm", "--deterministic"
    arguments = training(tmp_path, "--epochs", 4, *flags)
    run("train-tagger", *arguments)
    whole = tfreps.load(tmp_path / "run")
    bilm, original = whole.model.find(Elmo).bilm, tfreps.load(MODEL).model
    assert bilm.initial_state == "warm"
    changed = [
        np.abs(a.numpy() - b.numpy()).max()
        for a, b in zip(bilm.trainable_weights, original.trainable_weights, strict=True)
    ]
    assert min(changed) > 0
    (tmp_path / "run").rename(tmp_path / "whole")
    run("train-tagger", *arguments, "--time-limit-minutes", 1e-5)
    run("train-tagger", "--run", tmp_path / "run", "--resume", "--time-limit-minutes", 60)
    resumed = tfreps.load(tmp_path / "run")
    for one, other in zip(resumed.model.weights, whole.model.weights, strict=True):
        np.testing.assert_array_equal(one, other)
