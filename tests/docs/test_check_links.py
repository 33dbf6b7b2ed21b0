"""The checker finds links and anchors that lead nowhere."""

from tests.docs.pages import extension


def test_broken_links_are_found(tmp_path, capsys):
    check_links = extension("check_links")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.html").write_text(
        '<p id="here">text</p><a href="../index.html#top">up</a>'
    )
    page = '<h1 id="top"></h1><a href="a/b.html#here">b</a><a href="https://example.org/x">x</a>'
    (tmp_path / "index.html").write_text(page)
    assert check_links.main([str(tmp_path)]) == 0
    assert "2 links inside, all right; 1 others" in capsys.readouterr().out

    broken = '<a href="a/c.html">c</a><a href="a/b.html#there">b</a><img src="no.png">'
    (tmp_path / "index.html").write_text(page + broken + '<a href="../out.html">out</a>')
    assert check_links.main([str(tmp_path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert [line.split(": ", 1)[1] for line in out] == [
        "../out.html: leads out of the site",
        "a/b.html#there: no such anchor",
        "a/c.html: no such file",
        "no.png: no such file",
    ]


def test_a_folder_without_a_site_is_an_error(tmp_path, capsys):
    assert extension("check_links").main([str(tmp_path)]) == 2
    assert "usage" in capsys.readouterr().err
