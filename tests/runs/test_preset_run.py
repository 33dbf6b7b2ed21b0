import json

import numpy as np
import pytest
import yaml

import tfreps
from tests import tiny_bert
from tfreps.inference import TextTagger
from tfreps.models import HMMTagger, Tagger, TokenEmbedder
from tfreps.runs.run_folder import RunFolder
from tfreps.text import TokenIndexer

SENTENCES = [["Ada", "lives", "1843"], ["lives"]]


def make_tagger(cls=Tagger, **reading):
    indexer = TokenIndexer.from_sentences(SENTENCES, **reading)
    if cls is HMMTagger:
        model = HMMTagger(indexer.vocabulary_size, ["O", "B-X"], "bio")
    else:
        model = Tagger(TokenEmbedder(indexer.vocabulary_size, 4), ["O", "B-X"], "bio")
        for weight in model.trainable_weights:
            weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    return TextTagger(model, indexer, "words")


@pytest.mark.parametrize("cls", [Tagger, HMMTagger])
def test_a_tagger_in_memory(tmp_path, cls):
    tagger = make_tagger(cls, lowercase=True, digits_to_zero=True)
    tagger.save_preset(tmp_path / "mine")
    again = tfreps.load(tmp_path / "mine")
    text = "ADA lives, 1999."
    assert again(text).tokens == tagger(text).tokens and again(text).tags == tagger(text).tags
    np.testing.assert_array_equal(again(text).confidences, tagger(text).confidences)
    assert again.indexer.lowercase and again.indexer.digits_to_zero and again.scheme == "bio"
    again.save_preset(tmp_path / "again")  # a preset can be published again
    for name in "config.json", "model.safetensors", "vocabulary.txt", "tags.txt", "options.json":
        if name != "config.json":
            assert (tmp_path / "mine" / name).read_bytes() == (
                tmp_path / "again" / name
            ).read_bytes()


def test_a_run_keeps_how_it_was_trained_but_no_paths(tmp_path):
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces("good", "bad"))
    head = json.loads((path / "options.json").read_text())
    head["options"] |= {"train": ["/home/me/secret/train.txt"], "init": "/home/me/bert", "seed": 3}
    (path / "options.json").write_text(json.dumps(head))
    run = tfreps.load(path)
    run.save_preset(tmp_path / "mine")
    options = json.loads((tmp_path / "mine/options.json").read_text())
    assert options["program"] == "pretrain-bert"
    assert options["options"]["train"] == ["train.txt"] and options["options"]["init"] == "bert"
    text = (tmp_path / "mine/README.md").read_text()
    assert yaml.safe_load(text.split("---\n")[1])["library_name"] == "transformers"
    everything = b"".join(p.read_bytes() for p in (tmp_path / "mine").iterdir())
    assert b"/home/me" not in everything and str(tmp_path).encode() not in everything
    again = tfreps.load(tmp_path / "mine")
    np.testing.assert_array_equal(again("good").vectors, run("good").vectors)
    assert again.run.program == "pretrain-bert"


def test_a_changed_vocabulary_is_found(tmp_path):
    make_tagger().save_preset(tmp_path / "mine")
    (tmp_path / "mine/vocabulary.txt").write_text("<S>\n</S>\n<UNK>\nother\n")
    with pytest.raises(ValueError, match="vocabulary.txt is not the file"):
        tfreps.load(tmp_path / "mine")


def test_no_run_replaces_a_preset(tmp_path):
    make_tagger().save_preset(tmp_path / "mine")
    with pytest.raises(ValueError, match="by `save_preset`, and a run cannot replace it"):
        RunFolder.create(tmp_path / "mine", "train-tagger", {}, overwrite=True)
    run = RunFolder.open(tmp_path / "mine")
    assert run.is_preset and "was not changed" in run.add_evaluation("evaluate", {"f1": 1.0})


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tfreps.runs.preset_run.write_model_card", full)
    with pytest.raises(OSError, match="No space left"):
        make_tagger().save_preset(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []
