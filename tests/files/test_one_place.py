"""Tests that only `tfreps.files` writes atomically and handles byte order marks, gzip and JSON."""

import re

import pytest

from tests.conftest import CHECKOUT

# Pattern -> files outside of tfreps/files that may have it, and why.
ONE_PLACE = {
    r"\bos\.(replace|rename)\(|\.rename\(": {
        "benchmarks/peer_word2vec.py": "runs in an environment without tfreps",
        "benchmarks/serving.py": "makes a version appear, as a user does",
        "tfreps/distribute/beam/output_folder.py": "replaces a folder, on any file system of Beam",
        "tfreps/presets/web_files.py": "keeps a partial download for the next attempt",
    },
    r"BOM_UTF|\\ufeff|\\xef\\xbb": {
        "serving/predict.py": "imports nothing of tfreps, to run where it is not installed",
        "tfreps/distribute/beam/formats/lines.py": "runs on Beam's workers, without tfreps",
    },
    r"\bgzip\.open\(|BadGzipFile": {
        "tfreps/server/rest/rest_app.py": "unpacks bodies of requests, which are no files",
    },
    r"git-lfs": {},
    r"json\.load\(|json\.loads\([^\n]*(read_text|\.read\()": {
        "tfreps/distribute/beam/export_handler.py": "runs on Beam's workers, without tfreps",
        "tfreps/export/ask_c_api.py": "runs as a plain file, without tfreps",
        "tfreps/export/ask_tensorflow.py": "runs as a plain file, without tfreps",
        "tfreps/export/export_check.py": "reads the answers of those two",
        "tfreps/inference/embeddings_file.py": "says what to do about an unfinished run",
        "tfreps/runs/run_lock.py": "reads a file that it holds open",
    },
}
DOCSTRING = re.compile(r'"""(?:.|\n)*?"""')


@pytest.mark.parametrize("pattern", ONE_PLACE)
def test_only_the_package_files_does_it(pattern):
    folders = ("tfreps", "training", "serving")
    paths = [path for folder in folders for path in sorted((CHECKOUT / folder).rglob("*.py"))]
    paths += (CHECKOUT / name for name in ONE_PLACE[pattern] if name.startswith("benchmarks/"))
    found = set()
    for path in paths:
        name = path.relative_to(CHECKOUT).as_posix()
        source = DOCSTRING.sub("", path.read_text(encoding="utf-8"))
        if not name.startswith("tfreps/files/") and re.search(pattern, source):
            found.add(name)
    assert found == set(ONE_PLACE[pattern])
