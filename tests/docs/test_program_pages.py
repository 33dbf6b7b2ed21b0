"""Pages of programs are written from their parsers."""

import re

import pytest

from tests.docs.pages import extension
from tfreps.__main__ import PROGRAMS

program_pages = extension("program_pages")


@pytest.mark.parametrize("program", [name for name in PROGRAMS if "train" in name])
def test_pages_of_training_programs_describe_files_of_options(program):
    assert "``--config FILE.json`` reads options from" in program_pages.page(program)


def test_the_example_of_a_key_is_a_flag_of_the_program():
    for program in filter(program_pages.reads_config, PROGRAMS):
        parser, _ = program_pages.parser_of(program, *["curves"] * (program == "plot"))
        key, flag = re.search(
            r"such as ``(\w+)`` for ``(\S+)``", program_pages.page(program)
        ).groups()
        assert parser._option_string_actions[flag].dest == key, program


def test_recipes_are_named_and_servers_read_no_files_of_options():
    assert "these recipes: ``slstm_paper``." in program_pages.page("train-tagger")
    assert "--config" not in program_pages.page("serve")


def test_the_page_of_tag_describes_its_formats():
    page = program_pages.page("tag")
    for name in "tokens", "tags", "confidences", "spans":
        assert f"``{name}``" in page
