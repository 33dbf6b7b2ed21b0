"""Parquet files are read by row group, and pandas opens what is written."""

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa
import pyarrow.parquet

from tests.serving.annotation.formats.formats_catalogue import RECORDS, write_parquet
from tfreps.serving.annotation.formats.parquet import Parquet


def test_parts_are_row_groups(tmp_path):
    path = str(tmp_path / "a.parquet")
    write_parquet(tmp_path / "a.parquet")  # 3 rows in groups of 2
    assert Parquet().parts(path, 0, 1) == [(0, 1), (1, 2)]
    assert Parquet().parts(path, 0, 10**6) == [(0, 2)]
    assert list(Parquet().items(path, 1, 2)) == RECORDS[2:]


def test_a_file_without_rows(tmp_path):
    path = str(tmp_path / "a.parquet")
    pa.parquet.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    parts = Parquet().parts(path, 0, 1)
    assert [row for part in parts for row in Parquet().items(path, *part)] == []


def test_matrices_become_lists_of_rows():
    schema = pa.schema([("m", pa.list_(pa.list_(pa.float32()))), ("x", pa.int64())])
    encoded = Parquet().encode({"m": np.eye(2, dtype=np.float32)}, schema)
    assert pa.array([encoded["m"]], schema.field("m").type).to_pylist() == [[[1, 0], [0, 1]]]
    assert encoded["x"] is None
