"""Tests the warm-up requests of an export."""

import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from tests.serving.server.small_models import write_warm_up
from tfreps.serving.server.models.warm_up import FILE, warm_up_requests


def test_requests_in_order(tmp_path):
    write_warm_up(tmp_path, "a", "b", signature="slow")
    found = warm_up_requests(tmp_path)
    assert [request.inputs["text"].string_val[0] for request in found] == [b"a", b"b"]
    assert found[0].model_spec.signature_name == "slow"


def write(folder, records):
    path = folder / FILE
    path.parent.mkdir()
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)


def test_other_kinds_of_requests_are_passed_over(tmp_path):
    log = prediction_log_pb2.PredictionLog()
    log.classify_log.SetInParent()
    write(tmp_path, [log.SerializeToString()])
    assert warm_up_requests(tmp_path) == []


@pytest.mark.parametrize(
    "records, words",
    [
        ([b"\xff\xff"], "PredictionLog messages, but record 1 is not one"),
        ([b""] * 1001, "at most 1000 records"),
    ],
)
def test_broken_records(tmp_path, records, words):
    write(tmp_path, records)
    with pytest.raises(ValueError, match=words):
        warm_up_requests(tmp_path)


def test_broken_file(tmp_path):
    write(tmp_path, [b""])
    (tmp_path / FILE).write_bytes(b"no record at all")
    with pytest.raises(ValueError, match="must be a TFRecord file"):
        warm_up_requests(tmp_path)
