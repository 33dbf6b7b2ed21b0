"""Tests the help of the programs: defaults, groups and worked commands."""

import argparse
import shlex

import pytest

from tfreps import __main__ as command
from tfreps.cli.options import check_options, parse_options
from tfreps.cli.program_help import HelpFormatter, default_text, program_parser
from tfreps.presets.preset_table import rows

NAMES = sorted({*command.PROGRAMS} - {"plot"}) + [
    *("plot attention", "plot positions", "plot curves"),
]


def module_of(name):
    return command.import_program(command.PROGRAMS[name.split()[0]][0])


def parser_of(name):
    return module_of(name).make_parser(*name.split()[1:])


def examples_of(parser):
    """Returns the arguments of each worked command."""
    title, *lines = parser.epilog.replace("\\\n", " ").strip().splitlines()
    assert title == "examples:"
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize("name", NAMES)
def test_every_option_has_a_sentence_and_a_group(name):
    parser = parser_of(name)
    for group in parser._action_groups:
        if any(action.option_strings for action in group._group_actions):
            assert group.title and group.description.endswith("."), group.title
    for action in parser._actions:
        shown = parser.formatter_class(parser.prog)._expand_help(action)
        assert shown[:1].isupper() or shown.startswith(("options.json", "gRPC")), shown
        assert shown.endswith(".") and "None" not in shown and "  " not in shown, shown
        assert shown.count("(default:") <= 1, shown


@pytest.mark.parametrize("name", NAMES)
def test_the_help_ends_with_three_commands_that_the_program_accepts(name):
    module = module_of(name)
    commands = examples_of(parser_of(name))
    assert len(commands) == 3
    for words in commands:
        program = ["tfreps", *name.split()]
        assert words[: len(program)] == program
        parser, words = parser_of(name), words[len(program) :]
        if name in ("serve", "query", "predict"):
            parser.parse_intermixed_args(words) if name != "serve" else parser.parse_args(words)
            continue
        if name == "annotate":
            words, _ = module.split_arguments(words)  # the rest are options of Beam
        options = parse_options(parser, words, getattr(module, "RECIPES", None))
        tables = module.tables() if hasattr(module, "tables") else getattr(module, "TABLES", {})
        if tables and not getattr(options, "resume", False):
            check_options(options, *tables.values())
        if name in ("convert", "embed", "train-hmm"):
            module.check(options)


@pytest.mark.parametrize("name", NAMES)
def test_models_in_the_examples_are_paths_names_or_addresses(name):
    for words in examples_of(parser_of(name)):
        for flag in "--bert", "--init", "--elmo":
            if flag in words:
                source = words[words.index(flag) + 1]
                assert source in rows() or source.startswith(("runs/", "hf://")), source


def test_the_overview_of_plot():
    parser = module_of("plot").make_overview()
    assert [words[:2] for words in examples_of(parser)] == [["tfreps", "plot"]] * 3
    assert "curves: metrics of runs" in " ".join(parser.format_help().split())


@pytest.mark.parametrize(
    "flag, expected",
    [
        ({"default": 3}, "Width (default: 3)."),
        ({"default": 0}, "Width (default: 0)."),
        ({"default": 1e-4}, "Width (default: 0.0001)."),
        ({"default": [3, 4]}, "Width (default: 3 4)."),
        ({"default": "50 %"}, "Width (default: 50 %)."),
        ({"default": True, "action": argparse.BooleanOptionalAction}, "Width (default: on)."),
        ({"action": "store_true"}, "Width."),
        ({"default": None}, "Width."),
        ({"default": ""}, "Width."),
        ({"default": []}, "Width."),
        ({"default": argparse.SUPPRESS}, "Width."),
    ],
)
def test_defaults(flag, expected):
    action = argparse.ArgumentParser().add_argument("--width", **flag)
    action.help = "Width."  # without the default that some versions of Python add
    assert HelpFormatter("tfreps")._expand_help(action) == expected


def test_the_default_follows_the_first_sentence():
    action = argparse.ArgumentParser().add_argument("--x", default=2, help="Size. Above 1.5.")
    assert HelpFormatter("tfreps")._expand_help(action) == "Size (default: 2). Above 1.5."
    action.help = "Size"
    assert HelpFormatter("tfreps")._expand_help(action) == "Size (default: 2)"
    assert default_text(action) == "2"


def test_lines_break_at_spaces_and_commands_stay(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    long = "tfreps count --with-a-long-flag --and-another-long-flag \\\n    --last"
    parser = program_parser("tfreps count", "Counts. " * 10, (long,))
    parser.add_argument("--n", help="Number of the things, as in --with-a-long-flag and others.")
    text = parser.format_help()
    assert text.endswith(f"examples:\n  {long.replace(chr(10), chr(10) + '  ')}\n")
    assert "--with-a-long-flag and" in text and max(map(len, text.splitlines()[:-3])) <= 50
    assert program_parser("tfreps count", "Counts.").epilog is None
