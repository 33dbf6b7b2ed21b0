"""The counts that an export states: its tokenization of texts, for servers and readers."""

import json

import pytest

from tfreps.export.text_counts import ATTENDED, PLACE, UNITS, about_cost, write_counts
from tfreps.server.requests import request_size
from tfreps.server.requests.request_size import FILE, PATTERNS, RequestCounter


def test_what_is_written_is_what_a_server_reads(tmp_path):
    assert PLACE == FILE and set(UNITS) == set(PATTERNS)
    assert ATTENDED == request_size.ATTENDED
    counts = {"tokens": "characters", "most_per_text": 512, "added_per_text": 2, "attends": True}
    write_counts(tmp_path, counts)
    assert json.loads((tmp_path / PLACE).read_text()) == counts
    counter = RequestCounter.of_folder(tmp_path)
    assert (counter.tokens, counter.most_per_text, counter.attends) == ("characters", 512, True)


@pytest.mark.parametrize(
    "most, words", [(512, "truncated to 512 tokens"), (None, "white space. `tfreps")]
)
def test_what_people_read(most, words):
    text = about_cost(
        {"tokens": "characters", "most_per_text": most, "added_per_text": 0, "attends": bool(most)}
    )
    assert words in text.replace("\n", " ") and "`--max-tokens`" in text
    assert ("counts as t * t / 1,024" in text.replace("\n", " ")) == bool(most)
    assert max(map(len, text.splitlines())) <= 100
