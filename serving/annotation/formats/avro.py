"""Avro: records in Avro files, and their schemas."""

import apache_beam as beam
import fastavro
import numpy as np
import pyarrow as pa

from tfreps.serving.annotation.formats.record_format import RecordFormat, opened

ARROW = {  # Avro type -> Arrow type
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
AVRO = {kind: name for name, kind in ARROW.items() if name != "enum"}
AVRO |= {pa.int8(): "int", pa.int16(): "int", pa.large_string(): "string"}


class Avro(RecordFormat):
    """Format of Avro files. A file is not divided into parts."""

    suffix = ".avro"
    is_typed = True
    lacking = "Avro"
    types = [AVRO.__contains__]

    def items(self, path, start, stop):
        with opened(path) as file:
            yield from fastavro.reader(file)

    def schema(self, path):
        with opened(path) as file:
            return arrow_schema(fastavro.reader(file).writer_schema)

    def encode(self, record, schema):
        found = {name: record.get(name) for name in schema.names}
        return {n: v.tolist() if isinstance(v, np.ndarray) else v for n, v in found.items()}

    def write(self, prefix, schema, num_shards=0):
        how = {"file_name_suffix": self.suffix, "num_shards": num_shards}
        return beam.io.WriteToAvro(prefix, avro_schema(schema), **how)


def avro_schema(schema, name="Record"):
    """Converts an Arrow schema to the Avro schema, a dict, of a record named `name`.

    Every field may be null. Beam's own conversion does not support null in place of lists and
    records, and does not name nested records.
    """
    fields = []
    for field in schema:
        kind = _avro_type(field.type, f"{name}_{field.name}")
        kind = kind if kind == "null" else ["null", kind]
        fields.append({"name": field.name, "type": kind, "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _avro_type(kind, name):
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "items": _avro_type(kind.value_type, name)}
    return avro_schema(kind, name) if pa.types.is_struct(kind) else AVRO[kind]


def arrow_schema(avro):
    """Converts an Avro schema, a dict, to an Arrow schema.

    Maps, logical types and unions of several types raise a ValueError. Beam's own conversion would
    read a value of a logical type, such as a date, as the number that encodes the value.
    """
    found = _arrow_type(avro)
    if not pa.types.is_struct(found):
        raise ValueError(
            f"expected an Avro schema of type record; got {found}. Write the records to another "
            "format, such as JSON lines"
        )
    return pa.schema(list(found))


def _arrow_type(avro):
    kind = avro["type"] if isinstance(avro, dict) and "logicalType" not in avro else avro
    if isinstance(kind, list):
        kind = [each for each in kind if each != "null"]
        if len(kind) == 1:
            return _arrow_type(kind[0])
    elif kind == "array":
        return pa.list_(_arrow_type(avro["items"]))
    elif kind == "record":
        return pa.struct([(field["name"], _arrow_type(field["type"])) for field in avro["fields"]])
    elif isinstance(kind, dict) and kind is not avro:
        return _arrow_type(kind)
    elif isinstance(kind, str) and kind in ARROW:
        return ARROW[kind]
    raise ValueError(
        f"expected a field of the type array, record, {', '.join(ARROW)}, or a union of null and "
        f"one of these types, without a logical type; got {str(avro)[:80]}. Write the records to "
        "another format, such as JSON lines"
    )
