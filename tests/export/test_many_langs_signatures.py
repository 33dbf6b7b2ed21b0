"""Exports of models of ELMoForManyLangs and of taggers on them: raw strings in any script."""

import json

import numpy as np
import pytest
import tensorflow as tf

import tfreps
from tests.closeness import assert_close
from tests.convert.many_langs_fixture import FOLDER, SENTENCES
from tfreps.export import open_for_export, write_export, write_portable_export
from tfreps.inference import TextTagger
from tfreps.models import Elmo, Tagger, TokenEmbedder
from tfreps.text import TokenIndexer

TOKENS = [
    *SENTENCES,
    ["e\u0301", "👩‍👩‍👧‍👦", "<BOS>", "\ufeffa"],
    ["<eos>", "\U00010330", "海" * 20],
]
LENGTHS = [len(sentence) for sentence in TOKENS]


def padded(sentences):
    longest = max(map(len, sentences))
    return tf.constant([[*s, *[""] * (longest - len(s))] for s in sentences], tf.string)


@pytest.fixture(scope="module")
def loaded():
    return tfreps.load(FOLDER / "words")


@pytest.fixture(scope="module")
def saved(loaded, tmp_path_factory):
    base = tmp_path_factory.mktemp("export") / "elmo"
    written = write_export(open_for_export(loaded), base)
    assert {path.name for path in (written.folder / "assets").iterdir()} == {
        *("characters.txt", "words.txt")
    }
    assert "`word_character_ids` | int32 | [N, T, 10]" in (base / "README.md").read_text()
    signatures = tf.saved_model.load(str(written.folder)).signatures
    assert set(signatures) == {
        *("default", "serving_default", "tokens", "word_character_ids", "vectors")
    }
    yield signatures


@pytest.fixture(params=["eager", pytest.param("saved", marks=pytest.mark.slow)])
def signatures(request, loaded):
    """Returns functions: those of an export, or those that it is made of, called eagerly."""
    if request.param == "saved":
        return request.getfixturevalue("saved")
    request.getfixturevalue("functions_run_eagerly")
    made = open_for_export(loaded)
    return {
        "default": lambda text: made.from_text(text),
        "tokens": lambda tokens, sequence_len: made.from_tokens(tokens, sequence_len),
        "word_character_ids": lambda word_character_ids, sequence_len: made.from_ids(
            word_character_ids, sequence_len
        ),
    }


def test_tokens_in_any_script_have_the_vectors_of_the_original(loaded, signatures):
    lengths = tf.constant(LENGTHS)
    ids = tf.constant(loaded.word_characters(TOKENS))
    original = json.loads((FOLDER / "words/outputs.json").read_text(encoding="utf-8"))
    for found in (
        signatures["tokens"](tokens=padded(TOKENS), sequence_len=lengths),
        signatures["word_character_ids"](word_character_ids=ids, sequence_len=lengths),
    ):
        for row, vectors in enumerate(loaded.encode(TOKENS)):
            if row < len(original):
                vectors = np.reshape(original[row], vectors.shape)
            size = LENGTHS[row]
            assert_close(found["word_emb"][row, :size], vectors[0, :, :4])
            assert_close(found["lstm_outputs1"][row, :size], vectors[1])
            assert_close(found["lstm_outputs2"][row, :size], vectors[2])
            assert_close(found["elmo"][row, :size], vectors.mean(axis=0))
            assert not found["elmo"][row, size:].numpy().any()


def test_raw_texts_and_empty_batches(loaded, signatures):
    texts = ["the dog sat", "", "  海林 \u3000 café ", "<bos> the"]
    found = signatures["default"](text=tf.constant(texts))
    for row, vectors in enumerate(loaded(texts)):
        assert found["sequence_len"][row] == len(vectors.tokens)
        assert_close(found["elmo"][row, : len(vectors.tokens)], vectors.vectors.mean(axis=0))
    assert signatures["default"](text=tf.zeros([0], tf.string))["default"].shape == (0, 8)
    invalid = signatures["default"](text=tf.constant([b"the \xff\xe6"]))["elmo"][0]
    assert_close(invalid, loaded("the \ufffd\ufffd").vectors.mean(axis=0))


@pytest.fixture(scope="module")
def tagger(loaded):
    elmo = Elmo(loaded.model, dropout=0.0)
    embedder = TokenEmbedder(elmo=elmo, characters="cnn", max_characters=12)
    indexer = TokenIndexer(
        ["<S>", "</S>", "<UNK>", "dog"], max_characters=12, word_characters=loaded.word_characters
    )
    return TextTagger(Tagger(embedder, ["A", "B", "C"], use_crf=False), indexer)


def test_tokens_of_a_tagger(tagger, functions_run_eagerly):
    """Compares the signature before it is saved with the model."""
    sentences, lengths = padded(TOKENS[:2]), tf.constant(LENGTHS[:2])
    found = open_for_export(tagger).from_tokens(sentences, lengths)
    expected = tagger.model.tag(tagger.indexer(sentences))
    names = np.array([tag.encode() for tag in tagger.names])
    mask = expected["mask"].numpy()
    assert mask.sum(1).tolist() == LENGTHS[:2]
    np.testing.assert_array_equal(found["tags"].numpy()[mask], names[expected["tags"]][mask])
    assert_close(found["confidences"], expected["confidences"])


@pytest.mark.slow
def test_a_tagger(tagger, tmp_path):
    written = write_export(open_for_export(tagger), tmp_path / "tagger")
    call = tf.saved_model.load(str(written.folder)).signatures["tokens"]
    sentences = [[token for token in sentence if token] for sentence in TOKENS]
    lengths = [len(sentence) for sentence in sentences]
    found = call(tokens=padded(sentences), sequence_len=tf.constant(lengths))
    for row, expected in enumerate(tagger.tag(sentences)):
        tags = [tag.decode() for tag in found["tags"][row].numpy()]
        assert tags[: lengths[row]] == expected.tags
        assert_close(found["confidences"][row, : lengths[row]], expected.confidences)


def test_only_a_saved_model(loaded, tagger, tmp_path):
    pytest.importorskip("ai_edge_litert")
    for model in loaded, tagger:
        with pytest.raises(ValueError, match="can only be exported as a SavedModel"):
            write_portable_export(open_for_export(model), tmp_path / "onnx", "litert")
