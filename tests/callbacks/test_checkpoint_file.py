"""Tests that checkpoints round-trip and that no failure loses the last valid one."""

import errno

import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy

from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint, save_checkpoint

ARRAYS = {
    "scalar": np.array(2.5, np.float32),
    "step": np.array(7, np.int64),
    "key": np.array([1, 2**32 - 1], np.uint32),
    "flag": np.array([True, False]),
    "half": np.array([[1.5, -2.0]], ml_dtypes.bfloat16),
    "columns_first": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "strided": np.arange(10)[::3],
    "empty": np.zeros((0, 4)),
}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def save(folder, step, **options):
    return save_checkpoint(folder, step, {"w": np.full(100, float(step))}, {"s": step}, **options)


def test_everything_comes_back(tmp_path):
    state = {"seed": 3, "files": ["a", "b"], "position": {"line": 2**40}}
    save_checkpoint(tmp_path / "new", 123, ARRAYS, state)
    step, arrays, loaded = load_latest_checkpoint(tmp_path / "new")
    assert (step, loaded) == (123, state)
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype and arrays[name].shape == array.shape, name
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)


def test_a_numpy_scalar_is_an_array_without_dimensions(tmp_path):
    save_checkpoint(tmp_path, 0, {"x": np.float32(1.5)}, {})
    assert load_latest_checkpoint(tmp_path)[1]["x"].shape == ()


def test_no_checkpoint(tmp_path):
    assert load_latest_checkpoint(tmp_path) is None
    assert load_latest_checkpoint(tmp_path / "absent") is None


def test_only_the_newest_are_kept(tmp_path):
    for step in (1, 2, 30, 4000000000):
        save(tmp_path, step)
    assert names(tmp_path) == ["step-00000030.safetensors", "step-4000000000.safetensors"]
    save(tmp_path, 4000000001, keep=1)
    assert names(tmp_path) == ["step-4000000001.safetensors"]


def test_the_file_just_written_stays_beside_a_later_one_that_is_torn(tmp_path):
    (tmp_path / "step-00000009.safetensors").write_bytes(b"torn")
    for step in (4, 5):
        save(tmp_path, step, keep=1)
        assert load_latest_checkpoint(tmp_path)[0] == step


@pytest.mark.parametrize("length", [0, 5, 60, -1])
def test_a_torn_file_is_skipped_by_name(tmp_path, caplog, length):
    save(tmp_path, 1)
    torn = save(tmp_path, 2)
    torn.write_bytes(torn.read_bytes()[:length])
    step, arrays, _ = load_latest_checkpoint(tmp_path)
    assert step == 1 and (arrays["w"] == 1).all()
    assert str(torn) in caplog.text


def test_a_foreign_file_is_skipped_by_name(tmp_path, caplog):
    save(tmp_path, 1)
    foreign = tmp_path / "step-00000002.safetensors"
    safetensors.numpy.save_file({"w": np.ones(3)}, foreign)
    (tmp_path / "notes.txt").write_text("not a checkpoint, and not named like one")
    assert load_latest_checkpoint(tmp_path)[0] == 1
    message = caplog.text
    assert str(foreign) in message and "notes" not in message


def test_a_renamed_file_is_skipped(tmp_path, caplog):
    save(tmp_path, 1).rename(tmp_path / "step-00000002.safetensors")
    assert load_latest_checkpoint(tmp_path) is None
    assert "step 2" in caplog.text


@pytest.mark.parametrize(
    "failure",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        safetensors.SafetensorError("I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_leaves_the_last_good_one(tmp_path, monkeypatch, failure):
    save(tmp_path, 1)

    def half_written(arrays, path, metadata):
        with open(path, "wb") as file:
            file.write(b"half")
        raise failure

    monkeypatch.setattr(safetensors.numpy, "save_file", half_written)
    with pytest.raises(OSError, match="No space left"):
        save(tmp_path, 2, keep=1)
    assert names(tmp_path) == ["step-00000001.safetensors"]
    assert load_latest_checkpoint(tmp_path)[0] == 1


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path):
    (tmp_path / ".step-00000001.safetensors.7777777.tmp.safetensors").write_bytes(b"half")
    (tmp_path / ".tmpAb3dE9").write_bytes(b"half")
    (tmp_path / ".tmp").mkdir()
    save(tmp_path, 2)
    assert names(tmp_path) == [".tmp", "step-00000002.safetensors"]


@pytest.mark.parametrize("state", [{"x": np.int64(3)}, {"x": float("nan")}, {1: 2}, {"x": (1, 2)}])
def test_state_must_survive_json(tmp_path, state):
    with pytest.raises(ValueError, match="JSON"):
        save_checkpoint(tmp_path, 1, {}, state)
    assert names(tmp_path) == []


def test_types_that_the_format_lacks(tmp_path):
    with pytest.raises(ValueError, match="could not be written"):
        save_checkpoint(tmp_path, 1, {"words": np.array(["a", "b"])}, {})
    assert names(tmp_path) == []


def test_a_flipped_byte_is_noticed_and_the_older_checkpoint_is_used(tmp_path, caplog):
    """A flip in the header, in the state or in an array; one line names both checkpoints."""
    state = {"best": 2.5, "position": {"line": 17}}
    for step in 1, 2:
        path = save_checkpoint(tmp_path, step, {"w": np.arange(9.0), "seed": np.uint32(7)}, state)
    whole = path.read_bytes()
    for position in range(0, len(whole), 3):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        caplog.clear()
        assert load_latest_checkpoint(tmp_path)[0] == 1, position
        (line,) = caplog.messages
        assert line.startswith(f"skipped the checkpoint {path} (")
        assert line.endswith("); step-00000001.safetensors is used")
    assert "its content differs from its checksum" in line


def test_the_warning_says_if_no_checkpoint_is_left(tmp_path, caplog):
    path = save(tmp_path, 3)
    path.write_bytes(path.read_bytes()[:-1] + b"\1")
    assert load_latest_checkpoint(tmp_path) is None
    (line,) = caplog.messages
    assert line == (
        f"skipped the checkpoint {path} (the file is damaged: its content differs from its "
        "checksum); no older one is left"
    )
