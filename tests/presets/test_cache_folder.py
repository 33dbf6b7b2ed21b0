import pathlib

from tfreps._src.presets.cache_folder import cache_folder


def test_the_folder_follows_keras(monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tfreps"
    monkeypatch.delenv("KERAS_HOME")
    assert cache_folder() == pathlib.Path.home() / ".keras/tfreps"
