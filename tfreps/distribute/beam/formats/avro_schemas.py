"""Converts Arrow schemas to Avro schemas and back."""

import pyarrow as pa

AVRO = {  # test of an Arrow type -> Avro type
    pa.types.is_null: "null",
    pa.types.is_boolean: "boolean",
    pa.types.is_signed_integer: "long",
    pa.types.is_float32: "float",
    pa.types.is_float64: "double",
    pa.types.is_string: "string",
    pa.types.is_large_string: "string",
    pa.types.is_binary: "bytes",
}
FROM_AVRO = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "enum": pa.string(),
}


def avro_schema(schema: pa.Schema, name: str = "Record") -> dict:
    """Returns the Avro schema of an Arrow schema; every field may be null.

    Raises:
        ValueError: If Avro has no type for a field that this module supports.
    """
    return {"type": "record", "name": name, "fields": _avro_fields(schema, name)}


def _avro_fields(fields, name):
    return [
        {"name": f.name, "type": ["null", _avro_type(f.type, f"{name}_{f.name}")], "default": None}
        if not pa.types.is_null(f.type)
        else {"name": f.name, "type": "null", "default": None}
        for f in fields
    ]


def _avro_type(kind, name):
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "items": _avro_type(kind.value_type, name)}
    if pa.types.is_struct(kind):
        return {"type": "record", "name": name, "fields": _avro_fields(kind, name)}
    for is_kind, found in AVRO.items():
        if is_kind(kind):
            return found
    raise ValueError(f"{kind} has no type in Avro that annotated records can have")


def arrow_schema(avro: dict) -> pa.Schema:
    """Returns the Arrow schema of an Avro schema.

    Raises:
        ValueError: If the schema is not a record, or a field has a type that this module does not
            support, such as a map or a union of several types.
    """
    if not isinstance(avro, dict) or avro.get("type") != "record":
        raise ValueError(f"an Avro file must contain records; got the schema {str(avro)[:80]}")
    return pa.schema([pa.field(f["name"], _arrow_type(f["type"])) for f in avro["fields"]])


def _arrow_type(avro):
    if isinstance(avro, list):
        rest = [each for each in avro if each != "null"]
        if len(rest) == 1:
            return _arrow_type(rest[0])
        raise ValueError(f"a union of {', '.join(map(str, rest))[:80]} is not supported")
    if isinstance(avro, str):
        avro = {"type": avro}
    kind = avro["type"]
    if "logicalType" in avro:
        raise ValueError(f"the logical type {avro['logicalType']} is not supported")
    if isinstance(kind, dict | list):
        return _arrow_type(kind)
    if kind == "array":
        return pa.list_(_arrow_type(avro["items"]))
    if kind == "record":
        return pa.struct([pa.field(f["name"], _arrow_type(f["type"])) for f in avro["fields"]])
    if kind not in FROM_AVRO:
        raise ValueError(f"the type {kind} is not supported")
    return FROM_AVRO[kind]
