import zipfile

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import close_session

import tfreps
from tfreps._src.presets import preset_table
from tfreps._src.presets.sources import local_copy
from tfreps._src.presets.web_files import path_in_cache
from tfreps.presets import cached_path

ELMO = "elmo_2x8_options.json", "elmo_2x8_weights.hdf5"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))


def test_local_paths_are_not_changed(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/bert.ckpt.index").touch()
    assert str(cached_path("runs")) == "runs" and cached_path(tmp_path) == tmp_path
    assert cached_path(f"file://{tmp_path}/runs") == tmp_path / "runs"
    assert str(cached_path("runs/bert.ckpt")) == "runs/bert.ckpt"


@pytest.mark.parametrize(
    "source, suggestion",
    [
        ("elmo_orignal", " Did you mean 'elmo_original'?"),
        ("all-MiniLM-L6-v2", " Did you mean 'all_minilm_l6_v2'?"),
        ("bert-base-uncased", " Did you mean 'bert_base_uncased'?"),
        ("sentence-transformers/x", " Did you mean 'hf://sentence-transformers/x'?"),
        ("runs/ner", ""),
        ("../sentence-transformers/x", ""),
        ("bert-base-chinese", ""),
    ],
)
def test_what_a_missing_source_may_mean(tmp_path, source, suggestion):
    (tmp_path / "runs").mkdir()
    with pytest.raises(ValueError) as raised:
        cached_path(source)
    assert str(raised.value) == (
        f"{source} does not exist. Expected a local path, a name that `tfreps presets` prints, a "
        f"URL, or a repository such as hf://google-bert/bert-base-chinese.{suggestion}"
    )


def broken(source):
    with local_copy(source) as path:
        file = path / "config.json" if path.is_dir() else path
        raise ValueError(f"{file}: broken; see {file.parent}", 7)


def test_errors_name_the_source(hub, tmp_path):
    hub.add("a/b", {"config.json": b"{}", "model.safetensors": b""})
    hub.files |= {f"elmo/{each}": each.encode() for each in ELMO}
    with zipfile.ZipFile(tmp_path / "bert.zip", "w") as file:
        file.writestr("uncased/config.json", "{}")
    (tmp_path / "local").mkdir()
    url = f"{hub.url}/files/elmo"
    for source, file, folder in (
        ("bert.zip", "bert.zip/config.json", "bert.zip"),
        ("hf://a/b", "hf://a/b/config.json", "hf://a/b"),
        (f"{url}/{ELMO[1]}?raw=1", f"{url}/{ELMO[0]}", url),
        ("./local", "local/config.json", "local"),
        (tmp_path / "local", tmp_path / "local/config.json", tmp_path / "local"),
    ):
        with pytest.raises(ValueError) as raised:
            broken(source)
        text, number = raised.value.args
        assert text.partition(" If the downloaded file is damaged, ")[0] == (
            f"{file}: broken; see {folder}"
        )
        assert number == 7


def test_a_local_folder_comes_before_a_name(tmp_path, monkeypatch):
    (tmp_path / "runs").mkdir()
    monkeypatch.setattr(preset_table, "download_preset", lambda name: tmp_path / "runs")
    assert cached_path("elmo_small") == tmp_path / "runs"
    (tmp_path / "elmo_small").mkdir()
    assert str(cached_path("elmo_small")) == "elmo_small"


@pytest.mark.parametrize("name", ELMO)
def test_both_files_of_a_bilm_are_downloaded(hub, name):
    hub.files |= {f"elmo/{each}": each.encode() for each in ELMO}
    path = cached_path(f"{hub.url}/files/elmo/{name}?raw=1")
    assert path.name == ELMO[0]
    assert path.with_name(ELMO[1]).read_bytes() == ELMO[1].encode()


def test_an_archive_at_a_url(hub, tmp_path):
    with zipfile.ZipFile(tmp_path / "195.zip", "w") as file:
        for name in "options.json", "model.hdf5", "vocab.txt":
            file.writestr(name, name)
    hub.files["20/195.zip"] = (tmp_path / "195.zip").read_bytes()
    folder = cached_path(f"{hub.url}/files/20/195.zip")
    assert (folder / "model.hdf5").read_text() == "model.hdf5"


@pytest.fixture
def offline(monkeypatch):
    """Returns a function that makes `huggingface_hub` work offline until the end of the test."""

    def switch():
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        close_session()

    yield switch
    monkeypatch.undo()
    close_session()


@pytest.mark.parametrize("source, other", [("hf://a/b", "hf://a/c"), ("URL/a.vec", "URL/b.vec")])
def test_offline(hub, offline, source, other):
    """What is in the cache is used without any request."""
    hub.add("a/b", {"config.json": b"{}", "model.safetensors": b""})
    hub.files["a.vec"] = b"a 1 2"
    source, other = (each.replace("URL", f"{hub.url}/files") for each in (source, other))
    path = cached_path(source)
    hub.asked.clear()
    offline()
    assert cached_path(source) == path
    with pytest.raises(ValueError, match="cannot be downloaded: .*HF_HUB_OFFLINE is set"):
        cached_path(other)
    assert hub.asked == []


def test_the_only_file_of_vectors(hub, tmp_path):
    with zipfile.ZipFile(tmp_path / "vectors.zip", "w") as file:
        file.writestr("README", "about")
        file.writestr("model.txt", "a 1 2")
    with pytest.raises(ValueError, match="^vectors.zip/model.txt, line 1: a 1 2$"):
        with local_copy("vectors.zip", (".txt", ".vec")) as path:
            raise ValueError(f"{path}, line 1: {path.read_text()}")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as file:
        file.writestr("50.txt", "a 1 2")
        file.writestr("100.txt", "a 1 2")
    with pytest.raises(
        ValueError, match="^two.zip must contain one file that ends in .txt; found 100.txt, 50"
    ):
        with local_copy("two.zip", (".txt",)):
            pass
    hub.files["a.vec.gz"] = b"compressed"
    with local_copy(f"{hub.url}/files/a.vec.gz", (".vec",)) as path:
        assert path.read_bytes() == b"compressed"


def test_a_downloaded_archive_that_is_damaged_is_removed(hub):
    hub.files["bert.zip"] = b"Too many requests"
    url = f"{hub.url}/files/bert.zip"
    for _ in range(2):
        message = "bert.zip cannot be extracted: File is not a zip .* The downloaded file was remov"
        with pytest.raises(ValueError, match=message):
            cached_path(url)
        assert not path_in_cache(url).exists()


def test_a_downloaded_file_that_is_damaged_is_named(hub):
    hub.files |= {f"elmo/{each}": b'{"error": "too many requests"}' for each in ELMO}
    url = f"{hub.url}/files/elmo/{ELMO[0]}"
    with pytest.raises(ValueError) as raised:
        tfreps.load(url)
    assert str(raised.value).startswith(f"{url}: ")
    sentence = f" If the downloaded file is damaged, delete {path_in_cache(url)}."
    assert str(raised.value).endswith(sentence)
