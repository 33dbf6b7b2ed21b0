"""A worker process ends when its folder is removed."""

import subprocess
import sys

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")


def test_the_process_ends_with_the_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    code = f"from tfreps.serving.annotation import local_worker as w; w.end_with({str(folder)!r})"
    process = subprocess.Popen([sys.executable, "-c", code])
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(8)
    folder.rmdir()
    assert process.wait(60) == 1
