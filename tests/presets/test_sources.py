import zipfile

import pytest

from tfreps.presets import preset_table
from tfreps.presets.sources import fetch, fetch_file

ELMO = "elmo_2x8_options.json", "elmo_2x8_weights.hdf5"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))


def test_local_paths_are_not_changed(tmp_path):
    assert str(fetch("runs/elmo")) == "runs/elmo" and fetch(tmp_path) == tmp_path
    assert fetch(f"file://{tmp_path}/x") == tmp_path / "x"


def test_a_local_folder_comes_before_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr(preset_table, "download", lambda name: tmp_path / "downloaded")
    assert fetch("elmo_small") == tmp_path / "downloaded"
    (tmp_path / "elmo_small").mkdir()
    assert str(fetch("elmo_small")) == "elmo_small"


@pytest.mark.parametrize("name", ELMO)
def test_both_files_of_a_bilm_are_downloaded(hub, name):
    hub.files |= {f"elmo/{each}": each.encode() for each in ELMO}
    path = fetch(f"{hub.url}/files/elmo/{name}?raw=1")
    assert path.name == ELMO[0]
    assert path.with_name(ELMO[1]).read_bytes() == ELMO[1].encode()


def test_an_archive_at_a_url(hub, tmp_path):
    with zipfile.ZipFile(tmp_path / "195.zip", "w") as file:
        for name in "options.json", "model.hdf5", "vocab.txt":
            file.writestr(name, name)
    hub.files["20/195.zip"] = (tmp_path / "195.zip").read_bytes()
    folder = fetch(f"{hub.url}/files/20/195.zip")
    assert (folder / "model.hdf5").read_text() == "model.hdf5"


def test_a_model_on_the_hub(hub):
    hub.add("a/b", {"config.json": b"{}"})
    assert (fetch("hf://a/b") / "config.json").read_bytes() == b"{}"


def test_the_only_file_of_vectors(hub, tmp_path):
    with zipfile.ZipFile(tmp_path / "vectors.zip", "w") as file:
        file.writestr("README", "about")
        file.writestr("model.txt", "a 1 2")
    assert fetch_file("vectors.zip", (".txt", ".vec")).read_text() == "a 1 2"
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as file:
        file.writestr("50.txt", "a 1 2")
        file.writestr("100.txt", "a 1 2")
    with pytest.raises(
        ValueError, match="must contain one file that ends in .txt; found 100.txt, 50"
    ):
        fetch_file("two.zip", (".txt",))
    hub.files["a.vec.gz"] = b"compressed"
    assert fetch_file(f"{hub.url}/files/a.vec.gz", (".vec",)).read_bytes() == b"compressed"
