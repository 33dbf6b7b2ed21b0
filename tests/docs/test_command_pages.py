"""Pages of programs are written from their tables of options."""

import pytest

from tests.docs.pages import extension
from tfreps._src.cli.commands import COMMANDS

command_pages = extension("command_pages")


@pytest.mark.parametrize("program", [name for name in COMMANDS if "train" in name])
def test_pages_of_training_programs_describe_files_of_options(program):
    assert "``--config FILE`` reads options from" in command_pages.page(program)


def test_recipes_are_named():
    page = command_pages.page("train-tagger")
    assert "these recipes: ``bilstm``, ``bilstm_vectors``, ``slstm_paper``" in page
    assert " Defaults to bilstm for bilstm and bigru without pre-trained vectors" in page
    assert "which sets units=300, embedding_dim=200, min_count=2" in page
    page = command_pages.page("train-classifier")
    assert " Defaults to cnn for cnn without pre-trained vectors, which sets ngrams=2," in page
    assert "no recipe is used" not in command_pages.page("pretrain-bert")


def test_options_are_described():
    page = command_pages.page("train-tagger")
    assert "``--use-crf``, ``--no-use-crf``\n    Score the tags" in page
    assert "``--train FILE [FILE ...]``\n" in page and "``--epochs N``\n" in page
    assert "Encoder\n~~~~~~~\n" in page and "``--characters {cnn,bilstm,none}``\n" in page


def test_common_options_come_first_then_advanced_ones_and_keys():
    page = command_pages.page("train-tagger")
    titles = "Examples\n---", "\nOptions\n---", "\nMore options\n---", "\nKeys\n---"
    places = [page.index(title) for title in titles]
    assert places == sorted(places)
    for name, option in command_pages.import_command(
        "training.train_tagger"
    ).COMMAND.options.items():
        if option.level == command_pages.KEY:
            assert page.index(f"``{name}=") > places[3]
        elif option.kind is not bool:
            assert page.index(f"``--{name.replace('_', '-')} ") > places[1], name
    assert "``widths=N,...``" in command_pages.page("train-classifier")
    assert "More options" not in command_pages.page("tag")


def test_the_page_of_tag_describes_its_formats():
    page = command_pages.page("tag")
    for name in "tokens", "tags", "confidences", "spans":
        assert f"``{name}``" in page
