"""Arrow schemas of answers and of sampled records, and records that do not fit one."""

import collections

import pyarrow as pa

from tfreps.distribute.beam.signature_specs import OutputSpec

SPAN = pa.struct(
    [("type", pa.string()), ("start", pa.int32()), ("end", pa.int32())]
    + [("tokens", pa.list_(pa.string())), ("text", pa.string()), ("confidence", pa.float32())]
)
ARROW = {"string": pa.string(), "float32": pa.float32(), "int32": pa.int32(), "int64": pa.int64()}
PLAIN = {  # test of an Arrow type -> the types of the values that fit
    pa.types.is_boolean: bool,
    pa.types.is_integer: int,
    pa.types.is_floating: (int, float),
    pa.types.is_string: str,
    pa.types.is_large_string: str,
    pa.types.is_binary: bytes,
}


def answer_schema(outputs: dict[str, OutputSpec], names: list[str], prefix: str = "") -> pa.Schema:
    """Returns the schema of the fields that a model adds to a record.

    Args:
        outputs: dict of output name -> `OutputSpec`.
        names: list of str, as returned by `chosen_names`.
        prefix: str. Prefix of the field names. Defaults to `""`.

    Example:
    >>> answer_schema({"tags": OutputSpec("string", (None, None))}, ["tags:T"])
    tags: list<item: string>
      child 0, item: string
    """
    fields = []
    for name in (name.partition(":")[0] for name in names):
        if name == "spans":
            kind = pa.list_(SPAN)
        else:
            kind = ARROW[outputs[name].dtype]
            for _ in outputs[name].shape[1:]:
                kind = pa.list_(kind)
        fields.append(pa.field(prefix + name, kind))
    return pa.schema(fields)


def sampled_schema(records: list[dict]) -> pa.Schema:
    """Returns the schema of records that have no schema of their own.

    If the values of a field have different types, its type is that of most of them.

    Args:
        records: list of dict.
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    fields = []
    for name in names:
        kind = _sampled_type([record.get(name) for record in records])
        fields.append(pa.field(name, pa.string() if pa.types.is_null(kind) else kind))
    return pa.schema(fields)


def _sampled_type(values):
    """Returns the Arrow type of values, or of most of them if no type fits all."""
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
    return pa.int64() if most is int else pa.array(values).type  # an int may be too large


def misfit(record: dict, schema: pa.Schema) -> str | None:
    """Returns why a record does not fit a schema, or `None` if it fits.

    Example:
    >>> misfit({"id": "seven"}, pa.schema([("id", pa.int64())]))
    "the field 'id' must be int64, as in most of the first records; got 'seven'"
    """
    for name, value in record.items():
        index = schema.get_field_index(name)
        if index < 0:
            return f"the field {name!r} does not occur in the first records"
        if not _fits(value, schema.field(index).type):
            kind = schema.field(index).type
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
    for is_kind, types in PLAIN.items():
        if is_kind(kind):
            if isinstance(value, bool):
                return types is bool
            if types is int:
                return isinstance(value, int) and -(2**63) <= value < 2**63
            return isinstance(value, types)
    return False
