"""SavedModels are written atomically."""

import pytest
import tensorflow as tf

from tfreps.export.saved_model import save_whole


def function():
    spec = tf.TensorSpec([None], tf.float32, "x")
    return {"default": tf.function(lambda x: {"y": 2.0 * x}).get_concrete_function(spec)}


def test_a_new_folder_and_an_empty_one(tmp_path):
    (tmp_path / "2").mkdir()
    for name in ("deep/1", "2"):
        save_whole(tf.Module(), tmp_path / name, function())
        answer = tf.saved_model.load(str(tmp_path / name)).signatures["default"]
        assert answer(x=tf.constant([1.5]))["y"].numpy().tolist() == [3.0]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["1"]


def test_what_is_there_stays(tmp_path):
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "mine").write_text("x")
    with pytest.raises(ValueError, match="not an empty folder. Choose another"):
        save_whole(tf.Module(), tmp_path / "1", function())
    assert (tmp_path / "1" / "mine").read_text() == "x"


def test_nothing_is_left_where_saving_fails(tmp_path, monkeypatch):
    def fails(module, folder, *_):
        tf.io.gfile.makedirs(folder)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", fails)
    with pytest.raises(OSError, match="No space"):
        save_whole(tf.Module(), tmp_path / "1", function())
    assert not list(tmp_path.iterdir())
