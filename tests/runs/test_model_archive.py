"""Model archives that are damaged, are zip bombs or contain code."""

import json
import zipfile

import keras
import numpy as np
import pytest

from tfreps.__main__ import main
from tfreps._src.runs.model_archive import check_archive, refusal, save_archive
from tfreps.runs import RunFolder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Returns the bytes of a small model, and its parts by name."""
    path = tmp_path_factory.mktemp("archive") / "model.keras"
    keras.Sequential([keras.Input([2]), keras.layers.Dense(3)]).save(path)
    check_archive(path)
    with zipfile.ZipFile(path) as archive:
        return path.read_bytes(), {name: archive.read(name) for name in archive.namelist()}


def packed(path, parts, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def test_an_archive_has_the_size_of_the_weights(tmp_path):
    """The moments of Adam are not in the file; the model in memory keeps them for training."""
    model = keras.Sequential([keras.Input([200]), keras.layers.Dense(200, use_bias=False)])
    model.compile(keras.optimizers.Adam(0.5, beta_1=0.0), "mse", metrics=["mae"])
    x, y = np.ones([4, 200], "float32"), np.zeros([4, 200], "float32")
    model.train_on_batch(x, y)
    moments = [variable.numpy() for variable in model.optimizer.variables]
    assert any(np.any(moment) for moment in moments[2:])
    path = tmp_path / "model.keras"
    save_archive(model, path)
    assert 160_000 < path.stat().st_size < 200_000  # 200 * 200 weights of 4 bytes; Adam has 480,000
    check_archive(path)
    loaded = keras.saving.load_model(path)
    assert not loaded.compiled
    np.testing.assert_array_equal(loaded.get_weights()[0], model.get_weights()[0])
    for variable, moment in zip(model.optimizer.variables, moments, strict=True):
        np.testing.assert_array_equal(variable, moment)
    model.train_on_batch(x, y)
    assert int(model.optimizer.iterations) == 2


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_part_of_a_file_is_called_damaged(whole, tmp_path, share):
    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    run.model_path.write_bytes(whole[0][: int(share * len(whole[0]))])
    with pytest.raises(ValueError, match="model.keras is damaged: it is not a complete zip"):
        run.load_model()


def test_a_changed_byte_is_found(whole, tmp_path):
    data = bytearray(whole[0])
    place = whole[0].index(whole[1]["model.weights.h5"]) + 500
    data[place] ^= 1
    (tmp_path / "model.keras").write_bytes(data)
    with pytest.raises(ValueError, match="its member model.weights.h5 has a wrong checksum"):
        check_archive(tmp_path / "model.keras")


def test_missing_parts_and_bombs(whole, tmp_path):
    parts = dict(whole[1])
    del parts["model.weights.h5"]
    with pytest.raises(ValueError, match="damaged: it lacks model.weights.h5"):
        check_archive(packed(tmp_path / "a.keras", parts))
    parts["model.weights.h5"] = bytes(50_000_000)
    with pytest.raises(ValueError, match="bytes would unpack to 50,00"):
        check_archive(packed(tmp_path / "b.keras", parts, zipfile.ZIP_DEFLATED))


def lambda_config():
    """Keras stores the code of a Lambda layer in the file."""
    layer = keras.layers.Lambda(lambda x: x + 1)
    return keras.saving.serialize_keras_object(keras.Sequential([keras.Input([2]), layer]))


def test_code_is_refused_without_advice_to_allow_it(whole, tmp_path, capsys):
    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    packed(run.model_path, {**whole[1], "config.json": json.dumps(lambda_config())})
    for line in (
        ["tag", str(run.path)],
        ["export", str(run.path), "--output", str(tmp_path / "e")],
    ):
        assert main(line) == 2
        [error] = capsys.readouterr().err.splitlines()
        assert "model.keras contains code or refers to files outside the archive, which" in error
        assert "safe_mode" not in error and "enable_unsafe" not in error


def test_other_refusals_say_what_keras_said():
    text = refusal("a.keras", KeyError("no\nsuch   layer"))
    assert "a.keras cannot be loaded (KeyError: 'no\\nsuch layer')" in text
