"""Every bad source in a command: exit code 2, one sentence, and no file under its final name."""

import os
import pathlib
import zipfile

import pytest

from tests.presets.test_preset_table import FILES, preset
from tfreps._src.cli import commands as command
from tfreps._src.presets import preset_table, web_files


def answers(path, status):
    def change(hub, monkeypatch, folder):
        hub.statuses[path] = status

    return change


def cut(hub, monkeypatch, folder):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    hub.cuts["/files/elmo/weights.hdf5"] = [3] + [0] * 9


def slow(hub, monkeypatch, folder):
    monkeypatch.setattr(web_files, "TIMEOUT", 0.2)
    hub.delays["/files/elmo/options.json"] = 1


def closed(hub, monkeypatch, folder):
    hub.shutdown()
    hub.server_close()


def changed(hub, monkeypatch, folder):
    row = preset(hub)
    hub.files["elmo/weights.hdf5"] = b"WEIGHTS"
    monkeypatch.setattr(preset_table, "rows", lambda: {"tiny": row})


def longer(hub, monkeypatch, folder):
    changed(hub, monkeypatch, folder)
    hub.files["elmo/weights.hdf5"] = b"weights and more"


def full(hub, monkeypatch, folder):
    def refuse(path, num_bytes):
        raise OSError(28, "No space left on device", os.fspath(path))

    monkeypatch.setattr(web_files, "check_space", refuse)


def offline(hub, monkeypatch, folder):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def no_cache(hub, monkeypatch, folder):
    (folder / "file").write_text("")
    monkeypatch.setenv("KERAS_HOME", str(folder / "file"))


def climbing(hub, monkeypatch, folder):
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        archive.writestr("../options.json", "{}")


def bomb(hub, monkeypatch, folder):
    with zipfile.ZipFile(folder / "model.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("options.json", bytes(10_000_000))


URL = "URL/files/elmo/options.json"
REPOSITORY = "/api/models/someone/model/revision/main"
CASES = {
    "url, 401": (answers("/files/elmo/options.json", 401), URL, "the server responded with 401"),
    "url, 404": (answers("/files/elmo/options.json", 404), URL, "the server responded with 404"),
    "url, 429": (answers("/files/elmo/options.json", 429), URL, "the server responded with 429"),
    "url, 503": (answers("/files/elmo/options.json", 503), URL, "the server responded with 503"),
    "hub, 401": (
        answers(REPOSITORY, 401),
        "hf://someone/model",
        "the Hub responded with 401. Log in",
    ),
    "hub, 404": (answers(REPOSITORY, 404), "hf://someone/model", "the Hub responded with 404"),
    "hub, 403": (answers(REPOSITORY, 403), "hf://someone/model", "the Hub responded with 403"),
    "hub, 429": (answers(REPOSITORY, 429), "hf://someone/model", "the Hub responded with 429"),
    "hub, 503": (answers(REPOSITORY, 503), "hf://someone/model", "the Hub responded with 503"),
    "hub, no such repository": (None, "hf://nobody/nothing", "does not exist, or it is private"),
    "hub, no such revision": (None, "hf://someone/model@v9", "has no revision 'v9'"),
    "hub, no such folder": (None, "hf://someone/model/absent", "contains no model that tfreps"),
    "hub, .. in the folder": (None, "hf://someone/model/../other", "must have the form hf://"),
    "cut": (cut, URL, "A partial download is resumed"),
    "slow": (slow, URL, "cannot be downloaded: timed out"),
    "closed": (closed, URL, "cannot be downloaded"),
    "wrong checksum": (changed, "tiny", "does not have the expected content"),
    "wrong size": (longer, "tiny", "has 16 bytes; expected 7"),
    "full disk": (full, URL, "No space left on device"),
    "offline": (offline, URL, "HF_HUB_OFFLINE is set"),
    "cache that is a file": (no_cache, URL, "Cannot write to the download folder"),
    "zip with ..": (climbing, "model.zip", "which is not a safe path"),
    "zip bomb": (bomb, "model.zip", "would unpack to"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_source(hub, tmp_path, monkeypatch, capsys, case):
    change, source, message = CASES[case]
    hub.files |= {f"elmo/{name}": content for name, content in FILES.items()}
    hub.add("someone/model", FILES)
    (tmp_path / "text.txt").write_text("I have a dog\n")
    if change:
        change(hub, monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    source = source.replace("URL", hub.url)
    assert command.main(["embed", source, "text.txt", "--output", "out.hdf5"]) == 2
    error = capsys.readouterr().err.splitlines()
    assert error[-1].startswith("tfreps embed: error: ") and message in error[-1], error
    assert sum("error: " in line for line in error) == 1
    assert not list(tmp_path.glob("*out.hdf5*"))
    complete = {path.read_bytes() for path in pathlib.Path(tmp_path).rglob("weights.hdf5")}
    assert complete <= {FILES["weights.hdf5"]}
