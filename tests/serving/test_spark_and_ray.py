"""Tests that the recipes of docs/howto/spark_and_ray.md give the outputs of the export."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.closeness import assert_close
from tests.docs.pages import DOCS
from tests.exported_models import make_trained
from tests.made_once import made_once
from tfreps._src.export.labeling_signatures import TextSignatures
from tfreps.export import write_export

pytestmark = pytest.mark.slow
EXPORT, TAGGED = "/shared/exports/ner", "/shared/tagged"  # paths on the page


@pytest.fixture(scope="session")
def exported_tagger(tmp_path_factory):
    def make(folder):
        write_export(TextSignatures(make_trained("crf")), folder)

    return made_once(tmp_path_factory, "ner", make)


def need(*packages):
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package} (tfreps[clusters])")


def recipe(package):
    """Returns the block of the page that imports a package."""
    text = (DOCS / "howto/spark_and_ray.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^% not run: [^\n]+\n```python\n(.*?)^```$", text, re.M | re.S)
    (block,) = [b for b in blocks if re.search(rf"^(import|from) {package}\b", b, re.M)]
    return block


def run(code, export, folder):
    """Runs a recipe where nothing can import tfreps; returns the rows that it writes, by id."""
    import pyarrow.parquet

    assert code.count(EXPORT) == code.count(TAGGED) == 1
    tagged = folder / "tagged"
    script = folder / "recipe.py"
    code = code.replace(EXPORT, str(export)).replace(TAGGED, str(tagged))
    script.write_text(code, encoding="utf-8")
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / "tfreps.py").write_text("raise ImportError('the recipes do not need tfreps')\n")
    environment = {
        **os.environ,
        "PYTHONPATH": str(hidden),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "HOME": str(folder),  # Ray writes files there
    }
    command = [sys.executable, str(script)]
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900
    )
    assert ended.returncode == 0, ended.stderr[-5000:]
    rows = pyarrow.parquet.read_table(tagged).to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def check(rows, export):
    """Asserts that the rows have the outputs of the export for each text alone."""
    import tensorflow as tf

    model = tf.saved_model.load(str(export / "1"))
    assert [row["id"] for row in rows] == list(range(200))
    assert len({tag for row in rows for tag in row["tags"]}) > 1
    expected = {}
    for row in rows:
        text = row["text"] or ""
        if text not in expected:
            found = model.signatures["default"](text=tf.constant([text]))
            expected[text] = {name: value.numpy()[0] for name, value in found.items()}
        tokens, tags = ([x.decode() for x in expected[text][name]] for name in ("tokens", "tags"))
        assert (row["tokens"], row["tags"]) == (tokens, tags)
        assert_close(row["confidences"], expected[text]["confidences"])
    assert {len(x["tokens"]) for x in expected.values()} == {0, 3, 5}


def test_spark(exported_tagger, tmp_path):
    need("pyspark", "pandas", "pyarrow")
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=os.path.join(home, "bin") if home else None) is None:
        pytest.skip("needs Java, which runs Spark")
    check(run(recipe("pyspark"), exported_tagger, tmp_path), exported_tagger)


def test_ray(exported_tagger, tmp_path):
    need("ray", "pandas", "pyarrow")
    check(run(recipe("ray"), exported_tagger, tmp_path), exported_tagger)
