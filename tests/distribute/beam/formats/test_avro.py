"""Avro files are read whole, and written with a schema."""

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa

from tests.distribute.beam.formats.formats_catalogue import SCHEMA, write_avro
from tfreps.distribute.beam.formats.avro import Avro


def test_the_schema_is_that_of_the_file(tmp_path):
    write_avro(tmp_path / "a.avro")
    assert Avro().schema(str(tmp_path / "a.avro")) == SCHEMA


def test_arrays_become_lists_and_missing_fields_null():
    schema = pa.schema([("v", pa.list_(pa.float32())), ("id", pa.int64())])
    found = Avro().encode({"v": np.array([0.5], np.float32)}, schema)
    assert found == {"v": [0.5], "id": None}


def test_a_type_that_avro_lacks():
    with pytest.raises(ValueError, match="the field 'when': timestamp.us. has no type in Avro"):
        Avro().check_schema(pa.schema([("text", pa.string()), ("when", pa.timestamp("us"))]))
