"""Files about the project agree on its version, its addresses and the papers to cite."""

import re
import runpy

import pytest
import setuptools
import yaml

import tfreps
from tests.conftest import CHECKOUT
from tests.test_words import PAGES
from tfreps._src.addresses import DOCUMENTATION, REPOSITORY
from tfreps._src.cli.commands import COMMANDS
from tfreps._src.presets.preset_table import rows

CITATION = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))


def read(name):
    return (CHECKOUT / name).read_text(encoding="utf-8")


def test_the_citation_names_the_version_and_the_repository():
    assert CITATION["version"] == tfreps.__version__
    assert (CITATION["repository-code"], CITATION["url"]) == (REPOSITORY, DOCUMENTATION)
    released = f"\n## [{tfreps.__version__}]" in read("CHANGELOG.md")
    assert ("date-released" in CITATION) == released
    for name in ("README.md", "README.zh-CN.md", "docs/install.md"):
        assert REPOSITORY in read(name)


def test_the_site_has_the_same_entries_as_bibtex():
    page = read("docs/cite.md")
    entries = re.findall(r"^@\w+\{\w+,\n(.*?)^\}", page, re.M | re.S)
    papers = [" ".join(re.sub("[{}]", "", entry).split()).lower() for entry in entries]
    assert CITATION["title"].lower() in papers[0] and REPOSITORY in papers[0]
    assert f"version = {tfreps.__version__}," in papers[0]
    assert len(papers) == 1 + len(CITATION["references"])
    for paper, reference in zip(papers[1:], CITATION["references"], strict=True):
        assert reference["title"].lower() in paper and str(reference["year"]) in paper
        for author in reference["authors"]:
            assert f"{author['family-names']}, {author['given-names']}".lower() in paper


@pytest.fixture
def package(monkeypatch):
    """Returns the arguments of setup()."""
    found = {}
    monkeypatch.setattr(setuptools, "setup", found.update)
    runpy.run_path(str(CHECKOUT / "setup.py"))
    return found


PYTHON = {
    "README.md": "`python3` ({} to {})",
    "README.zh-CN.md": "`python3`（{} 至 {}）",
    "CONTRIBUTING.md": "`python3` ({} to {})",
    "Makefile": "tfreps needs Python {} to {}, this is",
    "docs/install.md": "tfreps needs Python {} to {}.",
    "docs/index.md": "with Python {} to {}:",
}


@pytest.mark.parametrize("name, sentence", PYTHON.items())
def test_the_versions_of_python(package, name, sentence):
    prefix = "Programming Language :: Python :: "
    versions = [c.removeprefix(prefix) for c in package["classifiers"] if c.startswith(prefix)][1:]
    major, minor = versions[-1].split(".")
    assert package["python_requires"] == f">={versions[0]},<{major}.{int(minor) + 1}"
    assert sentence.format(versions[0], versions[-1]) in read(name)


def test_the_package_index_shows_no_relative_links(package):
    text = package["long_description"]
    links = re.findall(r"(?:\]\(|src=\")([^)\"]+)", text)
    assert len(links) > 15
    assert [link for link in links if not re.match(r"https?://|#", link)] == []
    assert f"({REPOSITORY}/raw/main/docs/install.md)" in text


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_links_lead_to_files(name):
    links = re.findall(r"(?:\]\(|src=\")(?!https?://|#)([^)\"]+)", read(name))
    assert len(links) > 15 and [link for link in links if not (CHECKOUT / link).is_file()] == []
    assert not re.search(r"`(?:docs/\w|[A-Z]+\.md)", read(name))  # names without a link


@pytest.mark.parametrize(
    "name, number",
    [("README.md", r"ELMo in (\d+) languages"), ("README.zh-CN.md", r"(\d+) 种语言的 ELMo")],
)
def test_the_number_of_languages(name, number):
    elmo = [row.language for row in rows().values() if row.kind in ("elmo", "many_langs")]
    languages = {language.split(" (")[0] for language in elmo} - {"proteins"}
    assert int(re.search(number, read(name))[1]) == len(languages)
    assert sum(language.startswith("Chinese (") for language in elmo) == 2


def test_the_figures_of_the_first_page_are_among_the_results():
    measured = read("README.md").partition("\n## Measured\n")[2].partition("\n## ")[0]
    names = ("benchmarks/RESULTS.md", "training/RESULTS.md", "docs/explanation/exactness.md")
    results = "".join(map(read, names))
    figures = set(re.findall(r"(?<![\w.])\d+\.\d+(?:e-\d+)?(?![\w.])", measured))
    assert len(figures) > 12 and {f for f in figures if f not in results} == set()


def test_the_comparison_is_that_of_the_readme():
    row = re.compile(r"^\|.*\|$", re.M)
    compared = read("README.md").partition("\n## Compared\n")[2].partition("\n## ")[0]
    assert set(row.findall(compared)) <= set(row.findall(read("docs/explanation/comparison.md")))


def test_the_first_sections():
    """Readers find first how to report a problem, and how to make a change."""
    assert read("SECURITY.md").startswith("# Security\n\n## Report a problem\n")
    assert f"{REPOSITORY}/security/advisories/new" in read("SECURITY.md")
    first = read("CONTRIBUTING.md").partition("\n## Your first change\n")[2].partition("\n## ")[0]
    assert 5 < len(first.strip().splitlines()) <= 20


def test_the_changelog_has_the_form_of_keep_a_changelog():
    text = read("CHANGELOG.md")
    assert "https://keepachangelog.com/en/1.1.0/" in text
    releases = re.findall(r"^## (.+)$", text, re.M)
    assert releases[0] == "[Unreleased]"
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.M)) <= kinds


def test_programs_that_pages_name_exist():
    """Programs are modules of the checkout, commands of tfreps in backticks, and make targets."""
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.M))
    found = []
    for page in PAGES:
        text = " ".join(page.read_text(encoding="utf-8").split())
        for name in re.findall(r"python -m ((?:benchmarks|tests|training)\.[\w.]*\w)", text):
            path = CHECKOUT.joinpath(*name.split("."))
            found.append((page, name, path.with_suffix(".py").exists() or path.is_dir()))
        for name in re.findall(r"`tfreps ([a-z][\w-]*)", text):
            found.append((page, name, name in {*COMMANDS, "help"}))
        for name in re.findall(r"`make ([\w-]+)", text):
            found.append((page, name, name in targets))
    assert len(found) > 100 and [(p, name) for p, name, exists in found if not exists] == []


def test_no_page_cites_a_commit():
    found = [
        page for page in PAGES if re.search(r"commits?\s+[0-9a-f]{7}", page.read_text("utf-8"))
    ]
    assert found == []
