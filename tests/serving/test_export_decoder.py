"""Tests `tfreps export-decoder`."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.export.decoder import chain_oracle
from tfreps.__main__ import main


@pytest.fixture
def tags(tmp_path):
    path = tmp_path / "tags.txt"
    path.write_text("A\nB\n")
    return str(path)


def test_a_decoder_with_transitions(tags, tmp_path, capsys):
    scores = np.array([[0.5, 2.0], [-1.0, 0.25]]), np.array([0.5, 0.0]), np.array([0.0, 1.5])
    names = "transitions", "start_scores", "end_scores"
    values = {name: part.tolist() for name, part in zip(names, scores, strict=True)}
    (tmp_path / "crf.json").write_text(json.dumps(values))
    output = tmp_path / "decoder"
    more = ["--transitions", str(tmp_path / "crf.json"), "--output", str(output)]
    line = ["--tags", tags, "--scheme", "none", "--format", "saved_model", *more]
    assert main(["export-decoder", *line]) == 0
    out = capsys.readouterr().out
    assert f"Wrote {output / 'saved_model.pb'} (" in out and str(output / "README.md") in out
    decode = tf.saved_model.load(str(output)).signatures["serving_default"]
    logits = np.array([[[0.5, 0.0], [-1.0, 0.5], [0.25, 0.0]]], "float32")
    found = decode(logits=tf.constant(logits), mask=tf.ones([1, 3], "bool"))
    expected = chain_oracle.enumerated(["A", "B"], None, logits[0], np.ones(3, bool), scores)
    assert found["tags"][0].numpy().tolist() == expected["tags"].tolist()
    assert_close(found["confidences"][0], expected["confidences"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--scheme", "bio"], "the tag 'A' is not valid in the scheme 'bio'"),
        (["--scheme", "none", "--transitions", "crf.txt"], "crf.txt: expected a file with the ext"),
        (["--scheme", "none", "--logits", "x"], "--logits requires --join"),
        (["--scheme", "none", "--join", "m.onnx"], "--join"),
        (["--scheme", "none", "--word-starts", "mask"], "--word-starts must be the name of"),
        (["--scheme", "none", "--unused-tags", "C"], "--unused-tags must contain some of the 2"),
    ],
)
def test_what_cannot_be(tags, tmp_path, capsys, arguments, message):
    output = ["--output", str(tmp_path / "out"), "--format", "saved_model"]
    assert main(["export-decoder", "--tags", tags, *arguments, *output]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
