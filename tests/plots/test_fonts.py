"""Fonts with the characters are found, or a hint suggests what to install."""

import pathlib
import types

import pytest

from tfreps._src.plots import fonts
from tfreps.plots import find_fonts

matplotlib = pytest.importorskip("matplotlib", reason="plots need matplotlib")
FOLDER = pathlib.Path(matplotlib.get_data_path()) / "fonts" / "ttf"
NOWHERE = "\U0010fffd"  # private use, at the end of Unicode


@pytest.fixture
def machine(monkeypatch):
    """Returns a function that sets the fonts of the machine, in addition to the default one.

    Its arguments map families to characters. Only `known` fonts are in matplotlib's list.
    """

    def install(known, new=None):
        new = new or {}
        entries = [entry(name) for name in known]
        manager = types.SimpleNamespace(ttflist=entries)
        manager.addfont = lambda path: entries.append(entry(pathlib.Path(path).stem))
        characters = {f"/fonts/{name}.ttf": text for name, text in {**known, **new}.items()}
        module = types.SimpleNamespace(
            fontManager=manager,
            findfont=lambda name: "plain",
            findSystemFonts=lambda: [f"/fonts/{name}.ttf" for name in new],
            get_font=lambda path: types.SimpleNamespace(
                get_charmap=lambda: dict.fromkeys(map(ord, characters.get(path, "abc")))
            ),
        )
        monkeypatch.setattr(fonts, "matplotlib_module", lambda name: module)

    return install


def entry(name):
    return types.SimpleNamespace(name=name, fname=f"/fonts/{name}.ttf", style="normal")


def test_matplotlibs_own_font_has_latin_greek_and_cyrillic():
    assert find_fonts(["[CLS]", "café", "Ελλάς", "мир", "##s", "\u200b\t "]) == (
        ["DejaVu Sans"],
        "",
    )


def test_a_character_that_no_font_has():
    found = find_fonts(["a" + NOWHERE, "b"])
    assert found.missing == NOWHERE and found.replace_missing("a" + NOWHERE + "b") == "aU+10FFFDb"
    assert "(missing characters: 1)" in found.hint and "fonts-noto;" in found.hint
    assert find_fonts(["a"]).hint == ""


def test_the_likeliest_font_comes_first(machine):
    machine({"Aaa": "酒店", "SimHei": "酒店", "Noto Sans CJK SC": "酒"})
    assert find_fonts(["酒"]) == (["DejaVu Sans", "Noto Sans CJK SC"], "")
    assert find_fonts(["酒店"]) == (["DejaVu Sans", "Noto Sans CJK SC", "SimHei"], "")


def test_boxes_are_no_characters(machine):
    machine({"Last Resort High-Efficiency": "酒店", "Aaa": "店"})
    found = find_fonts(["酒店", "a"])
    assert found == (["DejaVu Sans", "Aaa"], "酒")
    assert (
        "has 酒 (missing characters: 1)" in found.hint
        and "apt install fonts-noto-cjk" in found.hint
    )


def test_fonts_installed_since_matplotlib_looked(machine):
    machine({"Aaa": "店"}, new={"New": "酒"})
    assert find_fonts(["酒店"]) == (["DejaVu Sans", "Aaa", "New"], "")


def test_a_font_file_that_is_named():
    found = find_fonts(["a"], FOLDER / "DejaVuSerif.ttf")
    assert found == (["DejaVu Serif", "DejaVu Sans"], "")


def test_a_file_that_is_no_font(tmp_path):
    (tmp_path / "a.ttf").write_bytes(b"no font at all")
    for name in "a.ttf", "nowhere.ttf":
        with pytest.raises(ValueError, match=f"{name} is not a font file .*expected .ttf"):
            find_fonts(["a"], tmp_path / name)
