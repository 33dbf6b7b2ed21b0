"""Exports of taggers and classifiers return the predictions of the model."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.exported_models import indexer, make_bert, make_trained
from tfreps._src.export.labeling_signatures import TextSignatures, text_counts
from tfreps.export import write_export
from tfreps.inference import TextTagger
from tfreps.models import Tagger, TokenEmbedder
from tfreps.tags import spans

TEXTS = ["Ada Lovelace lives in London.", "", "naïve London, London!", "."]


def export(trained, base, **options):
    """Writes version 1 and returns the names of its signatures."""
    return list(write_export(TextSignatures(trained, **options), base).functions)


opened = functools.lru_cache(1)(lambda folder: tf.saved_model.load(str(folder)))


def ask(folder, signature="default", **inputs):
    outputs = opened(folder).signatures[signature](**inputs)
    return {name: value.numpy() for name, value in outputs.items()}


SLOW = pytest.mark.slow


def make_words():
    """Returns a tagger of words alone without a CRF, whose graph is small."""
    words = indexer()
    model = Tagger(TokenEmbedder(words.vocabulary_size, 6), ["NOUN", "VERB"], use_crf=False)
    for weight in model.trainable_weights:
        weight.assign(np.random.default_rng(1).normal(size=weight.shape))
    return TextTagger(model, words, tokens="words")


@pytest.mark.parametrize(
    "kind",
    ["words", *(pytest.param(kind, marks=SLOW) for kind in ("plain", "softmax", "crf", "hmm"))],
)
def test_taggers_answer_as_the_model_does(tmp_path, kind):
    trained = make_words() if kind == "words" else make_trained(kind)
    names = export(trained, tmp_path)
    assert names == ["default", "serving_default", "tokens"]
    answer = ask(tmp_path / "1", text=tf.constant(TEXTS))
    tokens = trained.tokenize(TEXTS)
    assert answer["sequence_len"].tolist() == [6, 0, 5, 1]
    for row, (words, expected) in enumerate(zip(tokens, trained.tag(TEXTS), strict=True)):
        n = len(words)
        assert [t.decode() for t in answer["tokens"][row, :n]] == words
        assert [t.decode() for t in answer["tags"][row, :n]] == expected.tags
        assert_close(answer["confidences"][row, :n], expected.confidences)
        assert (answer["tags"][row, n:] == b"").all() and not answer["confidences"][row, n:].any()
        if trained.scheme:
            k = answer["num_spans"][row]
            types = [kind.decode() for kind in answer["span_types"][row, :k]]
            ends = answer["span_starts"][row, :k], answer["span_ends"][row, :k]
            assert list(zip(types, *ends, strict=True)) == spans(expected.tags, "bio")
            parts = [answer[f"span_{end}_chars"][row, :k].tolist() for end in ("start", "end")]
            places = [(span.start_char, span.end_char) for span in expected.spans]
            assert list(zip(*parts, strict=True)) == places
            shares = [span.confidence for span in expected.spans]
            assert_close(answer["span_confidences"][row, :k], shares)
            for name in "confidences", "start_chars", "end_chars":
                assert not answer[f"span_{name}"][row, k:].any()
    assert ("num_spans" in answer) == (trained.scheme is not None)
    tokens = ask(
        tmp_path / "1", "tokens", tokens=tf.constant([["in"]]), sequence_len=tf.constant([1])
    )
    assert set(answer) - set(tokens) == (
        {"span_start_chars", "span_end_chars"} if trained.scheme else set()
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cnn", pytest.param("attention", marks=SLOW)])
def test_classifiers_answer_as_the_model_does(tmp_path, kind):
    trained = make_trained(kind)
    export(trained, tmp_path)
    answer = ask(tmp_path / "1", text=tf.constant(TEXTS))
    expected = trained.classify(trained.tokenize(TEXTS))
    assert [label.decode() for label in answer["label"]] == [e.label for e in expected]
    shares = [list(e.probabilities.values()) for e in expected]
    assert_close(answer["probabilities"], shares)
    assert_close(answer["probability"], np.max(shares, axis=1))
    assert answer["labels"].tolist() == [[n.encode() for n in trained.names]] * 4
    assert answer["sequence_len"].tolist() == ([4, 0, 4, 1] if kind == "cnn" else [6, 0, 5, 1])


@pytest.mark.slow
def test_tokens_beyond_their_length_are_ignored(tmp_path):
    trained = make_trained("crf")
    export(trained, tmp_path)
    tokens = tf.constant([["Ada", "lives", "here"], ["in", "London", "."]])
    answer = ask(tmp_path / "1", "tokens", tokens=tokens, sequence_len=tf.constant([3, 1]))
    assert answer["tokens"].tolist() == [[b"Ada", b"lives", b"here"], [b"in", b"", b""]]
    alone = ask(tmp_path / "1", text=tf.constant(["in"]))
    assert_close(answer["confidences"][1, 0], alone["confidences"][0, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="one value per row"):
        ask(tmp_path / "1", "tokens", tokens=tokens, sequence_len=tf.constant([4, 1]))


@pytest.mark.slow
@pytest.mark.parametrize("explain", [True, False])
def test_the_model_is_traced_once_and_once_more_to_explain(explain, monkeypatch):
    trained = make_trained("plain")
    traced, call = [], Tagger.call
    monkeypatch.setattr(
        Tagger,
        "call",
        lambda model, *args, **kwargs: traced.append(1) or call(model, *args, **kwargs),
    )
    assert set(TextSignatures(trained, explain=explain).functions()) >= {"default", "tokens"}
    assert len(traced) == 1 + explain


def asks_for_xla(folder):
    return b"_XlaMustCompile\x12\x02(\x01" in (folder / "saved_model.pb").read_bytes()


@pytest.mark.slow
def test_nothing_in_an_export_asks_for_xla(tmp_path):
    """TensorFlow Serving does not use XLA on CPUs."""
    export(make_trained("crf"), tmp_path)
    assert not asks_for_xla(tmp_path / "1")
    compiled = tf.function(lambda x: {"y": x + 1.0}, jit_compile=True)
    compiled = compiled.get_concrete_function(tf.TensorSpec([None], tf.float32, "x"))
    tf.saved_model.save(tf.Module(), str(tmp_path / "2"), {"serving_default": compiled})
    assert asks_for_xla(tmp_path / "2")


def test_stored_vectors_cannot_be_served(tmp_path):
    trained = make_trained("plain")
    trained.model.encoder.vector_layers = 3
    with pytest.raises(ValueError, match="trained on the biLM itself"):
        export(trained, tmp_path)
    assert not list(tmp_path.iterdir())


BERT_TEXTS = ["房间 Hotels 3", "", "房" * 50, "x"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pieces", pytest.param("characters", marks=SLOW)])
def test_classifiers_on_a_bert_cut_texts_themselves(tmp_path, kind):
    trained = make_bert(kind)
    export(trained, tmp_path)
    answer = ask(tmp_path / "1", text=tf.constant(BERT_TEXTS))
    rows = trained.tokenize(BERT_TEXTS)
    assert answer["sequence_len"].tolist() == [len(row) for row in rows]
    expected = [list(a.probabilities.values()) for a in trained.classify(rows)]
    assert_close(answer["probabilities"], expected)
    words = tf.constant([["房", "间", "Hotels", "3", "left out"], [""] * 5])
    lengths = tf.constant([4, 0])
    again = ask(tmp_path / "1", "tokens", tokens=words, sequence_len=lengths)
    assert_close(again["probabilities"], expected[:2])
    assert again["sequence_len"].tolist() == answer["sequence_len"][:2].tolist()
    assert b"Fast" not in (tmp_path / "1" / "saved_model.pb").read_bytes()  # from tensorflow-text


@pytest.mark.slow
def test_taggers_on_a_bert_tag_words(tmp_path):
    trained = make_bert("words")
    export(trained, tmp_path)
    texts = ["Hotels 房间!", ""]
    answer = ask(tmp_path / "1", text=tf.constant(texts))
    for row, expected in enumerate(trained.tag(trained.tokenize(texts))):
        n = len(expected.tags)
        assert [t.decode() for t in answer["tags"][row, :n]] == expected.tags
        assert_close(answer["confidences"][row, :n], expected.confidences)
    assert answer["sequence_len"].tolist() == [4, 0]  # a Chinese character is a word
    cut = ask(tmp_path / "1", text=tf.constant(["房 " * 30, *texts[:1]]))
    assert cut["sequence_len"].tolist() == [22, 4]
    assert cut["tags"][1, :4].tolist() == answer["tags"][0, :4].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("by", ["text", "tokens"])
def test_a_sentence_too_long_for_a_bert_is_cut_behind_a_word(tmp_path, by):
    """Long sentences keep 22 pieces; other sentences of the batch are not affected."""
    trained = make_bert("words")
    assert trained.tokenizer.max_pieces(trained.max_length) == 22
    assert [len(trained.tokenizer.tokenize(word)) for word in ("dog", "dog!")] == [1, 2]
    longest, other = ["dog"] * 21 + ["dog!", *["dog"] * 9], ["the", "dog"]
    signatures = TextSignatures(trained, tmp_path)
    if by == "text":
        answer = signatures.from_text(tf.constant([" ".join(longest), " ".join(other)]))
        kept = 22  # the mark is a separate word
    else:
        tokens = tf.ragged.constant([longest, other]).to_tensor("")
        answer = signatures.from_tokens(tokens, tf.constant([31, 2]))
        kept = 21  # the word with the mark has two pieces
    assert answer["sequence_len"].numpy().tolist() == [kept, 2]
    tokens, tags = answer["tokens"].numpy(), answer["tags"].numpy()
    assert (tokens[0, kept:] == b"").all() and (tags[0, kept:] == b"").all()
    for row, words in enumerate((longest[:21] + ["dog"] * (kept - 21), other)):
        [expected] = trained.tag([words])
        n = len(words)
        assert [token.decode() for token in tokens[row, :n]] == words
        assert [tag.decode() for tag in tags[row, :n]] == expected.tags
        shares = answer["confidences"].numpy()[row, :n]
        assert_close(shares, expected.confidences)


EXPLAINED = {
    "hmm": ["marginals", "path_probabilities", "path_scores", "path_tags", "tag_names"],
    "attention": ["token_weights"],
    "characters": ["attention", "attention_tokens"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=SLOW if k != "attention" else ()) for k in EXPLAINED]
)
def test_what_is_behind_an_answer(tmp_path, kind):
    trained = make_bert(kind) if kind == "characters" else make_trained(kind)
    names = export(trained, tmp_path, explain=True)
    assert names == ["default", "serving_default", "tokens", "explain"]
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    plain, found = (signatures[n](text=tf.constant(TEXTS)) for n in ("default", "explain"))
    assert sorted(set(found) - set(plain) - {"tokens"}) == EXPLAINED[kind]
    for name, value in plain.items():
        np.testing.assert_array_equal(value, found[name])
    rows = trained.tokenize(TEXTS)
    for row, words in enumerate(rows):
        assert [t.decode() for t in found["tokens"].numpy()[row, : len(words)]] == words
    if kind == "hmm":
        first = found["path_tags"].numpy()[:, 0]
        np.testing.assert_array_equal(first, found["tags"])
        marginals = found["marginals"].numpy().sum(-1)
        assert_close(marginals, found["tokens"].numpy() != b"")
    else:
        weights = found["token_weights" if kind == "attention" else "attention"].numpy().sum(-1)
        real = found["tokens"].numpy() != b""
        real = real.any(1) if kind == "attention" else real[:, None, None]
        assert_close(weights, real * np.ones_like(weights))


@pytest.mark.parametrize("kind", ["pieces", "words"])
def test_the_cost_of_long_texts(kind):
    trained = make_bert(kind)
    assert not text_counts(trained)["attends"]  # texts are truncated to 24 pieces
    trained.max_length = None
    assert text_counts(trained)["attends"]
