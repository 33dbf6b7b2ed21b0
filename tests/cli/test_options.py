"""Tests the options of programs: their precedence, and invalid files."""

import argparse
import json

import pytest

from tfreps.cli.options import Option, add_flags, check_options, first_line, parse_options


def make_parser():
    parser = argparse.ArgumentParser(prog="tfreps test")
    parser.add_argument("text", nargs="?")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--run", required=True)
    parser.add_argument("--state", choices=["zero", "warm"], default="zero")
    parser.add_argument("--train", nargs="+", default=["a.txt"])
    parser.add_argument("--filters", type=json.loads)
    parser.add_argument("--tie", action="store_true")
    parser.add_argument("--skip", action=argparse.BooleanOptionalAction, default=True)
    return parser


def parse(tmp_path, config, *flags):
    path = tmp_path / "config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return parse_options(make_parser(), [*flags, "--config", str(path)])


def test_flags_beat_the_file_which_beats_defaults(tmp_path):
    config = {"run": "r", "batch_size": 8, "rate": 1, "filters": [[1, 2]], "train": ["b", "c"]}
    options = parse(tmp_path, {**config, "tie": True, "skip": False}, "--batch-size", "4", "x.txt")
    assert vars(options) == {
        "text": "x.txt",
        "run": "r",
        "batch_size": 4,
        "rate": 1.0,
        "state": "zero",
        "train": ["b", "c"],
        "filters": [[1, 2]],
        "tie": True,
        "skip": False,
    }
    assert type(options.rate) is float
    assert parse(tmp_path, config, "--train", "d").train == ["d"]


def parse_resumed(*flags, **options):
    parser = make_parser()
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--epochs", type=int)
    return parse_options(parser, list(flags), **options)


def test_a_run_that_goes_on_knows_its_options(tmp_path):
    kept = {"run": "elsewhere", "resume": False, "batch_size": 8, "rate": 0.5, "tie": True}
    kept |= {"minutes": 3.0, "gone_since": 1, "train": ["b"], "filters": [[1, 2]], "steps": 9}
    (tmp_path / "options.json").write_text(json.dumps({"options": kept}))
    line = ["--run", str(tmp_path), "--rate", "0.1"]
    options = parse_resumed(*line, "--resume")
    assert (options.rate, options.batch_size, options.tie) == (0.1, 8, True)
    assert (options.train, options.filters, options.steps) == (["b"], [[1, 2]], 9)
    assert (options.run, options.resume, options.minutes) == (str(tmp_path), True, None)
    assert parse_resumed(*line).batch_size == 32
    either = {"either": ("steps", "epochs")}
    assert parse_resumed(*line, "--resume", **either).steps == 9
    assert parse_resumed(*line, "--resume", "--epochs=2", **either).steps is None
    either = {"either": ("batch_size", "epochs")}
    assert parse_resumed(*line, "--resume", "--epochs", "2", **either).batch_size == 32
    assert parse_resumed(*line, "--resume", "--batch-size", "4", **either).epochs is None
    (tmp_path / "config.json").write_text('{"batch_size": 16, "resume": true}')
    options = parse_resumed(*line, "--config", str(tmp_path / "config.json"))
    assert (options.batch_size, options.tie) == (16, True)


@pytest.mark.parametrize("head", ["[]", "{}", '{"options": 3}', None])
def test_what_is_no_run_has_no_options(tmp_path, head):
    if head is not None:
        (tmp_path / "options.json").write_text(head)
    if head == "[]":
        with pytest.raises(ValueError, match="options.json: expected a JSON object"):
            parse_resumed("--run", str(tmp_path), "--resume")
    else:
        assert parse_resumed("--run", str(tmp_path), "--resume").batch_size == 32


def test_json_that_is_nested_without_end_is_refused(tmp_path):
    (tmp_path / "options.json").write_text("[" * 100_000)
    with pytest.raises(
        ValueError, match="options.json cannot be read as JSON: it is nested too dee"
    ):
        parse_resumed("--run", str(tmp_path), "--resume")


def test_a_damaged_option_of_a_run_is_named(tmp_path):
    (tmp_path / "options.json").write_text('{"options": {"batch_size": "8"}}')
    with pytest.raises(
        ValueError, match="options.json: option 'batch_size': expected an integer; got "
    ):
        parse_resumed("--run", str(tmp_path), "--resume")


@pytest.mark.parametrize(
    "words, message",
    [
        (["--batch-sise", "3"], "there is no option --batch-sise; did you mean --batch-size? See"),
        (["--batch-sise=3"], "there is no option --batch-sise; did you mean --batch-size? See"),
        (["--run", "r", "--zzzzzz"], "there is no option --zzzzzz. See"),
    ],
)
def test_unknown_flags_get_a_suggestion(words, message, capsys):
    """Even if the flag that was meant is required."""
    with pytest.raises(SystemExit):
        parse_options(make_parser(), words)
    assert message in capsys.readouterr().err


def test_words_with_spaces_and_words_after_dashes_are_no_flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("texts", nargs="*")
    words = ["--- a text", "--", "--text"]
    assert parse_options(parser, words).texts == ["--- a text", "--text"]


def test_without_a_file():
    options = parse_options(make_parser(), ["--run", "r"])
    assert options.batch_size == 32 and not hasattr(options, "config")


@pytest.mark.parametrize(
    "config, message",
    [
        ({"batchsize": 8}, "no option 'batchsize'; did you mean 'batch_size'"),
        ({"zzzzzz": 8}, "options are batch_size"),
        ({"help": True}, "no option 'help'"),
        ({"config": "x"}, "no option 'config'"),
        ({"text": "x"}, "no option 'text'"),
        ({"batch_size": "8"}, "'batch_size': expected an integer; got \"8\""),
        ({"batch_size": True}, "'batch_size': expected an integer; got true"),
        ({"batch_size": 8.5}, "'batch_size': expected an integer; got 8.5"),
        ({"batch_size": None}, "'batch_size': expected an integer; got null"),
        ({"rate": "fast"}, "'rate': expected a number; got \"fast\""),
        ({"tie": 1}, "'tie': expected true or false; got 1"),
        ({"skip": "no"}, "'skip': expected true or false; got \"no\""),
        ({"state": "cold"}, "'state': expected one of zero, warm; got 'cold'"),
        ({"train": "a.txt"}, "'train': expected a list; got \"a.txt\""),
        ({"train": [3]}, "'train': expected a string; got 3"),
        ({"filters": "[[1"}, "'filters'"),
        ("[1]", "expected a JSON object"),
        ("{,}", "not a JSON file"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_key(tmp_path, config, message):
    with pytest.raises(ValueError) as raised:
        parse(tmp_path, config, "--run", "r")
    assert message in str(raised.value) and "config.json" in str(raised.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="No such file"):
        parse_options(make_parser(), ["--run", "r", "--config", str(tmp_path / "absent.json")])


def test_flags_are_written_in_full(capsys):
    with pytest.raises(SystemExit):
        parse_options(make_parser(), ["--run", "r", "--batch", "3"])
    assert "--batch" in capsys.readouterr().err


def test_help_lists_the_file(capsys):
    with pytest.raises(SystemExit):
        parse_options(make_parser(), ["--help"])
    assert "--config FILE.json" in capsys.readouterr().out


TABLE = {
    "train": Option(str, None, "Files of text.", many=True, required=True),
    "num_units": Option(int, 8, "Width.", at_least=1),
    "widths": Option(int, [2, 3], "Widths of filters.", many=True, at_least=1),
    "dropout": Option(float, 0.5, "Dropout rate.", at_least=0, below=1),
    "rate": Option(float, None, "Learning rate.", above=0),
    "shift": Option(float, 0.0, "Any finite number."),
    "seed": Option(int, 0, "Random seed.", at_least=0, at_most=9),
    "column": Option(int, -1, "Column."),
    "kind": Option(str, "a", "Kind.", ["a", "b"]),
    "quick": Option(bool, False, "Do not wait."),
}


def parse_table(*flags):
    parser = argparse.ArgumentParser(prog="tfreps test")
    add_flags(parser.add_argument_group("all of them"), TABLE)
    parser.add_argument("--plain", type=float)
    parser.add_argument("--whole", type=int)
    return parse_options(parser, list(flags))


def test_a_table_becomes_flags_and_keys_of_the_file(tmp_path):
    options = parse_table("--num-units", "3", "--widths", "4", "5", "--quick", "--kind", "b")
    assert (options.num_units, options.widths, options.quick, options.kind) == (
        3,
        [4, 5],
        True,
        "b",
    )
    assert (options.dropout, options.rate, options.train) == (0.5, None, None)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"num_units": 7, "quick": True, "rate": 1, "train": ["x"]}))
    options = parse_table("--config", str(path))
    assert (options.num_units, options.quick, options.rate, options.train) == (7, True, 1.0, ["x"])
    check_options(options, TABLE)


@pytest.mark.parametrize("flags", [["--kind", "c"], ["--num-units", "x"], ["--unknown", "1"]])
def test_what_argparse_refuses(flags, capsys):
    with pytest.raises(SystemExit) as raised:
        parse_table(*flags)
    error = capsys.readouterr().err
    assert raised.value.code == 2 and flags[0] in error
    assert error.count("\n") == 1 and error.endswith("See tfreps test --help.\n")


def test_names_with_a_dash():
    assert parse_options(make_parser(), ["--run", "r", "--", "-a.txt"]).text == "-a.txt"


def test_empty_values():
    with pytest.raises(ValueError, match="--train is empty; expected a value"):
        parse_table("--train", "a", "")
    with pytest.raises(ValueError, match="text is empty"):
        parse_options(make_parser(), ["--run", "r", ""])
    with pytest.raises(ValueError, match="--run is empty"):
        parse_options(make_parser(), ["--run", ""])


def test_errors_of_flags_are_short(capsys):
    with pytest.raises(SystemExit):
        parse_table("--num-units", "9" * 5000, "--kind", "x\ny")
    assert len(capsys.readouterr().err) < 1000


@pytest.mark.parametrize(
    "flags, message",
    [
        ([], "--train is missing: files of text."),
        (["--train", "a", "--num-units", "0"], "--num-units must be at least 1; got 0."),
        (["--train", "a", "--widths", "2", "-1"], "--widths must be at least 1; got -1."),
        (["--train", "a", "--dropout", "1"], "--dropout must be at least 0 and below 1; got 1."),
        (
            ["--dropout", "nan"],
            "--dropout must be a finite number, at least 0 and below 1; got",
        ),
        (["--rate", "0"], "--rate must be above 0; got 0."),
        (["--rate", "-0.0"], "--rate must be above 0; got -0."),
        (["--rate", "inf"], "--rate must be a finite number, above 0; got inf."),
        (["--rate", "1e400"], "--rate must be a finite number, above 0; got inf."),
        (["--rate=-inf"], "--rate must be a finite number, above 0; got -inf."),
        (["--num-units", "2147483648"], "at least 1 and at most 2147483647; got 2147483648."),
        (["--num-units", "9" * 4000], "and at most 2147483647; got an integer of 13,288 bits."),
        (
            ["--seed", str(2**64)],
            "--seed must be at least 0 and at most 9; got 1844674",
        ),
        (
            ["--column", str(-(2**31))],
            "at least -2147483647 and at most 2147483647; got -2",
        ),
        (["--plain", "nan"], "--plain must be a finite number; got nan."),
        (
            ["--whole", str(2**31)],
            "--whole must be at least -2147483647 and at most",
        ),
        (["--train", "a", "--shift", "inf"], "--shift must be a finite number; got inf."),
    ],
)
def test_numbers_out_of_bounds(flags, message):
    with pytest.raises(ValueError) as raised:
        check_options(parse_table(*flags), TABLE)
    assert message in str(raised.value)


def test_numbers_within_bounds():
    flags = ["--train", "a", "--dropout", "0", "--rate", "1e-9", "--shift", "-5", "--widths", "1"]
    check_options(parse_table(*flags), TABLE)


def test_docstrings_may_be_gone():
    assert first_line("One.\n\nTwo.") == "One." and first_line(None) == ""


def test_a_recipe_is_found_by_its_name_and_a_file_by_its_path(tmp_path, capsys):
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    (recipes / "paper.json").write_text('{"batch_size": 10, "rate": 0.5}')
    words = ["--run", "r", "--config", "paper", "--rate", "0.1"]
    options = parse_options(make_parser(), words, recipes)
    assert (options.batch_size, options.rate) == (10, 0.1)
    assert parse_options(make_parser(), ["--run", "r"], recipes).batch_size == 32
    (tmp_path / "own.json").write_text('{"batch_size": 9}')
    words = ["--run", "r", "--config", str(tmp_path / "own.json")]
    assert parse_options(make_parser(), words, recipes).batch_size == 9
    with pytest.raises(ValueError, match="Cannot read papers"):
        parse_options(make_parser(), ["--run", "r", "--config", "papers"], recipes)
    with pytest.raises(SystemExit):
        parse_options(make_parser(), ["--help"], recipes)
    assert "or the name of a recipe (paper). Flags" in " ".join(capsys.readouterr().out.split())
