"""The checker in Chromium finds what a reader would see."""

import shutil

import pytest

from tests.docs.pages import DOCS, extension

GOOD = '<!doctype html><main><h1>Page</h1><pre>.. image:: x</pre><img src="dot.svg"></main>'
DOT = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'


@pytest.fixture
def check_pages(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    return extension("check_pages")


@pytest.mark.slow
def test_problems_of_pages_are_found(check_pages, tmp_path, capsys):
    pytest.importorskip("playwright.sync_api", reason="needs `pip install playwright`")
    if shutil.which("chromium") is None:
        pytest.skip("needs Debian's chromium on the path")
    site, images = tmp_path / "site", tmp_path / "images"
    (site / "_static").mkdir(parents=True)
    (site / "_static" / "template.html").write_text("{{ not a page }}")
    (site / "dot.svg").write_text(DOT)
    (site / "index.html").write_text(GOOD)
    assert check_pages.main([str(site), str(images)]) == 0
    assert "2 views opened, 0 problems" in capsys.readouterr().out
    assert sorted(path.parent.name for path in images.rglob("*.png")) == ["narrow", "wide"]

    bad = '<div style="width: 900px">wide</div><img src="gone.png"><p>see :doc:`other`</p>'
    (site / "index.html").write_text(
        GOOD.replace("</main>", bad + "<script>oops()</script></main>")
    )
    assert check_pages.main([str(site), str(images)]) == 1
    found = capsys.readouterr().out
    assert "index.html (narrow): wider than its window: div." in found
    assert "(wide): wider" not in found
    assert found.count("gone.png") == found.count("raw markup: ':doc:`'") == 2
    assert found.count("error: oops is not defined") == 2


def test_a_folder_without_a_site_is_an_error(check_pages, tmp_path, capsys):
    assert check_pages.main([str(tmp_path), str(tmp_path / "images")]) == 2
    assert "usage" in capsys.readouterr().err
