"""Tests the command line of commands: precedence, invalid files, errors, and help."""

import json
import re
import shlex

import pytest

from tfreps._src.cli import command as command_module
from tfreps._src.cli import commands as command
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.command_help import METAVARS, default_text
from tfreps._src.cli.options import ADVANCED, COMMON, KEY, Option, as_flag
from tfreps._src.presets.preset_table import rows

TABLE = {
    "batch_size": Option(int, 32, "Rows.", at_least=1),
    "rate": Option(float, 0.2, "Learning rate."),
    "state": Option(str, "zero", "State.", ["zero", "warm"]),
    "train": Option(str, ["a.txt"], "Files.", many=True),
    "filters": Option(json.loads, None, "Filters."),
    "tie": Option(bool, False, "Share weights."),
    "skip": Option(bool, True, "Skip."),
    "path": Option(str, None, "Path.", repeated=True),
}
RUN = {"run": Option(str, None, "Folder.", required=True, metavar="DIR")}
OF_A_RUN = {
    "resume": Option(bool, False, "Go on."),
    "time_limit_minutes": Option(float, None, "Minutes."),
    "steps": Option(int, None, "Steps."),
    "epochs": Option(int, None, "Epochs."),
    "validation": Option(str, None, "Held-out files.", required=True),
}
TEXT = {"text": Option(str, None, "Text.")}


def program(table=TABLE, arguments=TEXT, **more):
    return Command("test", "Tests.", arguments, [Group("all", "Options.", RUN | table)], **more)


def parse(tmp_path, config, *flags):
    path = tmp_path / "config.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return program().parse([*flags, "--config", str(path)])


def test_flags_beat_the_file_which_beats_defaults(tmp_path):
    config = {"run": "r", "batch_size": 8, "rate": 1, "filters": [[1, 2]], "train": ["b", "c"]}
    more = {"tie": True, "skip": False, "path": ["p"]}
    options = parse(tmp_path, {**config, **more}, "--batch-size", "4", "x.txt")
    assert vars(options) == {**config, **more, "text": "x.txt", "batch_size": 4, "state": "zero"}
    assert type(options.rate) is float
    assert parse(tmp_path, config, "--train", "d").train == ["d"]
    flags = ["--path", "a", "--path", "b", "--filters", "[[3]]", "--no-skip", "--run", "r"]
    options = program().parse(flags)
    assert (options.path, options.filters, options.skip) == (["a", "b"], [[3]], False)


def parse_resumed(*flags, **more):
    return program(TABLE | OF_A_RUN, {}, **more).parse(["--validation", "d", *flags])


def test_a_run_that_goes_on_knows_its_options(tmp_path):
    kept = {"run": "elsewhere", "resume": False, "batch_size": 8, "rate": 0.5, "tie": True}
    kept |= {
        "time_limit_minutes": 3.0,
        "gone_since": 1,
        "train": ["b"],
        "filters": [[1, 2]],
        "steps": 9,
    }
    (tmp_path / "options.json").write_text(json.dumps({"options": kept}))
    line = ["--run", str(tmp_path), "--rate", "0.1"]
    options = parse_resumed(*line, "--resume")
    assert (options.rate, options.batch_size, options.tie) == (0.1, 8, True)
    assert (options.train, options.filters, options.steps) == (["b"], [[1, 2]], 9)
    assert (options.run, options.resume, options.time_limit_minutes) == (str(tmp_path), True, None)
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


@pytest.mark.parametrize(
    "text, message",
    [
        ("[" * 100_000, "options.json cannot be read as JSON: it is nested too dee"),
        (
            '{"options": {"batch_size": "8"}}',
            "options.json: option 'batch_size': expected an integer; got ",
        ),
    ],
)
def test_a_damaged_run_is_named(tmp_path, text, message):
    (tmp_path / "options.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        parse_resumed("--run", str(tmp_path), "--resume")


def test_options_that_are_missing(capsys):
    resumes = program(TABLE | OF_A_RUN, {})
    with pytest.raises(ValueError, match="^--validation is missing: held-out files.$"):
        resumes.parse(["--run", "r"])
    with pytest.raises(ValueError, match="held-out files. There is no run in r to resume.$"):
        resumes.parse(["--run", "r", "--resume"])
    for missing in (resumes, program()):
        with pytest.raises(SystemExit):
            missing.parse([])
        assert "error: the following arguments are required: --run. " in capsys.readouterr().err
    shown = " ".join(resumes.help_text().split())
    assert "Held-out files. Required for a new run." in shown and "--run DIR Folder." in shown


@pytest.mark.parametrize(
    "words, message",
    [
        (["--batch-sise", "3"], "there is no option --batch-sise; did you mean --batch-size? See"),
        (["--batch-sise=3"], "there is no option --batch-sise; did you mean --batch-size? See"),
        (["--run", "r", "--zzzzzz"], "there is no option --zzzzzz. See"),
        (["--run", "r", "--batch", "3"], "there is no option --batch"),
        (["--run", "r", "--state", "c"], "argument --state: invalid choice: 'c'"),
        (["--run", "r", "--batch-size", "x"], "argument --batch-size: invalid int value: 'x'"),
    ],
)
def test_what_the_parser_rejects_is_one_line(words, message, capsys):
    """Unknown flags get a suggestion, even if the flag that was meant is required."""
    with pytest.raises(SystemExit) as raised:
        program().parse(words)
    error = capsys.readouterr().err
    assert raised.value.code == 2 and message in error
    assert error.count("\n") == 1 and error.endswith("See tfreps test --help.\n")


LEVELS = {
    "rate": Option(float, 0.1, "Rate.", above=0, excludes="no_skip"),
    "decay": Option(float, 1.0, "Decay.", level=KEY, above=0, excludes="no_skip"),
    "widths": Option(int, [3, 4], "Widths.", many=True, level=KEY),
    "tie": Option(bool, False, "Share weights.", level=KEY),
    "skip": Option(bool, True, "Skip.", level=KEY),
    "state": Option(str, None, "State.", level=ADVANCED),
}


def test_keys_are_set_by_config_and_set(tmp_path):
    """Flags override `--set`, which overrides `--config`."""
    sets = program(LEVELS, {})
    options = vars(sets.parse(["--run", "r"]))
    assert options == {"run": "r"} | {name: row.default for name, row in LEVELS.items()}
    (tmp_path / "c.json").write_text('{"decay": 0.5, "widths": [9], "rate": 0.5}')
    words = ["--config", str(tmp_path / "c.json"), "--run", "r", "--set", "decay=0.9", "rate=0.9"]
    options = sets.parse([*words, "--set", "tie=true", "state=7", "--rate", "0.7"])
    assert (options.decay, options.widths, options.rate) == (0.9, [9], 0.7)
    assert (options.tie, options.skip, options.state) == (True, True, "7")
    assert sets.parse(["--run", "r", "--set", "widths=1,2"]).widths == [1, 2]
    (tmp_path / "options.json").write_text('{"options": {"decay": 0.5, "tie": true}}')
    again = program(LEVELS | {"resume": Option(bool, False, "Go on.")}, {})
    words = ["--run", str(tmp_path), "--resume", "--set", "decay=0.25"]
    assert (again.parse(words).decay, again.parse(words).tie) == (0.25, True)


@pytest.mark.parametrize(
    "words, message",
    [
        ("--set decya=3", "--set: there is no option 'decya'; did you mean 'decay'?"),
        ("--set decay=x", '--set decay: expected a number; got "x".'),
        ("--set tie=1", "--set tie: expected true or false; got 1."),
        ("--set decay", "--set must be followed by KEY=VALUE; got decay."),
        ("--set decay=0", "--set decay must be above 0; got 0."),
        ("--set decay=2 skip=false", "--set decay cannot be combined with --set skip=false."),
        ("--rate 2 --set skip=false", "--rate cannot be combined with --set skip=false."),
    ],
)
def test_errors_of_keys(words, message):
    with pytest.raises(ValueError) as raised:
        program(LEVELS, {}).parse(["--run", "r", *words.split()])
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "flag, hint",
    [
        ("--decay", "--set decay=X"),
        ("--dceay=3", "--set decay=X"),
        ("--tie", "--set tie=true"),
        ("--no-skip", "--set skip=false"),
        ("--widths", "--set widths=N"),
        ("--help-al", "--help-all"),
        ("--stat", "--state"),
    ],
)
def test_a_key_that_is_given_as_a_flag_gets_a_suggestion(flag, hint, capsys):
    with pytest.raises(SystemExit):
        program(LEVELS, {}).parse(["--run", "r", flag])
    name = flag.partition("=")[0]
    assert f"there is no option {name}; did you mean {hint}? See" in capsys.readouterr().err


def test_help_shows_common_options_and_help_all_the_rest(capsys):
    shown = {}
    for flag in ("-h", "--help", "--help-all"):
        with pytest.raises(SystemExit) as stopped:
            program(LEVELS, TEXT).parse([flag])
        shown[flag] = capsys.readouterr().out
        assert stopped.value.code == 0
        assert shown[flag].startswith("usage: tfreps test [TEXT] --run DIR [options]\n\nTests.\n")
    assert shown["-h"] == shown["--help"]
    assert shown["--help"].endswith(
        "\n1 more option and 4 keys of --config: tfreps test --help-all\n"
    )
    for name, option in LEVELS.items():
        assert (f"--{name} " in shown["--help"]) is (option.level == COMMON)
    assert "\n  decay=X " in shown["--help-all"] and "\n  --state STATE" in shown["--help-all"]
    assert shown["--help-all"].endswith("as in\n--set decay=X.\n")


def test_words_with_spaces_and_words_after_dashes_are_no_flags():
    texts = Command("test", "Tests.", {"texts": Option(str, None, "Texts.", many=True)}, [])
    assert texts.parse(["--- a text", "--", "--text"]).texts == ["--- a text", "--text"]
    assert program().parse(["--run", "r", "--", "-a.txt"]).text == "-a.txt"


@pytest.mark.parametrize(
    "config, message",
    [
        ({"batchsize": 8}, "no option 'batchsize'; did you mean 'batch_size'"),
        ({"zzzzzz": 8}, "options are run, batch_size"),
        ({"help": True}, "no option 'help'"),
        ({"config": "x"}, "no option 'config'"),
        ({"text": "x"}, "no option 'text'"),
        ({"batch_size": "8"}, "'batch_size': expected an integer; got \"8\""),
        ({"filters": "[[1"}, "'filters'"),
        ("[1]", "expected a JSON object"),
        ("{,}", "not a JSON file"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_key(tmp_path, config, message):
    with pytest.raises(ValueError) as raised:
        parse(tmp_path, config, "--run", "r")
    assert message in str(raised.value) and "config.json" in str(raised.value)


@pytest.mark.parametrize(
    "words, message",
    [
        (["--run", "r", "--train", "a", ""], "--train is empty; expected a value"),
        (["--run", "r", ""], "text is empty"),
        (["--run", ""], "--run is empty"),
        (["--run", "r", "--batch-size", "0"], "--batch-size must be at least 1; got 0."),
    ],
)
def test_invalid_values(words, message):
    with pytest.raises(ValueError, match=message):
        program().parse(words)


def test_a_recipe_is_found_by_its_name_and_a_file_by_its_path(tmp_path):
    recipes = tmp_path / "recipes"
    recipes.mkdir()
    (recipes / "paper.json").write_text('{"batch_size": 10, "rate": 0.5}')
    with_recipes = program(recipes=recipes)
    options = with_recipes.parse(["--run", "r", "--config", "paper", "--rate", "0.1"])
    assert (options.batch_size, options.rate) == (10, 0.1)
    assert with_recipes.parse(["--run", "r"]).batch_size == 32
    (tmp_path / "own.json").write_text('{"batch_size": 9}')
    words = ["--run", "r", "--config", str(tmp_path / "own.json")]
    assert with_recipes.parse(words).batch_size == 9
    with pytest.raises(ValueError, match=r"recipe \(paper\); papers does not exist.$"):
        with_recipes.parse(["--run", "r", "--config", "papers"])
    shown = " ".join(with_recipes.help_text().split())
    assert "or the name of a recipe (paper). Flags override it." in shown


@pytest.mark.parametrize("needs_tensorflow", [True, False])
def test_errors_of_the_library_name_flags(monkeypatch, needs_tensorflow):
    def work(options):
        raise ValueError("`batch_size` with `tie=True`, `weights_file` and `fit` of `text`.")

    started = []
    monkeypatch.setattr(command_module, "start_tensorflow", lambda: started.append(True))
    flags = {"weights_file": "--elmo-weights"}
    with pytest.raises(ValueError) as raised:
        program(flags=flags, tensorflow=needs_tensorflow).run(work, ["--run", "r"])
    assert str(raised.value) == "--batch-size with --tie, --elmo-weights and `fit` of `text`."
    assert bool(started) is needs_tensorflow
    assert program(tensorflow=False).run(lambda options: options.batch_size, ["--run", "r"]) == 32
    with pytest.raises(UnicodeDecodeError):  # keeps its type
        program(tensorflow=False).run(lambda _: b"\xff".decode(), ["--run", "r"])


@pytest.mark.parametrize(
    "value, expected",
    [
        (3, " (default: 3)"),
        (0, " (default: 0)"),
        (1e-4, " (default: 0.0001)"),
        ([3, 4], " (default: 3 4)"),
        ("50 %", " (default: 50 %)"),
        (True, " (default: on)"),
        *((value, "") for value in (False, None, "", [])),
    ],
)
def test_the_default_follows_the_first_sentence(value, expected):
    kind = bool if isinstance(value, bool) else str
    table = {"width": Option(kind, value, "Size. Above 1.5.", metavar="N")}
    shown = Command("test", "Tests.", {}, [Group("all", "Options.", table)]).help_text()
    assert f"Size{expected}. Above 1.5.\n" in shown
    assert default_text(value) == expected[11:-1]


def test_lines_break_at_spaces_and_commands_stay(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    long = "tfreps count --with-a-long-flag --and-another-long-flag \\\n    --last"
    about = "Number of the things, as in --with-a-long-flag and others."
    counts = Command(
        "count", "Counts. " * 10, {}, [Group("all", "All.", {"n": Option(int, 1, about)})], (long,)
    )
    text = counts.help_text()
    examples = f"examples:\n  {long.replace(chr(10), chr(10) + '  ')}\n"
    assert f"\n\n{examples}\nall:\n" in text
    assert "--with-a-long-flag and" in text
    assert max(map(len, text.replace(examples, "").splitlines())) <= 50


def commands():
    """Yields all commands of tfreps by name."""
    for name, (module, _) in command.COMMANDS.items():
        found = command.import_command(module)
        if name == "plot":
            yield from ((f"plot {kind}", each) for kind, each in found.COMMANDS.items())
        else:
            yield name, found.COMMAND


COMMANDS = dict(commands())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_sentence_and_a_group(name):
    for group in COMMANDS[name].groups:
        assert group.title and group.about.endswith("."), group.title
    for option in (COMMANDS[name].arguments | COMMANDS[name].options).values():
        about = option.about
        assert about[:1].isupper() or about.startswith(("options.json", "gRPC")), about
        assert about.endswith(".") and "None" not in about and "  " not in about, about
        assert "(default:" not in about, about


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_is_short_and_complete(name):
    """The usage is one line, about 20 options are shown, and all after `--help-all`."""
    short, full = COMMANDS[name].help_text(), COMMANDS[name].help_text(True)
    usage, empty, *_ = short.splitlines()
    assert usage.startswith(f"usage: tfreps {name} ") and len(usage) <= 100 and not empty
    common = [each for each, option in COMMANDS[name].options.items() if option.level == COMMON]
    assert len(common) <= 25
    assert all(f"  {as_flag(each)}" in short for each in common)
    for each, option in COMMANDS[name].options.items():
        assert f"  {each}=" in full if option.level == KEY else f"  {as_flag(each)}" in full
        row = rf"\n  {as_flag(each)}( [A-Z{{]|  |, --no|\n)"
        assert bool(re.search(row, short)) is (option.level == COMMON)
    assert (f"tfreps {name} --help-all" in short) is (len(common) < len(COMMANDS[name].options))
    assert "  --help-all" in short and "  --help-all" in full


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_names_flags_that_the_command_has(name):
    """Flags of another command stand in quotes, with the command. Examples have a test."""
    text = " ".join(COMMANDS[name].help_text(True).partition("\n\nexamples:\n")[2].split())
    text = text.removeprefix(" ".join(" ".join(COMMANDS[name].examples).split()))
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+(?!\w)", re.sub(r"'tfreps [^']+'", "", text)))
    assert named <= {flag for flag, typed in COMMANDS[name].typed_flags().items() if flag == typed}


# Names of values in the help. SENTENCE and TARGET say more than TEXT and DIR.
VALUES = {"FILE", "DIR", "PATH", "MODEL", "NAME", "TEXT", "JSON", "N", "X", "SENTENCE"}
VALUES |= {"COMMAND", "KIND", "LANGUAGE", "TARGET", "W0,W1,...", "{tab,space}"}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"serve", "query"}))
def test_names_of_values(name):
    for each, option in (COMMANDS[name].arguments | COMMANDS[name].options).items():
        if option.kind is not bool and not option.choices:
            assert (option.metavar or METAVARS.get(option.kind)) in VALUES, each


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_starts_with_three_examples_that_the_command_accepts(name):
    assert COMMANDS[name].help_text().startswith(f"usage: tfreps {name} ")
    assert len(COMMANDS[name].examples) == 3
    for example in COMMANDS[name].examples:
        words = shlex.split(example.replace("\\\n", " "))
        start = ["tfreps", *name.split()]
        assert words[: len(start)] == start
        words = words[len(start) :]
        if name == "annotate" and "--" in words:
            words = words[: words.index("--")]  # the rest are options of Beam
        if "--resume" in words and name != "launch":
            COMMANDS[name].parser().parse_args(words)  # the run to resume does not exist
        else:
            COMMANDS[name].parse(words)
        for flag in "--bert", "--init", "--elmo":
            if flag in words:
                source = words[words.index(flag) + 1]
                assert source in rows() or source.startswith(("runs/", "hf://")), source


def test_the_overview_of_plot():
    overview = command.import_command("training.plot").OVERVIEW
    assert [example.split()[:2] for example in overview.examples] == [["tfreps", "plot"]] * 3
    assert "curves: metrics of runs" in " ".join(overview.help_text().split())
