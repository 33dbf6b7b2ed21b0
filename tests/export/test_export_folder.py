"""write_export writes the next version of a model into its folder."""

import sys

import pytest
import tensorflow as tf

from tests.export.tiny_signatures import TinySignatures
from tfreps.export import export_folder, write_export
from tfreps.files.version_folders import versions_of

NOTES = ["README.md", "batching.config", "models.config"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_versions_follow_one_another(tmp_path):
    base = tmp_path / "deep" / "toy"
    for version in (1, 2):
        written = write_export(TinySignatures(), base)
        assert (written.version, written.folder) == (version, base / str(version))
        assert list(written.functions) == ["default", "serving_default", "explain"]
        readme = (base / "README.md").read_text()
        assert f"version {version}." in readme and "\nA notice for users.\n" in readme
    assert names(base) == ["1", "2", *NOTES]
    answer = tf.saved_model.load(str(base / "2")).signatures["default"](text=tf.constant(["ab c"]))
    assert answer["tags"].numpy().tolist() == [[b"2", b"1"]]


def test_what_reads_no_text_is_warmed_up_too(tmp_path):
    assert write_export(TinySignatures(reads_text=False), tmp_path).num_warm_up == 2


@pytest.mark.parametrize("check, python", [(True, sys.executable), ("other", "other")])
def test_what_fails_its_check_does_not_appear(tmp_path, monkeypatch, check, python):
    given = []

    def fails(*arguments):
        given.append(arguments)
        raise ValueError("1 of the checks failed")

    monkeypatch.setattr(export_folder, "check_signatures", fails)
    signatures = TinySignatures()
    with pytest.raises(ValueError, match="checks failed"):
        write_export(signatures, tmp_path, check=check, on_checked=print)
    assert not list(tmp_path.iterdir())
    asked, functions, folder, interpreter, on_checked = given[0]
    assert (asked, interpreter, on_checked) == (signatures, python, print)
    assert folder.parent == tmp_path and folder.name.startswith(".1.")


def test_nothing_is_left_where_writing_fails(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export_folder, "write_warm_up", fails)
    with pytest.raises(OSError, match="No space"):
        write_export(TinySignatures(), tmp_path)
    assert not list(tmp_path.iterdir()) and versions_of(tmp_path) == []
    (tmp_path / "file").write_text("kept")
    with pytest.raises(ValueError, match="is a file"):
        write_export(TinySignatures(), tmp_path / "file")
