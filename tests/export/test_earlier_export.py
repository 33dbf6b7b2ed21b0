"""A SavedModel of an earlier version still gives its predictions (fixtures/README.md)."""

import json
import pathlib
import tarfile

import pytest
import tensorflow as tf

from tests import known_models
from tests.closeness import assert_close
from tfreps.__main__ import main

FIXTURE = pathlib.Path(__file__).with_name("fixtures") / "tagger.tar.gz"
TEXTS = ["Ada saw Rome", "", "Max slept"]
NO_PLACE = {"start_char": None, "end_char": None}  # the export does not return them
# The output of `tfreps predict` of that commit, with the `text` and `confidence` of spans.
RECORDED = [
    {
        "text": "Ada saw Rome",
        "tokens": ["Ada", "saw", "Rome"],
        "tags": ["B-PER", "O", "B-LOC"],
        "confidences": [0.8438, 0.9647, 0.6652],
        "spans": [
            {"type": "PER", "start": 0, "end": 1, **NO_PLACE, "text": "Ada", "confidence": 0.8438},
            {"type": "LOC", "start": 2, "end": 3, **NO_PLACE, "text": "Rome", "confidence": 0.6652},
        ],
    },
    {"text": "", "tokens": [], "tags": [], "confidences": [], "spans": []},
    {
        "text": "Max slept",
        "tokens": ["Max", "slept"],
        "tags": ["O", "O"],
        "confidences": [0.3333, 0.9867],
        "spans": [],
    },
]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "tagger"


@pytest.mark.slow
def test_predict_prints_what_it_printed(base, capsys):
    assert main(["predict", str(base), *TEXTS]) == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == RECORDED


@pytest.mark.slow
def test_tensorflow_alone_gets_the_same_numbers(base):
    outputs = tf.saved_model.load(str(base / "1")).signatures["default"](text=tf.constant(TEXTS))
    expected = [
        [known_models.softmax(known_models.WORDS.get(token, [0, 0, 0])).max() for token in tokens]
        for tokens in (recorded["tokens"] for recorded in RECORDED)
    ]
    for row, shares in enumerate(expected):
        found = outputs["confidences"].numpy()[row, : len(shares)]
        assert_close(found, shares)
    assert outputs["num_spans"].numpy().tolist() == [2, 0, 0]
