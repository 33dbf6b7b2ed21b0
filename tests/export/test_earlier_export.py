"""A SavedModel of an earlier version still gives its predictions (fixtures/README.md)."""

import pathlib
import tarfile

import pytest
import tensorflow as tf

from tests import known_models
from tests.closeness import assert_close

FIXTURE = pathlib.Path(__file__).with_name("fixtures") / "tagger.tar.gz"
TEXTS = ["Ada saw Rome", "", "Max slept"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "tagger"


@pytest.mark.slow
def test_tensorflow_alone_gets_the_same_numbers(base):
    outputs = tf.saved_model.load(str(base / "1")).signatures["default"](text=tf.constant(TEXTS))
    expected = [
        [known_models.softmax(known_models.WORDS.get(token, [0, 0, 0])).max() for token in tokens]
        for tokens in map(str.split, TEXTS)
    ]
    for row, shares in enumerate(expected):
        found = outputs["confidences"].numpy()[row, : len(shares)]
        assert_close(found, shares)
    assert outputs["num_spans"].numpy().tolist() == [2, 0, 0]
