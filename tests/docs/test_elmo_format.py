"""The page on the published ELMo has the keys and arrays of the converter."""

import re

import pytest

from tests.docs.pages import DOCS
from tfreps._src.convert import bilm_tf
from tfreps._src.convert.bilm_tf_options import NETWORK_KEYS, TRAINING_KEYS

TEXT = (DOCS / "reference" / "elmo_format.md").read_text(encoding="utf-8")
OPTIONS = {
    "filters": [[1, 2], [2, 5]],
    "character_dim": 3,
    "num_highways": 1,
    "units": 11,
    "projection_dim": 4,
    "num_layers": 2,
    "bidirectional": True,
    "vocabulary_size": None,
}


def rows(section):
    """Returns the cells of a table's rows below a heading, without its head."""
    part = TEXT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_keys():
    found = [row[0].strip("`") for row in rows("`options.json`")]
    assert found == list(NETWORK_KEYS)
    listed = TEXT.split("training folder:\n\n")[1].split("\n\n")[0]
    assert tuple(re.findall(r"`(\w+)`", listed)) == TRAINING_KEYS
    options = [row[3].strip("`") for row in rows("`options.json`")]
    assert set(OPTIONS) - {"vocabulary_size"} <= set(options)


@pytest.mark.parametrize("vocabulary_size", [None, 9])
def test_the_arrays(vocabulary_size):
    """Each array of the table has a row on the page with its shape, and each row an array."""
    table = bilm_tf.table({**OPTIONS, "vocabulary_size": vocabulary_size})
    expected = {row.foreign: row.shape for row in table}
    sizes = {"C": 3, "F": 7, "P": 4, "U": 11, "V": 9}
    found = {}
    for name, shape, *_ in rows("The HDF5 file"):
        for i, (width, count) in enumerate(OPTIONS["filters"]):
            for d in 0, 1:
                for layer in 0, 1:
                    full = name.strip("`").format(i=i, d=d, l=layer)
                    if full.startswith("CNN_high_1"):
                        continue
                    terms = shape.strip("`[]").split(", ")
                    known = {**sizes, "width": width, "count": count}
                    found[full] = tuple(size(term, known) for term in terms)
    recurrent = {name for name in found if name.startswith("RNN_")}
    used = {*recurrent, "embedding"} if vocabulary_size else set(found) - {"embedding"}
    assert {name: found[name] for name in used} == expected


def size(term, known):
    """Returns the number that a letter stands for, or a number with a letter: `4U`."""
    number, letters = re.fullmatch(r"(\d*)(\w*?)", term).groups()
    return int(number or 1) * known.get(letters, 1)
