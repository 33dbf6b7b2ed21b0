import pathlib

import pytest

from tfreps._src.presets.cache_folder import cache_folder, folder_of, missing


def test_the_folder_follows_keras(monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tfreps"
    monkeypatch.delenv("KERAS_HOME")
    assert cache_folder() == pathlib.Path.home() / ".keras/tfreps"


def test_sources_have_folders_of_their_own():
    assert folder_of("urls", "a") != folder_of("urls", "b")
    assert folder_of("urls", "a") == folder_of("urls", "a")


def test_a_folder_that_cannot_be_created(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="Set the environment variable KERAS_HOME"):
        with missing(tmp_path / "file/x/y"):
            pass


def test_what_is_there_is_not_missing(tmp_path):
    with missing(tmp_path / "a") as is_missing:
        assert is_missing
        (tmp_path / "a").write_text("whole")
    with missing(tmp_path / "a") as is_missing:
        assert not is_missing
