"""Finds records that a model cannot read, and infers the schema of records without one.

Beam's workers run this file without an installation of tfreps.
"""

import collections

import apache_beam as beam
import pyarrow as pa


class CheckRecords(beam.DoFn):
    """Beam function that yields records that a model can read, and rejects others with a reason.

    Args:
        field: str. Field with the text.
        is_text: bool. Whether the text must be a str; otherwise, it must be a list of str.
        taken: iterable of str. Fields that the output adds. A record must not have these fields,
            except `field`.
        max_bytes: int. Maximum number of bytes of a text.
    """

    def __init__(self, field, is_text, taken, max_bytes):
        self.field = field
        self.is_text = is_text
        self.taken = set(taken) - {field}
        self.max_bytes = max_bytes

    def process(self, record):
        """Yields the record, or a rejection with the tag `rejected`; see `as_rejected`."""
        reason = self.reason(record)
        yield record if reason is None else as_rejected(reason, record)

    def reason(self, record):
        """Returns the reason why the model cannot read a record, a str, or `None` if it can."""
        if self.field not in record:
            return f"the record has no field {self.field!r}"
        if both := self.taken & record.keys():
            return f"the record already has the field {sorted(both)[0]!r} of the output"
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


def as_rejected(reason, record, path=None):
    """Returns a rejection: a Beam `TaggedOutput` with the tag `rejected`.

    Its value is a dict with the keys `reason` and `record` and, if `path` is given, `file`. The
    record may be an item of a file, such as a line, that could not be converted to a record.
    """
    source = {} if path is None else {"file": path}
    return beam.pvalue.TaggedOutput("rejected", {"reason": reason, **source, "record": record})


def sampled_schema(records):
    """Returns the Arrow schema of records that have no schema of their own.

    If the values of a field have different types, the field gets the type of most of the values.
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    fields = []
    for name in names:
        kind = _sampled_type([record.get(name) for record in records])
        fields.append(pa.field(name, pa.string() if pa.types.is_null(kind) else kind))
    return pa.schema(fields)


def _sampled_type(values):
    """Returns the Arrow type of the values, or of most values if no type fits all values."""
    try:
        return pa.array(values).type
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        types = collections.Counter(type(value) for value in values if value is not None)
    most = types.most_common(1)[0][0]
    values = [value for value in values if type(value) is most]
    if most is list:
        return pa.list_(_sampled_type([each for value in values for each in value]))
    if most is dict:
        names = dict.fromkeys(name for value in values for name in value)
        return pa.struct([(n, _sampled_type([value.get(n) for value in values])) for n in names])
    # `pa.array` would fail for an int of more than 64 bits; `misfit` rejects its record.
    return pa.int64() if most is int else pa.array(values).type


def misfit(record, schema):
    """Returns the reason why a record does not fit an Arrow schema, a str, or `None` if it fits.

    Example:
    >>> misfit({"id": "seven"}, pa.schema([("id", pa.int64())]))
    "the field 'id' must be int64, as in most of the first records; got 'seven'"
    """
    for name, value in record.items():
        index = schema.get_field_index(name)
        if index < 0:
            return f"the field {name!r} does not occur in the first records"
        kind = schema.field(index).type
        if not _fits(value, kind):
            return (
                f"the field {name!r} must be {kind}, as in most of the first records; got "
                f"{value!r:.80}"
            )
    return None


def _fits(value, kind):
    if value is None:
        return True
    if pa.types.is_list(kind):
        return isinstance(value, list) and all(_fits(each, kind.value_type) for each in value)
    if pa.types.is_struct(kind):
        fields = {field.name: field.type for field in kind}
        return isinstance(value, dict) and all(
            name in fields and _fits(each, fields[name]) for name, each in value.items()
        )
    if isinstance(value, bool):
        return pa.types.is_boolean(kind)
    if isinstance(value, int):
        is_small = pa.types.is_integer(kind) and -(2**63) <= value < 2**63
        return is_small or pa.types.is_floating(kind)
    tests = {float: pa.types.is_floating, str: pa.types.is_string, bytes: pa.types.is_binary}
    return type(value) in tests and tests[type(value)](kind)
