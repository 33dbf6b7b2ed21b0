"""How an export cuts texts, as servers and people read it."""

import json

import pytest

from tfreps.exports.text_counts import PLACE, UNITS, about_cost, write_counts
from tfreps.server.request_size import FILE, PATTERNS, RequestCounter


def test_what_is_written_is_what_a_server_reads(tmp_path):
    assert PLACE == FILE and set(UNITS) == set(PATTERNS)
    write_counts(tmp_path, {"tokens": "characters", "most_per_text": 512})
    assert json.loads((tmp_path / PLACE).read_text()) == {
        "tokens": "characters",
        "most_per_text": 512,
    }
    counter = RequestCounter.of_folder(tmp_path)
    assert (counter.tokens, counter.most_per_text) == ("characters", 512)


@pytest.mark.parametrize("most, words", [(512, "512 at most"), (None, "white space. `tfreps")])
def test_what_people_read(most, words):
    text = about_cost({"tokens": "characters", "most_per_text": most})
    assert words in text.replace("\n", " ") and "`--max-tokens`" in text
    assert max(map(len, text.splitlines())) <= 100
