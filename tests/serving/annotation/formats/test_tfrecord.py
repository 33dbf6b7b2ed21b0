"""TFRecord files hold Examples, whose features have no nesting."""

import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa

from tests.serving.annotation.formats.formats_catalogue import values
from tfreps.serving.annotation.formats.tfrecord import TFRecord
from tfreps.serving.annotation.signature_specs import SPAN

SPANS = pa.field("spans", pa.list_(SPAN))
CHARACTERS = "start_char", "end_char"


def features(record, schema=None):
    example = tf.train.Example.FromString(TFRecord().encode(record, schema))
    return {name: values(feature) for name, feature in example.features.feature.items()}


def test_spans_become_a_feature_for_each_part():
    spans = [{"type": "PER", "start": 0, "end": 2, "tokens": ["Ada", "L"]}]
    spans.append({"type": "LOC", "start": 3, "end": 4, "tokens": ["Rome"]})
    spans[0] |= {"start_char": 0, "end_char": 5, "text": "Ada L", "confidence": 0.5}
    spans[1] |= {"start_char": 9, "end_char": 13, "text": "Rome", "confidence": 0.25}
    schema = pa.schema([("spans", pa.list_(SPAN)), ("who", pa.struct([("name", pa.string())]))])
    assert features({"spans": spans, "who": {"name": "Ada", "age": 3}}, schema) == {
        "spans_type": ["PER", "LOC"],
        "spans_start": [0, 3],
        "spans_end": [2, 4],
        "spans_start_char": [0, 9],
        "spans_end_char": [5, 13],
        "spans_text": ["Ada L", "Rome"],
        "spans_confidence": [0.5, 0.25],
        "who_name": ["Ada"],
        "who_age": [3],
    }
    assert features({"spans": []}, schema) == dict.fromkeys(
        [f"spans_{name}" for name in ("type", "start", "end", *CHARACTERS, "text", "confidence")],
        [],
    )


def test_tensorflow_parses_empty_lists_of_every_type():
    raw = TFRecord().encode({"tags": [], "spans": []}, pa.schema([("tags", pa.string()), SPANS]))
    kinds = {"tags": tf.string, "spans_start": tf.int64, "spans_type": tf.string}
    found = tf.io.parse_single_example(raw, {n: tf.io.VarLenFeature(k) for n, k in kinds.items()})
    assert [len(value.values) for value in found.values()] == [0, 0, 0]


def test_values_of_every_kind():
    vector = np.array([0.5, 2.0], np.float32)
    record = {"v": vector, "ok": True, "no": None, "raw": b"\xff", "empty": [], "f": 0.25}
    expected = {"v": [0.5, 2.0], "ok": [1], "empty": [], "f": [0.25]}
    found = tf.train.Example.FromString(TFRecord().encode(record, None)).features.feature
    assert {name: values(found[name]) for name in expected} == expected
    assert list(found["raw"].bytes_list.value) == [b"\xff"] and "no" not in found


def test_features_with_one_value_in_every_record_are_scalar():
    form = TFRecord()
    assert form.prepare([{"id": [1], "tags": ["O"]}, {"id": [2], "tags": []}]) == [
        {"id": 1, "tags": ["O"]},
        {"id": 2, "tags": []},
    ]
    assert form.scalars == {"id"}
    assert form.record(form.encode({"id": 7, "tags": ["O"]}, None)) == {"id": 7, "tags": ["O"]}
    with pytest.raises(ValueError, match="the feature 'id' must have one value.*; got 2"):
        form.record(form.encode({"id": [7, 8]}, None))


def test_bytes_that_are_no_text_stay_bytes():
    form = TFRecord()
    assert form.record(form.encode({"image": b"\xff\xd8"}, None)) == {"image": [b"\xff\xd8"]}


def test_a_record_that_is_no_example():
    with pytest.raises(ValueError, match="the record must be a tf.train.Example"):
        TFRecord().record(b"\xff\xff")
