"""Infers the schema of records without one, and finds records that do not fit it.

Beam's workers run this file without an installation of tfreps.
"""

import collections

import pyarrow as pa


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
    # `pa.array` would fail for an int of more than 64 bits; `check_fit` rejects its record.
    return pa.int64() if most is int else pa.array(values).type


def check_fit(record, schema):
    """Raises ValueError if a record does not fit an Arrow schema.

    Example:
    >>> check_fit({"id": 7}, pa.schema([("id", pa.int64())]))
    """
    for name, value in record.items():
        index = schema.get_field_index(name)
        if index < 0:
            raise ValueError(f"the field {name!r} does not occur in the first records")
        kind = schema.field(index).type
        if not _fits(value, kind):
            raise ValueError(
                f"the field {name!r} must be {kind}, as in most of the first records; got "
                f"{value!r:.80}"
            )


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
