"""RecordCheck: finds the records that a model cannot read.

Beam's workers run this file without an installation of tfreps.
"""

import apache_beam as beam


class RecordCheck:
    """Finds the records that a model cannot read, each with a reason.

    Args:
        field: str. Field of the text.
        is_text: bool. Whether the text must be a str; otherwise, it must be a list of str.
        taken: list of str. Fields of the answer, which a record must not have, unless it is
            `field`.
        max_bytes: int. Maximum number of bytes of a text.
    """

    def __init__(self, field, is_text, taken, max_bytes):
        self.field = field
        self.is_text = is_text
        self.taken = set(taken) - {field}
        self.max_bytes = max_bytes

    def reason(self, record):
        """Returns the reason why a record cannot be read, or `None` if it can."""
        if self.field not in record:
            return f"the record has no field {self.field!r}"
        if both := self.taken & record.keys():
            return f"the record already has the field {sorted(both)[0]!r} of the answer"
        text = record[self.field]
        if self.is_text and not isinstance(text, str):
            return f"the field {self.field!r} must be a text; got {type(text).__name__}"
        tokens = [text] if self.is_text else text
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            return f"the field {self.field!r} must be a list of texts; got {type(text).__name__}"
        try:
            size = sum(len(token.encode("utf-8")) for token in tokens)
        except UnicodeEncodeError:
            return f"the field {self.field!r} contains a character that UTF-8 cannot represent"
        if size > self.max_bytes:
            return f"the text is too long: {size:,} bytes, and at most {self.max_bytes:,} are read"
        return None


class CheckRecords(beam.DoFn):
    """Passes on the records that a model can read, and rejects the others.

    Args:
        check: `RecordCheck`.
    """

    def __init__(self, check):
        self.check = check

    def process(self, record):
        """Yields the record, or a rejection with the tag `rejected`."""
        reason = self.check.reason(record)
        yield record if reason is None else as_rejected(reason, record)


def as_rejected(reason, record, path=None):
    """Returns a rejection with the tag `rejected`.

    Args:
        reason: str.
        record: dict, or the item of a file that is not a record.
        path: str or None. File of the record, if it is known.
    """
    rejection = {"reason": reason, "record": record}
    if path is not None:
        rejection = {"reason": reason, "file": path, "record": record}
    return beam.pvalue.TaggedOutput("rejected", rejection)
