"""Presets and published weights: written, read, uploaded, and read in part."""

import inspect
import json
import shutil

import numpy as np
import pytest
import yaml

import tfreps
from tests import tiny_bert
from tfreps.inference import TextTagger
from tfreps.models import (
    BertEncoder,
    BiLM,
    Classifier,
    Elmo,
    HMMTagger,
    Tagger,
    TextCNN,
    TokenEmbedder,
)
from tfreps.runs import RunFolder
from tfreps.text import TokenIndexer

WORDS = "good", "bad", "hotel"


def tiny_bilm(**options):
    return BiLM(filters=[[1, 8]], units=8, projection_dim=4, **options)


@pytest.fixture
def published(tmp_path):
    tiny_bilm().save_pretrained(tmp_path / "elmo")
    return tmp_path / "elmo"


def test_signatures_name_the_options():
    names = {
        BertEncoder.from_pretrained: "num_layers pooler dropout attention_dropout trainable dtype",
        BiLM.from_pretrained: "weights_file initial_state embedding_file max_batch_size dtype",
        Classifier.from_pretrained: "labels encoder_options next_sentence dropout class_weights",
        Elmo.from_preset: "num_output_representations dropout fine_tune layer_norm top_only",
        Tagger.from_pretrained: "tags encoder_options scheme use_crf constrain dropout",
        TextCNN.from_preset: "options",
        tfreps.load: "weights_file vocabulary initial_state scheme num_layers",
    }
    for method, options in names.items():
        parameters = list(inspect.signature(method).parameters)
        assert parameters[0] == "source" and set(options.split()) <= set(parameters)


def test_published_weights(published):
    bilm = BiLM.from_preset(published, initial_state="warm")
    assert bilm.initial_state == "warm" and bilm.trainable
    for read in (
        BiLM.from_preset,
        BiLM.from_pretrained,
    ):  # `None` is the default, except in **options
        found = read(published, dropout=None, initial_state="carry", cell_clip=None)
        assert (found.dropout, found.initial_state, found.cell_clip) == (0.0, "carry", None)
    elmo = Elmo.from_preset(published, num_output_representations=2)
    assert len(elmo(np.zeros([1, 2, 50], "int32"))["elmo_representations"]) == 2
    assert not elmo.bilm.trainable


@pytest.mark.slow
def test_an_archive(published, tmp_path, monkeypatch):
    """`from_pretrained` reads what `from_preset` reads, and errors name the archive."""
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    path = shutil.make_archive(tmp_path / "elmo", "zip", tmp_path, "elmo")
    ids = np.ones([1, 2, 50], "int32")
    expected = BiLM.from_pretrained(published)(ids)["sequence_output"]
    for read in BiLM.from_pretrained, BiLM.from_preset:
        np.testing.assert_array_equal(read(path)(ids)["sequence_output"], expected)
    (published / "weights.hdf5").write_bytes(b"damaged")
    path = shutil.make_archive(tmp_path / "damaged", "zip", tmp_path, "elmo")
    for read in BiLM.from_pretrained, BiLM.from_preset, tfreps.load:
        with pytest.raises(ValueError, match=f"{path}/weights.hdf5") as raised:
            read(path)
        assert "keras" not in str(raised.value)


def test_a_part_of_a_larger_model(tmp_path):
    bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
    Classifier(bert, ["bad", "good"], "pooled_output").save_to_preset(tmp_path / "reviews")
    found = BertEncoder.from_preset(tmp_path / "reviews")
    for ours, theirs in zip(found.weights, bert.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="of the class BiLM; got a Classifier"):
        BiLM.from_preset(tmp_path / "reviews")
    with pytest.raises(ValueError, match="`num_layers` cannot be changed"):
        BertEncoder.from_preset(tmp_path / "reviews", num_layers=1)
    with pytest.raises(ValueError, match="a path, a name or an address; got None"):
        BertEncoder.from_preset(None)


def test_elmo_from_the_preset_of_a_bilm(tmp_path):
    tiny_bilm().save_to_preset(tmp_path / "mine")
    assert isinstance(Elmo.from_preset(tmp_path / "mine", dropout=0.1), Elmo)


def test_classes_without_another_format(published):
    with pytest.raises(ValueError, match="the options.json of a published biLM. Expected one of"):
        TextCNN.from_preset(published)


def test_a_derived_class_reads_the_files_of_its_parent(published):
    class MyBiLM(BiLM):
        pass

    assert isinstance(MyBiLM.from_pretrained(published), BiLM)


def test_a_keras_file(tmp_path):
    bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
    Classifier(bert, ["bad", "good"]).save(tmp_path / "model.keras")
    found = BertEncoder.from_preset(tmp_path / "model.keras")
    np.testing.assert_array_equal(found.weights[0], bert.weights[0])
    assert type(tfreps.load(tmp_path / "model.keras")).__name__ == "LoadedModel"
    (tmp_path / "torn.keras").write_bytes((tmp_path / "model.keras").read_bytes()[:-99])
    with pytest.raises(ValueError, match="torn.keras is damaged"):
        tfreps.load(tmp_path / "torn.keras")


def test_an_existing_folder_is_kept(tmp_path):
    (tmp_path / "file").write_text("kept")
    model = TextCNN(TokenEmbedder(vocabulary_size=9), num_filters=4)
    with pytest.raises(ValueError, match="is not an empty folder. Choose a new folder"):
        model.save_to_preset(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.slow
def test_upload_and_load_by_address(hub, tmp_path):
    """A published model opens again, with its vocabulary, and gives the same outputs."""
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces(*WORDS))
    mine = tfreps.load(path)
    url = mine.upload_preset("hf://me/my-bert", message="First", private=True)
    assert "/me/my-bert/commit/" in url
    theirs = tfreps.load("hf://me/my-bert")
    np.testing.assert_array_equal(theirs("good hotel").vectors, mine("good hotel").vectors)
    card = hub.repositories["me/my-bert"]["main"]["README.md"].decode()
    assert "# my-bert" in card and "library_name" in card
    names = set(hub.repositories["me/my-bert"]["main"]) - {".gitattributes"}
    assert {"vocab.txt", "tokenizer_config.json", "config.json", "model.safetensors"} <= names
    assert str(tmp_path) not in hub.repositories["me/my-bert"]["main"]["options.json"].decode()


def test_a_tagger_of_the_hub_without_vocabulary(hub):
    tagger = Tagger(TokenEmbedder(vocabulary_size=9), ["O", "X"])
    tagger.upload_preset("hf://me/tagger/small")
    found = Tagger.from_preset("hf://me/tagger/small")
    assert found.tags == ["O", "X"]
    assert type(tfreps.load("hf://me/tagger/small")).__name__ == "LoadedModel"


SENTENCES = [["Ada", "lives", "1843"], ["lives"]]


def make_tagger(cls=Tagger, **reading):
    indexer = TokenIndexer.from_sentences(SENTENCES, **reading)
    if cls is HMMTagger:
        model = HMMTagger(indexer.vocabulary_size, ["O", "B-X"], "bio")
    else:
        embedder = TokenEmbedder(indexer.vocabulary_size, 4)
        model = Tagger(embedder, ["O", "B-X"], "bio", use_crf=False)
        for weight in model.trainable_weights:
            weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    return TextTagger(model, indexer, "words")


@pytest.mark.slow
@pytest.mark.parametrize("cls", [Tagger, HMMTagger])
def test_a_tagger_in_memory(tmp_path, cls):
    tagger = make_tagger(cls, lowercase=True, digits_to_zero=True)
    tagger.save_to_preset(tmp_path / "mine")
    again = tfreps.load(tmp_path / "mine")
    text = "ADA lives, 1999."
    assert again(text).tokens == tagger(text).tokens and again(text).tags == tagger(text).tags
    np.testing.assert_array_equal(again(text).confidences, tagger(text).confidences)
    assert again.indexer.lowercase and again.indexer.digits_to_zero and again.scheme == "bio"
    again.save_to_preset(tmp_path / "again")  # a preset can be published again
    mine, other = tmp_path / "mine", tmp_path / "again"
    for name in "model.safetensors", "vocabulary.txt", "tags.txt", "options.json":
        assert (mine / name).read_bytes() == (other / name).read_bytes()


def test_a_run_keeps_how_it_was_trained_but_no_paths(tmp_path):
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces("good", "bad"))
    run = RunFolder.open(path)
    run.set_options({"train": ["/home/me/secret/train.txt"], "init": "/home/me/bert", "seed": 3})
    run.write_options()
    run = tfreps.load(path)
    run.save_to_preset(tmp_path / "mine")
    options = json.loads((tmp_path / "mine/options.json").read_text())
    assert options["command"] == "pretrain-bert"
    assert options["options"]["train"] == ["train.txt"] and options["options"]["init"] == "bert"
    text = (tmp_path / "mine/README.md").read_text()
    assert yaml.safe_load(text.split("---\n")[1])["library_name"] == "transformers"
    everything = b"".join(p.read_bytes() for p in (tmp_path / "mine").iterdir())
    assert b"/home/me" not in everything and str(tmp_path).encode() not in everything
    again = tfreps.load(tmp_path / "mine")
    for ours, theirs in zip(again.model.get_weights(), run.model.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert again.run.command == "pretrain-bert"


def test_a_changed_vocabulary_is_found(tmp_path):
    make_tagger().save_to_preset(tmp_path / "mine")
    (tmp_path / "mine/vocabulary.txt").write_text("<S>\n</S>\n<UNK>\nother\n")
    with pytest.raises(ValueError, match="vocabulary.txt is not the file"):
        tfreps.load(tmp_path / "mine")


def test_no_run_replaces_a_preset(tmp_path):
    make_tagger().save_to_preset(tmp_path / "mine")
    with pytest.raises(ValueError, match="by `save_to_preset`; a run cannot replace it"):
        RunFolder.create(tmp_path / "mine", "train-tagger", {}, overwrite=True)
    run = RunFolder.open(tmp_path / "mine")
    assert run.is_preset and "was not changed" in run.add_evaluation("evaluate", {"f1": 1.0})


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tfreps._src.runs.model_files.write_model_card", full)
    with pytest.raises(OSError, match="No space left"):
        make_tagger().save_to_preset(tmp_path / "mine")
    assert list(tmp_path.iterdir()) == []
