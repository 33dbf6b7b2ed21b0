"""Files about the project agree on its version, its addresses and the papers to cite."""

import re

import yaml

import tfreps
from tests.conftest import CHECKOUT
from tests.test_words import PAGES
from tfreps._src.addresses import DOCUMENTATION, REPOSITORY
from tfreps._src.cli.commands import COMMANDS

CITATION = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))


def read(name):
    return (CHECKOUT / name).read_text(encoding="utf-8")


def test_the_citation_names_the_version_and_the_repository():
    assert CITATION["version"] == tfreps.__version__
    assert (CITATION["repository-code"], CITATION["url"]) == (REPOSITORY, DOCUMENTATION)


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


def test_the_first_sections():
    """Readers find first how to report a problem, and how to make a change."""
    assert read("SECURITY.md").startswith("# Security\n\n## Report a problem\n")
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
