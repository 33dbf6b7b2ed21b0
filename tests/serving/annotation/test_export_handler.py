"""ExportHandler gives every record the outputs of the model, alone or in any batch."""

import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

from tests.closeness import assert_close
from tfreps.serving.annotation.export_handler import (
    ExportHandler,
    groups,
)
from tfreps.serving.annotation.signature_specs import version_folder

TEXTS = ["Ada lives in London .", "", "naïve " * 40, "London", "Ada Ada in ."]
TAGS = ["tokens:T", "tags:T", "confidences:T", "spans"]


def handler(export, names=TAGS, **options):
    return ExportHandler(version_folder(export[1]), "text", names, **options)


def run(handler, texts=TEXTS):
    records = [{"id": i, "text": text} for i, text in enumerate(texts)]
    return handler.run_inference(records, handler.load_model())


@pytest.mark.parametrize("batch_tokens", [1, 20, 4096])
def test_a_tagger_predicts_as_the_model_does(export, batch_tokens):
    model, _ = export("tagger")
    found = run(handler(export("tagger"), batch_tokens=batch_tokens))
    assert [record["id"] for record in found] == [0, 1, 2, 3, 4]
    for record, expected in zip(found, model.tag(TEXTS), strict=True):
        assert (record["tokens"], record["tags"]) == (expected.tokens, expected.tags)
        assert_close(record["confidences"], expected.confidences)
        spans = [(span["type"], span["start"], span["end"]) for span in record["spans"]]
        assert spans == [(s.type, s.start, s.end) for s in expected.spans]


def test_a_classifier_predicts_as_the_model_does(export):
    model, _ = export("classifier")
    names = ["label", "probability", "labels", "probabilities"]
    found = run(handler(export("classifier"), names, prefix="my_"))
    for record, expected in zip(found, model.classify(TEXTS), strict=True):
        assert record["my_label"] == expected.label
        shares = dict(zip(record["my_labels"], record["my_probabilities"].tolist(), strict=True))
        assert_close(shares, expected.probabilities)
        assert_close(record["my_probability"], max(expected.probabilities.values()))


def test_vectors_are_those_of_the_model(export):
    model, _ = export("bilm")
    found = run(handler(export("bilm"), ["elmo:T", "default"]))
    for record, text in zip(found, TEXTS, strict=True):
        layers = model.bilm(tf.constant([" ".join(text.split())]))["layer_outputs"].numpy()[0]
        expected = layers.mean(axis=0)  # [T, 2P]
        assert record["elmo"].shape == (len(text.split()), expected.shape[-1])
        if text:
            assert_close(record["elmo"], expected)
            assert_close(record["default"], expected.mean(axis=0))


def test_a_sentence_that_a_bert_tagger_cuts_is_rejected(export):
    model, _ = export("bert_tagger")
    fits, long = "hotels \u200b the\ufffd dog", "the dog " * 12  # at most 24 pieces
    short, cut = run(handler(export("bert_tagger")), [fits, long])
    assert short["tags"] == model.tag([fits])[0].tags
    assert cut["record"] == {"id": 1, "text": long}
    assert cut["reason"] == "the sentence is too long: the model reads only its first 22 tokens"
    rows = [["the", "dog"], ["the"] * 30]
    short, cut = run(handler(export("bert_tagger"), signature="tokens"), rows)
    assert len(short["tags"]) == 2 and cut["reason"].endswith("its first 22 tokens")


TEXT = {"max_bytes": 10, "prefix": "my_", "names": ["tags:T", "text_id"]}
TOKENS = {"max_bytes": 10, "field": "tokens", "signature": "tokens", "names": ["tokens:T"]}


@pytest.mark.parametrize(
    "options, record, reason",
    [
        (TEXT, {"body": "a"}, "the record has no field 'text'"),
        (TEXT, {"text": 7}, "the field 'text' must be a text; got int"),
        (TEXT, {"text": None}, "the field 'text' must be a text; got NoneType"),
        (TEXT, {"text": "a", "my_tags": 1}, "already has the field 'my_tags' of the output"),
        (TEXT, {"text": "\ud83d"}, "contains a character that UTF-8 cannot represent"),
        (TEXT, {"text": "é" * 6}, "the text is too long: 12 bytes, and at most 10 are read"),
        (TOKENS, {"tokens": "a b"}, "the field 'tokens' must be a list of texts; got str"),
        (TOKENS, {"tokens": ["a", 7]}, "the field 'tokens' must be a list of texts; got list"),
        (TOKENS, {"tokens": ["abcdef", "ghijk"]}, "the text is too long: 11 bytes"),
    ],
)
def test_records_that_no_model_can_read(options, record, reason):
    """They are rejected before the model is called, whatever their place in a batch."""
    given = ExportHandler("folder", **{"field": "text", **options})
    assert given.num_words(record) > 0 and given.get_num_bytes([record]) > 0
    [rejected] = given.run_inference([record], model=None)
    assert reason in rejected["reason"] and rejected["record"] == record


class Failing:
    """Model that cannot read texts that contain `bad`, and counts its calls."""

    cuts_sentences = False

    def __init__(self):
        self.calls = 0

    def num_tokens(self, text):
        return len(text)

    def predict(self, texts):
        self.calls += 1
        if any("bad" in text for text in texts):
            tf.debugging.assert_equal(1, 2, "the text has too many pieces")
        return {"label": np.array([b"good"] * len(texts), object), "sequence_len": np.ones(9)}


def test_what_fails_together_is_asked_again_until_the_cause_is_alone(export):
    model = Failing()
    records = [{"text": text} for text in ("a", "bad", "b", "c", "d", "e", "f", "g")]
    found = handler(export("tagger"), ["label"]).run_inference(records, model)
    assert [record.get("label") for record in found] == ["good", None, *["good"] * 6]
    assert found[1]["record"] == {"text": "bad"}
    assert found[1]["reason"].startswith("the text has too many pieces")
    assert model.calls == 7  # all 8, then halves down to the text of the error


def test_groups_hold_all_indices_within_the_limit():
    sizes = np.random.default_rng(0).integers(0, 50, 200).tolist()
    found = list(groups(sizes, 100))
    assert sorted(i for group in found for i in group) == list(range(200))
    assert all(len(group) * max(sizes[i] for i in group) <= 100 for group in found)
    assert list(groups([500, 3], 100)) == [[1], [0]]
    assert list(groups([], 100)) == []


def test_batches_of_a_stream_have_buckets_of_length(export):
    given = handler(export("tagger"), batch_size=8, max_wait_seconds=2)
    options = given.batch_elements_kwargs()
    assert options["max_batch_size"] == 8 and options["max_batch_duration_secs"] == 2
    assert options["length_fn"]({"text": "a b c"}) == 3
    assert options["bucket_boundaries"] == sorted(options["bucket_boundaries"])
    assert handler(export("tagger"), batch_size=8).batch_elements_kwargs() == {
        "min_batch_size": 8,
        "max_batch_size": 8,
    }


def test_a_new_version_replaces_the_model(export):
    given = handler(export("tagger"), threads=2)  # TensorFlow has started: no effect
    given.update_model_path("")
    assert given.folder == version_folder(export("tagger")[1])
    given.update_model_path(f"{version_folder(export('bilm')[1])}/saved_model.pb")
    assert given.folder == version_folder(export("bilm")[1])
    assert "elmo" in given.load_model().function.structured_outputs


def test_sizes_are_estimates_of_tokens(export):
    tagger = handler(export("tagger")).load_model()
    assert [tagger.num_tokens(text) for text in ("a b c", "", ["a", "b"])] == [3, 1, 2]
    assert not tagger.cuts_sentences
    classifier = handler(export("classifier"), ["label"]).load_model()
    assert classifier.num_tokens("a b c d e f") == 4  # truncates texts to 4 tokens
    bert = handler(export("bert_tagger")).load_model()
    assert bert.num_tokens("the dog") == 4 and bert.cuts_sentences


def test_progress_is_the_sum_of_what_was_annotated(export, tmp_path):
    run(handler(export("tagger"), progress_folder=str(tmp_path), batch_tokens=20))
    [file] = tmp_path.iterdir()
    assert file.read_text() == f"5 {5 + 0 + 40 + 1 + 4}"
