import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import tfreps
from tfreps._src.presets.hub_repositories import (
    Repository,
    download_repository,
    parse,
    upload_folder,
)
from tfreps._src.runs.run_folder import CHECKPOINTS, CONTENTS, LOGS, PLOTS

FILES = {
    "config.json": b"{}",
    "model.safetensors": bytes(range(256)) * 1000,
    "pytorch_model.bin": b"\x80pickle",
    "tf_model.h5": b"never",
    "modeling.py": b"raise SystemExit('never')",
    "training.pkl": b"\x80never",
    "vocab.txt": b"[PAD]\n",
    "small/options.json": b'{"lstm": {}}',
    "small/weights.hdf5": b"weights",
}
NAME = "hf://someone/their-tagger"


@pytest.fixture
def commit(hub):
    return hub.add("someone/their-tagger", FILES)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "address, found",
    [
        ("hf://a/b", Repository("a/b")),
        ("hf://a/b@v1.0", Repository("a/b", "v1.0")),
        ("hf://a/b@refs/pr/1/c", Repository("a/b", "refs/pr/1", "c")),
        ("hf://a/b/c/d", Repository("a/b", None, "c/d")),
        ("hf://a/b/", Repository("a/b")),
    ],
)
def test_addresses(address, found):
    assert parse(address) == found


@pytest.mark.parametrize(
    "address",
    ["hf://a", "hf://a/", "hf:///b", "hf://a/b@", "hf://a/b/../c", "hf://a/b/./c", "hf://a b/c",
     "hf://a/-b", "hf://a/b..c", "a/b"],
)  # fmt: skip
def test_addresses_that_are_none(address):
    with pytest.raises(ValueError, match="must have the form hf://|does not name a repository"):
        parse(address)


def test_only_what_is_read_is_downloaded(hub, commit):
    folder = download_repository(NAME)
    assert names(folder) == ["config.json", "model.safetensors", "vocab.txt"]
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    assert folder.name == commit
    assert not any(
        word in path for path in hub.downloads() for word in (".bin", ".h5", ".py", ".pkl")
    )


def test_revisions_and_folders(hub, commit):
    later = hub.add("someone/their-tagger", {**FILES, "config.json": b'{"later": 1}'})
    assert (download_repository(f"{NAME}@{commit}") / "config.json").read_bytes() == b"{}"
    assert (download_repository(f"{NAME}@main") / "config.json").read_bytes() == b'{"later": 1}'
    assert later != commit
    assert names(download_repository(f"{NAME}@{commit}/small")) == ["options.json", "weights.hdf5"]


def test_a_cached_model_needs_no_request(hub, commit):
    folder = download_repository(NAME)
    hub.asked.clear()
    assert download_repository(f"{NAME}@{commit}") == folder and hub.asked == []
    hub.shutdown()
    hub.server_close()  # no connection: the branch is looked up in the cache
    assert download_repository(NAME) == folder


def test_weights_that_are_never_downloaded(hub):
    hub.add("a/b", {"config.json": b"{}", "tf_model.h5": b"weights", "training_args.bin": b"N."})
    with pytest.raises(ValueError, match="neither weights.hdf5 nor a safetensors .* never downlo"):
        download_repository("hf://a/b")
    assert [path.rsplit("/", 1)[-1] for path in hub.downloads()] == ["config.json"]


@pytest.mark.parametrize("folder", ["", "inner/"])
def test_files_of_pytorch_in_place_of_safetensors(hub, folder):
    one = {"config.json": b"{}", "pytorch_model.bin": b"weights", "training_args.bin": b"N."}
    hub.add("a/one", {folder + name: data for name, data in one.items()})
    found = download_repository(f"hf://a/one/{folder}")
    assert names(found) == ["config.json", "pytorch_model.bin"]
    hub.asked.clear()
    assert download_repository(f"hf://a/one/{folder}") == found and not hub.downloads()
    several = ["pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin"]
    several.append("pytorch_model-00002-of-00002.bin")
    hub.add("a/several", dict.fromkeys([*several, "optimizer.bin"], b"weights"))
    assert names(download_repository("hf://a/several")) == sorted(several)


@pytest.mark.parametrize(
    "files",
    [
        ["adapter_config.json", "adapter_model.safetensors"],
        ["adapter_config.json", "config.json", "pytorch_model.bin"],
    ],
)
def test_an_adapter_is_named(hub, files):
    hub.add("a/adapter", dict.fromkeys(files, b"{}"))
    with pytest.raises(ValueError, match="hf://a/adapter/adapter_config.json belongs to an adapt"):
        tfreps.load("hf://a/adapter")


def test_all_files_of_presets_and_runs_are_downloaded(hub):
    """Each file of a run folder that `tfreps.load` reads."""
    read = set(CONTENTS) - {CHECKPOINTS, LOGS, PLOTS} | {"config.json", "model.safetensors"}
    hub.add("a/run", dict.fromkeys(read, b"{}"))
    assert names(download_repository("hf://a/run")) == sorted(read)


def test_names_that_leave_the_folder_are_not_downloaded(hub, tmp_path):
    hub.add("evil/model", {"../../../../escaped_options.json": b"{}", "weights.hdf5": b""})
    assert names(download_repository("hf://evil/model")) == ["weights.hdf5"]
    assert not list(tmp_path.rglob("escaped*"))


def test_a_killed_download_is_continued(hub, commit, tmp_path):
    """The process is killed while it waits for the rest of the weights."""
    hub.cuts[f"/someone/their-tagger/resolve/{commit}/model.safetensors"] = [100_000] + [0] * 3
    code = "from tfreps._src.presets.hub_repositories import download_repository as download"
    code += f"; download({NAME!r})"
    home = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1"}
    home["HF_HUB_CACHE"] = str(tmp_path / "hub_cache")  # that of the fixture
    process = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, **home})
    path = f"GET /someone/their-tagger/resolve/{commit}/model.safetensors"
    end = time.monotonic() + 120
    while path not in hub.asked and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not list((tmp_path / "hub_cache").rglob("snapshots/*/model.safetensors"))
    hub.cuts.clear()
    download_repository(NAME)
    [found] = (tmp_path / "hub_cache").rglob("snapshots/*/model.safetensors")
    assert found.read_bytes() == FILES["model.safetensors"]


def test_upload_and_download(hub, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_text('{"mine": 1}')
    (folder / "weights.hdf5").write_text("weights")
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# mine\n")
    url = upload_folder(folder, "hf://me/mine")
    assert url.startswith(f"{hub.url}/me/mine/commit/")
    assert hub.repositories["me/mine"]["main"]["README.md"].startswith(b"---")
    assert (download_repository("hf://me/mine") / "config.json").read_text() == '{"mine": 1}'
    (folder / "config.json").write_text('{"mine": 2}')
    upload_folder(folder, "hf://me/mine")  # the repository exists
    assert (download_repository("hf://me/mine") / "config.json").read_text() == '{"mine": 2}'


def test_an_upload_without_permission(hub, tmp_path):
    hub.statuses["/api/repos/create"] = 403
    pathlib.Path(tmp_path, "config.json").write_text("{}")
    message = "cannot be uploaded: the Hub responded with 403. Log in with `hf auth login`"
    with pytest.raises(ValueError, match=message):
        upload_folder(tmp_path, "hf://me/mine")


def test_an_upload_without_connection(hub, tmp_path):
    pathlib.Path(tmp_path, "config.json").write_text("{}")
    hub.shutdown()
    hub.server_close()
    with pytest.raises(ValueError, match=r"cannot be uploaded: .*\. Check the connection, and try"):
        upload_folder(tmp_path, "hf://me/mine")
