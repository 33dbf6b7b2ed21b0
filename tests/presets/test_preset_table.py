import hashlib
import json
import re

import pytest

from tfreps._src.presets import preset_table
from tfreps._src.presets.preset_table import (
    Preset,
    PresetFile,
    PresetTable,
    download_preset,
    rows,
    table,
)

FILES = {"options.json": b"{}", "weights.hdf5": b"weights"}


def preset(hub, **changes):
    files = [
        PresetFile(name, [f"{hub.url}/files/absent/{name}", f"{hub.url}/files/elmo/{name}"],
                   len(content), hashlib.sha256(content).hexdigest())
        for name, content in FILES.items()
    ]  # fmt: skip
    row = {"kind": "elmo", "description": "Tiny.", "parameters": 7, "license": "MIT"}
    row |= {"citation": "nobody", "files": files, "unverified": [], "sources": ["a test"]}
    return Preset(name="tiny", **{**row, **changes})


@pytest.fixture
def tiny(hub, monkeypatch):
    hub.files |= {f"elmo/{name}": content for name, content in FILES.items()}
    found = preset(hub)
    monkeypatch.setattr(preset_table, "rows", lambda: {"tiny": found})
    return found


def test_the_rows_are_complete():
    for name, row in rows().items():
        assert row.name == name and row.description.endswith(".") and row.license and row.citation
        assert row.sources and row.kind in ("elmo", "bert", "sentences")
        for file in row.files:
            assert all(re.fullmatch(r"https://[^/]+/\S+", url) for url in file.urls) and file.urls
            assert file.checksum is None or re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", file.checksum)
        if any(file.checksum is None for file in row.files[-1:]):
            assert "checksum" in " ".join(row.unverified)
        if row.kind == "elmo":
            assert [file.name for file in row.files] == ["options.json", "weights.hdf5"]


def test_facts_of_the_published_models():
    """Sizes and checksums of reference/zoo.md and README; parameters of the architecture."""
    small, german = rows()["elmo_small"].files[1], rows()["elmo_de"].files
    assert small.size == 54_402_456
    assert small.checksum == "747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229"
    assert [file.checksum[:8] for file in german] == ["04afb8bc", "9084adab"]
    for name in "elmo_original", "elmo_original_5.5b", "elmo_pubmed":
        assert rows()[name].parameters == 93_600_848
    sizes = {name: row.size for name, row in rows().items()}
    assert sizes["elmo_original"] == sizes["elmo_pubmed"] == 374_434_792
    # float32 weights and an HDF5 header of about 30 kB
    for name in "elmo_small", "elmo_original":
        assert 0 < sizes[name] - 4 * rows()[name].parameters < 40_000


def test_it_is_printed_as_a_table(hub):
    head, line = repr(PresetTable([preset(hub)])).splitlines()
    assert head.split() == ["name", "kind", "parameters", "size", "source", "license", "checksum"]
    assert line.split()[:3] == ["tiny", "elmo", "0.0M"]
    assert len(repr(table()).splitlines()) == len(rows()) + 1


def test_files_in_folders(hub, monkeypatch):
    hub.files["nested/1_Pooling/config.json"] = b"{}"
    url = f"{hub.url}/files/nested/1_Pooling/config.json"
    found = preset(hub)._replace(files=[PresetFile("1_Pooling/config.json", [url], 2)])
    monkeypatch.setattr(preset_table, "rows", lambda: {"tiny": found})
    assert (download_preset("tiny") / "1_Pooling" / "config.json").read_bytes() == b"{}"


def test_the_second_source_is_asked(hub, tiny):
    folder = download_preset("tiny")
    assert {path.name: path.read_bytes() for path in folder.glob("[ow]*")} == FILES
    hub.asked.clear()
    assert download_preset("tiny") == folder and hub.asked == []


def test_no_source_answers(hub, tiny):
    hub.files.clear()
    with pytest.raises(ValueError) as error:
        download_preset("tiny")
    text = str(error.value)
    assert text.startswith("options.json of tiny cannot be downloaded.") and "\n" not in text
    assert text.count("the server responded with 404") == 2
    assert text.endswith("Get options.json and weights.hdf5 by other means and pass their folder "
                         "instead.")  # fmt: skip


def test_unverified_facts_are_printed_when_they_are_used(hub, tiny, monkeypatch):
    found = tiny._replace(unverified=["license", "checksums"])
    monkeypatch.setattr(preset_table, "rows", lambda: {"tiny": found})
    with pytest.warns(
        UserWarning, match="tiny: these facts .* not be verified: license; checksums"
    ):
        download_preset("tiny")


def test_hf_endpoint_applies(hub, tiny, monkeypatch):
    hub.add("a/b", FILES)
    urls = [preset_table.HUB + f"a/b/resolve/main/{name}" for name in FILES]
    files = [file._replace(urls=[url]) for file, url in zip(tiny.files, urls, strict=True)]
    monkeypatch.setattr(preset_table, "rows", lambda: {"tiny": tiny._replace(files=files)})
    assert (download_preset("tiny") / "weights.hdf5").read_bytes() == b"weights"


def test_the_file_is_json_with_unique_names():
    names = []
    text = preset_table.importlib.resources.files("tfreps._src.presets").joinpath("table.json")
    json.loads(text.read_text(), object_pairs_hook=lambda pairs: names.append(dict(pairs)) or pairs)
    assert len(set(rows())) == len(names[-1])
