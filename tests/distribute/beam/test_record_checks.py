"""Records that a model cannot read are found, each with a reason."""

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

from tfreps.distribute.beam.record_checks import CheckRecords, RecordCheck, as_rejected

TEXT = RecordCheck("text", True, ["tags", "text_id"], 10)
TOKENS = RecordCheck("tokens", False, ["tokens", "tags"], 10)


@pytest.mark.parametrize(
    "check, record, reason",
    [
        (TEXT, {"body": "a"}, "the record has no field 'text'"),
        (TEXT, {"text": 7}, "the field 'text' must be a text; got int"),
        (TEXT, {"text": None}, "the field 'text' must be a text; got NoneType"),
        (TEXT, {"text": "a", "tags": 1}, "the record already has the field 'tags' of the answer"),
        (TEXT, {"text": "\ud83d"}, "contains a character that UTF-8 cannot represent"),
        (TEXT, {"text": "é" * 6}, "the text is too long: 12 bytes, and at most 10 are read"),
        (TOKENS, {"tokens": "a b"}, "the field 'tokens' must be a list of texts; got str"),
        (TOKENS, {"tokens": ["a", 7]}, "the field 'tokens' must be a list of texts; got list"),
        (TOKENS, {"tokens": ["abcdef", "ghijk"]}, "the text is too long: 11 bytes"),
    ],
)
def test_reasons(check, record, reason):
    assert reason in check.reason(record)
    [rejected] = CheckRecords(check).process(record)
    assert rejected.tag == "rejected" and rejected.value["record"] == record


@pytest.mark.parametrize(
    "check, record",
    [(TEXT, {"text": "", "id": 3}), (TEXT, {"text": "é" * 5}), (TOKENS, {"tokens": []})],
)
def test_records_that_can_be_read(check, record):
    assert check.reason(record) is None
    assert list(CheckRecords(check).process(record)) == [record]


def test_a_rejection_names_its_file():
    assert as_rejected("why", b"raw", "a.txt").value == {
        "reason": "why",
        "file": "a.txt",
        "record": b"raw",
    }
