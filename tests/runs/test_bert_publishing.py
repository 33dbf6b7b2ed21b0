"""Published BERTs with a head become run folders and back, with equal outputs for raw text."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tests.training.labeling import ask, refused
from tfreps import load
from tfreps.__main__ import main
from tfreps._src.runs.run_folder import TOKENIZER
from tfreps.inference import TextTagger
from tfreps.models import BertPretrainer, Classifier, PieceEncoder, Tagger
from tfreps.runs import RunFolder
from tfreps.text import WordPieceTokenizer, checkpoint_tokenizer, write_tokenizer

WORDS = "the room was terrible lovely Paris Lisbon".split()
TAGS = ["O", "B-LOC", "I-LOC"]
HUGGING_FACE = "--output-format", "hugging-face"


def tokenizer():
    return WordPieceTokenizer(tiny_bert.pieces(*map(str.lower, WORDS)).vocabulary)


def randomized(model):
    rng = np.random.default_rng(3)
    for weight in (model.kernel, model.bias):
        weight.assign(rng.normal(size=weight.shape))
    return model


@pytest.fixture
def classifier(tmp_path):
    """Returns a published classifier and its folder."""
    model = Classifier(tiny_bert.make_encoder(tokenizer()), ["bad", "good"], "pooled_output")
    randomized(model).save_pretrained(tmp_path / "classifier")
    tokenizer().write_vocabulary(tmp_path / "classifier" / "vocab.txt")
    return model, tmp_path / "classifier"


@pytest.fixture
def tagger(tmp_path):
    model = Tagger(tiny_bert.make_encoder(tokenizer()), TAGS, use_crf=False)
    randomized(model).save_pretrained(tmp_path / "tagger")
    tokenizer().write_vocabulary(tmp_path / "tagger" / "vocab.txt")
    return model, tmp_path / "tagger"


def convert(*words):
    assert main(["convert", *map(str, words)]) == 0


def test_a_published_classifier_answers_raw_text(classifier, tmp_path, capsys):
    model, folder = classifier
    convert(folder, "--output", tmp_path / "run")
    assert f"tfreps classify {tmp_path / 'run'}" in capsys.readouterr().out
    text = "the room was terrible"
    ids = [tokenizer().build_inputs(tokenizer().text_to_ids(text))[0]]
    expected = model({"token_ids": np.array(ids)})["probabilities"].numpy()[0]
    answer = json.loads(
        ask("classify", tmp_path / "run", "--output-format", "json", stdin=text.encode())
    )
    assert list(answer["probabilities"].values()) == pytest.approx(expected, abs=1e-4)  # 4 digits


@pytest.mark.slow
def test_where_the_files_name_no_class_a_scheme_does(tagger, tmp_path):
    path = tagger[1] / "config.json"
    config = json.loads(path.read_text())
    del config["architectures"]
    path.write_text(json.dumps(config))
    for number, scheme in enumerate(("bio", "none")):
        convert(tagger[1], "--output", tmp_path / str(number), "--scheme", scheme)
        opened = load(tmp_path / str(number))
        assert opened.is_tagger and opened.scheme == (None if scheme == "none" else "bio")


@pytest.mark.slow
def test_a_published_tagger_answers_words(tagger, tmp_path):
    """A word gets the tag of its first piece, as in the NER example of transformers."""
    model, folder = tagger
    convert(folder, "--output", tmp_path / "run", "--scheme", "bio")
    opened = load(tmp_path / "run")
    assert opened.tokenize(["Paris, lovely"]) == [["Paris", ",", "lovely"]]
    words = ["Lisbon", "was", "terrible"]
    pieces = [tokenizer().text_to_ids(word) for word in words]
    assert [len(own) for own in pieces] == [2, 1, 2]
    ids = np.array([[2, *sum(pieces, []), 3]])
    emissions = model({"token_ids": ids})["emissions"].numpy()[0]
    shares = np.exp(emissions) / np.exp(emissions).sum(-1, keepdims=True)
    shares = shares[[1, 3, 4]]  # the first pieces
    found = TextTagger(load(folder, scheme="none").model, opened.indexer, "words").tag([words])[0]
    assert found.tags == [TAGS[place] for place in shares.argmax(-1)]
    assert_close(found.confidences, shares.max(-1))
    np.testing.assert_array_equal(opened.model.kernel, model.kernel)
    assert opened.scheme == "bio" and isinstance(opened.model.encoder, PieceEncoder)


@pytest.mark.slow
def test_a_published_tagger_cuts_words_as_its_tokenizer(tmp_path):
    """Each Chinese character gets a tag, also in an export; characters that BERT drops do not."""
    cut = tiny_bert.pieces("the", *"住在北京")
    model = randomized(Tagger(tiny_bert.make_encoder(cut), TAGS, use_crf=False))
    model.save_pretrained(tmp_path / "tagger")
    cut.write_vocabulary(tmp_path / "tagger" / "vocab.txt")
    convert(tmp_path / "tagger", "--output", tmp_path / "run", "--scheme", "bio")
    opened, text = load(tmp_path / "run"), "the\u200b 住在北京!"
    words = ["the", *"住在北京", "!"]
    assert opened.tokenize([text]) == [words]
    emissions = model({"token_ids": np.array([cut.build_inputs(cut.text_to_ids(text))[0]])})[
        "emissions"
    ].numpy()[0, 1:-1]
    shares = np.exp(emissions) / np.exp(emissions).sum(-1, keepdims=True)
    assert len(shares) == len(words)  # each word is one piece
    plain = load(tmp_path / "tagger", scheme="none").model
    assert_close(
        TextTagger(plain, opened.indexer, "bert").tag([words])[0].confidences, shares.max(-1)
    )
    main(["export", str(tmp_path / "run"), "--output", str(tmp_path / "export")])
    served = tf.saved_model.load(tmp_path / "export" / "1").signatures["default"]
    answer = served(text=tf.constant([text]))
    assert [token.decode() for token in answer["tokens"].numpy()[0]] == words
    [expected] = opened.tag([words])
    assert [tag.decode() for tag in answer["tags"].numpy()[0]] == expected.tags


@pytest.mark.slow
def test_the_longest_text_goes_along(classifier, tmp_path):
    """`model_max_length` in transformers is the tokenizer's `max_length`."""
    folder, text = classifier[1], "the room was terrible " * 9
    run, out = tmp_path / "run", tmp_path / "hf"
    convert(folder, "--output", run)
    assert len(load(run).tokenize([text])[0]) == tiny_bert.SIZES["max_sequence_length"]
    convert(run, *HUGGING_FACE, "--output", out)
    config = json.loads((out / "tokenizer_config.json").read_text())
    assert config["model_max_length"] == tiny_bert.SIZES["max_sequence_length"]
    config["model_max_length"] = 9
    (out / "tokenizer_config.json").write_text(json.dumps(config))
    convert(out, "--output", tmp_path / "short")
    opened = load(tmp_path / "short")
    assert len(opened.tokenize([text])[0]) == 9 and opened.num_truncated == 1
    run = RunFolder.open(tmp_path / "short")
    run.set_options({"max_length": 8})  # from --max-length
    run.write_options()
    convert(tmp_path / "short", *HUGGING_FACE, "--output", tmp_path / "again")
    again = json.loads((tmp_path / "again" / "tokenizer_config.json").read_text())
    assert again["model_max_length"] == 8


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_the_vocabulary_of_another_model(request, tmp_path, capsys, kind):
    _, folder = request.getfixturevalue(kind)
    path = folder / "vocab.txt"
    pieces = path.read_text()
    path.write_text(pieces + "more\n")
    convert_error = refused(capsys, "convert", folder, "--output", tmp_path / "run")
    assert (
        "vocab.txt has" in convert_error
        and "the vocabulary belongs to another model" in convert_error
    )
    path.write_text(pieces.removesuffix(pieces.splitlines()[-1] + "\n"))
    convert(folder, "--output", tmp_path / "run")
    assert "1 rows of the embedding table belong to no token" in capsys.readouterr().out


@pytest.mark.slow
def test_characters_are_told_to_be_of_no_tokenizer_there(tmp_path, capsys):
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.characters("房间"))
    convert(path, *HUGGING_FACE, "--output", tmp_path / "hf")
    assert "transformers has no tokenizer for this model" in capsys.readouterr().out


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["classifier", "tagger"])
def test_there_and_back(request, tmp_path, kind):
    model, folder = request.getfixturevalue(kind)
    convert(folder, "--output", tmp_path / "run")
    convert(tmp_path / "run", *HUGGING_FACE, "--output", tmp_path / "again")
    again = type(model).from_pretrained(tmp_path / "again")
    for ours, theirs in zip(again.weights, model.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    config = json.loads((tmp_path / "again" / "tokenizer_config.json").read_text())
    assert config["do_lower_case"] is True and config["tokenizer_class"] == "BertTokenizer"


@pytest.mark.few(1)
@pytest.mark.parametrize("lowercase, strip", [(True, None), (False, False), (True, False)])
def test_a_pretrained_run_with_its_tokenizer(tmp_path, capsys, lowercase, strip):
    path, encoder = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces(*WORDS))
    own = WordPieceTokenizer(
        tiny_bert.pieces(*WORDS).vocabulary, lowercase, strip, split_chinese=lowercase
    )
    write_tokenizer(own, path / TOKENIZER)
    convert(path, *HUGGING_FACE, "--output", tmp_path / "hf")
    assert "BertForPreTraining.from_pretrained" in capsys.readouterr().out
    again = BertPretrainer.from_pretrained(tmp_path / "hf").encoder
    for ours, theirs in zip(again.weights, encoder.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    read = checkpoint_tokenizer(tmp_path / "hf")
    assert read.vocabulary == own.vocabulary
    for name in ("lowercase", "strip_accents", "split_chinese"):
        assert getattr(read, name) == getattr(own, name)


def test_a_published_folder_has_label_zero_for_the_next_sentence(tmp_path):
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces(*WORDS), next_label=1)
    convert(path, *HUGGING_FACE, "--output", tmp_path / "hf")
    features = {"token_ids": [[2, 5, 3, 6, 3]], "segment_ids": [[0, 0, 0, 1, 1]]}
    features = {name: np.array(ids) for name, ids in features.items()}
    own = RunFolder.open(path).load_model()
    ours = own({**features, "masked_positions": np.array([[1]])})["next_sentence_logits"]
    theirs = Classifier.from_pretrained(tmp_path / "hf", next_sentence=True)
    assert theirs.labels == ["next", "other"]
    assert_close(theirs(features)["logits"], ours[:, ::-1])


@pytest.mark.slow
def test_what_transformers_has_no_place_for(classifier, tagger, tmp_path, capsys):
    convert(classifier[1], "--output", tmp_path / "run")
    run = RunFolder.open(tmp_path / "run")
    model = run.load_model()
    other = Classifier(model.encoder, model.labels, "mean_max")
    run.save_model(other)
    words = ["convert", run.path, *HUGGING_FACE, "--output", tmp_path / "no"]
    assert "`pooling` must be 'pooled_output'" in refused(capsys, *words)
    inputs = keras.Input([2])
    run.save_model(keras.Model(inputs, keras.layers.Identity()(inputs)))
    assert "must contain a Classifier, Tagger or BertPretrainer" in refused(capsys, *words)
    assert not (tmp_path / "no").exists()
    scheme = ["convert", classifier[1], "--output", tmp_path / "no", "--scheme", "bio"]
    assert "is a classifier, which has no tag scheme" in refused(capsys, *scheme)
    headless = tiny_bert.write_checkpoint(tmp_path / "plain", tokenizer())[0]
    line = refused(capsys, "convert", headless, "--output", tmp_path / "no")
    assert "has no label or tag head" in line and not (tmp_path / "no").exists()
    (tagger[1] / "vocab.txt").unlink()
    scheme = "--scheme", "bio"
    line = refused(capsys, "convert", tagger[1], "--output", tmp_path / "no", *scheme)
    assert "contains no vocab.txt" in line and not (tmp_path / "no").exists()
