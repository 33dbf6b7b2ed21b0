import hashlib
import json
import re

import pytest

from tfreps._src.presets import preset_table
from tfreps._src.presets.archives import is_archive
from tfreps._src.presets.preset_table import download_preset, rows
from tfreps.presets import Preset, PresetFile, PresetTable, list_presets

FILES = {"options.json": b"{}", "weights.hdf5": b"weights"}


def preset(hub, **changes):
    files = [
        PresetFile(name, [f"{hub.url}/files/absent/{name}", f"{hub.url}/files/elmo/{name}"],
                   len(content), hashlib.sha256(content).hexdigest())
        for name, content in FILES.items()
    ]  # fmt: skip
    row = {"kind": "elmo", "description": "Tiny.", "parameters": 7, "license": "MIT"}
    row |= {"language": "English", "tokens": "words"}
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
        assert row.sources and row.kind in ("elmo", "many_langs", "bert", "sentences", "lac")
        assert row.language and row.tokens
        for file in row.files:
            assert all(re.fullmatch(r"https?://[^/]+/\S+", url) for url in file.urls)
            assert bool(file.urls) != bool(row.package)
            digits = "[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}"
            assert file.checksum is None or re.fullmatch(digits, file.checksum)
        if any(file.checksum is None for file in row.files[-1:]):
            assert "checksum" in " ".join(row.unverified)
        if row.kind == "elmo":
            names = [file.name for file in row.files]
            assert names == ["options.json", "weights.hdf5"] or names[0].endswith("-elmo.tar.gz")
        elif row.kind == "many_langs":
            assert len(row.files) == 1 and is_archive(row.files[0].name)


def test_the_archives_of_many_languages():
    """Numbers of the README in the PyPI package elmoformanylangs 0.0.4.post2."""
    found = {name: row for name, row in rows().items() if row.kind == "many_langs"}
    assert len(found) == 45  # 44 archives of NLPL, and simplified Chinese
    numbers = {
        **{"Arabic": 136, "Old Church Slavonic": 140, "Estonian": 146, "Ancient Greek": 153},
        **{"Dutch": 164, "Norwegian Bokmål": 165, "Uyghur": 175, "Chinese (traditional)": 179},
    }
    rows_of = {row.language: row for row in found.values()}
    assert len(rows_of) == 45
    for language, number in numbers.items():
        [file] = rows_of[language].files
        assert file.name == f"{number}.zip"
        assert file.urls == [
            f"http://vectors.nlpl.eu/repository/{n}/{number}.zip" for n in (20, 11)
        ]
    archives = [row.files[0].name for row in found.values() if row.files[0].name.endswith(".zip")]
    assert archives == [f"{number}.zip" for number in range(136, 180)]


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
    assert head.split()[:4] == ["name", "kind", "language", "parameters"]
    assert head.split()[4:] == ["size", "source", "license", "checksum"]
    assert line.split()[:4] == ["tiny", "elmo", "English", "0.0M"]
    lines = repr(list_presets()).splitlines()
    assert len(lines) == len(rows()) + 1
    [small] = [line for line in lines if line.startswith("elmo_small ")]
    assert "13.6M" in small and "54.4 MB" in small and "747ba97abce8..." in small


def test_files_in_folders(hub, monkeypatch):
    hub.files["nested/1_Pooling/config.json"] = b"{}"
    url = f"{hub.url}/files/nested/1_Pooling/config.json"
    found = preset(hub)._replace(files=[PresetFile("1_Pooling/config.json", [url], 2)])
    monkeypatch.setattr(preset_table, "rows", lambda: {"tiny": found})
    assert (download_preset("tiny") / "1_Pooling" / "config.json").read_bytes() == b"{}"


def test_a_preset_in_a_package(hub, monkeypatch):
    found = preset(hub)._replace(package="json", files=[PresetFile("tool.py", [], 1_000_000)])
    monkeypatch.setattr(preset_table, "rows", lambda: {"tiny": found})
    assert (download_preset("tiny") / "tool.py").is_file()
    assert " 1.0 MB  json " in repr(PresetTable([found])) and hub.asked == []
    found = found._replace(package="absent-one")
    monkeypatch.setattr(preset_table, "rows", lambda: {"tiny": found})
    with pytest.raises(ValueError, match="absent-one, which is not .* Run: pip install absent-one"):
        download_preset("tiny")


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
    assert list(rows())[: len(names[-1])] == list(names[-1])
