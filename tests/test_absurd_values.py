"""Every flag of every program rejects absurd values: one line, exit code 2, no output."""

import pytest

from tfreps._src.cli import commands as command
from tfreps._src.cli.options import as_typed

LONG = "x" * 5000
NUMBERS = ["", LONG, "-1", "0", "nan", "inf", "-inf", "1e400", "9" * 400, "9" * 5000, "1.5", "٣x"]
WORDS = ["", LONG, "-x", "a\0b"]
# Required arguments of each program besides the flag under test: files that do not exist.
LEAST = {
    "demo-corpus": ["--output", "out", "--text", "absent"],
    "demo-tags": ["--output", "file/out"],
    "tokenize": ["absent", "--output", "out"],
    "build-vocabulary": ["absent", "--output", "out"],
    "pretrain-elmo": ["--train", "absent", "--vocabulary", "absent", "--run", "out"],
    "pretrain-bert": ["--train", "absent", "--run", "out"],
    "evaluate-lm": ["absent", "--text", "absent"],
    "embed": ["absent", "absent", "--output", "out"],
    "neighbors": ["absent", "--text", "absent"],
    "search": ["absent", "--query", "a", "--model", "absent"],
    "train-hmm": ["--train", "absent", "--scheme", "bio", "--smoothing", "1", "--run", "out"],
    "train-tagger": ["--train", "absent", "--scheme", "bio", "--run", "out"],
    "train-classifier": ["--train", "absent", "--run", "out"],
    "launch": ["absent", "--workers", "2"],
    "evaluate": ["absent", "--data", "absent"],
    "compare": ["absent", "absent2", "--data", "absent"],
    "tag": ["absent", "absent"],
    "classify": ["absent", "absent"],
    "plot attention": ["absent", "--text", "a", "--output", "out.png"],
    "plot positions": ["absent", "--output", "out.png"],
    "plot curves": ["absent", "--output", "out.png"],
    "plot confusion": ["absent", "--output", "out.png"],
    "plot mix": ["absent", "--output", "out.png"],
    "convert": ["absent", "--output", "out"],
    "presets": [],
    "publish": ["absent", "out"],
    "export": ["absent", "--output", "out"],
    "export-decoder": ["--tags", "absent", "--scheme", "bio", "--output", "out"],
    "annotate": ["absent", "absent", "--output", "out"],
    "predict": ["absent", "text"],
    "serve": ["absent", "--rest-port", "0", "--grpc-port", "0"],
    "query": ["absent", "text", "--rest-port", "1", "--grpc-port", "1"],
}


def options_of(name):
    """Returns the options of a program that take a value, by flag or `--set KEY`."""
    module = command.import_command(command.COMMANDS[name.split()[0]][0])
    program = module.COMMANDS[name.split()[1]] if name.startswith("plot ") else module.COMMAND
    table = program.options
    return {as_typed(n, table): o for n, o in table.items() if o.kind is not bool}


def test_every_program_is_there():
    assert {name.split()[0] for name in LEAST} == set(command.COMMANDS)


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Returns a function that runs a command, checks the exit code 2 and returns its line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TFREPS_DEBUG", raising=False)
    (tmp_path / "file").write_text("text\n")
    (tmp_path / "folder").mkdir()

    def run(name, *arguments):
        line = [*name.split(), *LEAST[name], *arguments]
        try:
            code = command.main(line)
        except SystemExit as end:
            code = end.code
        error = capsys.readouterr().err
        assert code == 2 and error.count("\n") == 1, (line, code, error)
        assert error.startswith(f"tfreps {name.split()[0]}") and ": error: " in error
        assert len(error) < 1200 and "Traceback" not in error
        assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"], line
        return error

    return run


def within(number, option):
    """Returns whether a number is not below the least value of an option."""
    least, above = option.at_least, option.above
    return (least is None or number >= least) and (above is None or number > above)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", LEAST)
def test_numbers_and_words(name, every, refused):
    """An invalid value is reported first; otherwise the absent files end the program.

    The quick tests try every fourth value, beginning with another one for each flag.
    """
    for number, (flag, option) in enumerate(options_of(name).items()):
        is_number = option.kind in (int, float)
        values = NUMBERS if is_number else WORDS
        for value in values[number % every :: every]:
            if f"{name} {flag}" == "demo-tags --output" and value:
                continue  # the program reads no file that could be absent
            error = refused(name, *f"{flag}={value}".split(" ", maxsplit=flag.count(" ")))
            if value == "":
                assert flag in error, (flag, error)
            is_fine = is_number and value in ("-1", "0", "1.5") and within(float(value), option)
            if is_number and not is_fine:
                assert flag in error, (flag, value, error)


DATA = "--train --validation --test --vectors --elmo --config --train-vectors"
# Options that are read after those above are valid. Each gets a path that is not such a file.
READ_LATER = {
    "train-tagger --train c.conll --scheme bio --run out": (
        *DATA.split(),
        "--encoder bert --bert",
    ),
    "train-classifier --train c.tsv --validation-split 0 --run out": (
        *DATA.split(),
        "--encoder bert --bert",
    ),
    "train-hmm --train c.conll --scheme bio --smoothing 1 --run out": (
        *("--train", "--validation", "--test", "--unlabeled", "--config"),
    ),
    "pretrain-elmo --train c.txt --vocabulary v.txt --run out": (
        *("--train", "--validation", "--vocabulary", "--init", "--config"),
    ),
    "pretrain-bert --train c.txt --run out": ("--train", "--validation", "--init", "--config"),
    "embed c.txt --output out": ("--elmo-config v.txt --elmo-weights",),
    "convert --vocabulary v.txt --output out": ("--checkpoint",),
    "serve --rest-port 0 --grpc-port 0": ("", "--model-config"),
    "tokenize --output out": ("",),
    "build-vocabulary --output out": ("",),
    "demo-corpus --output out": ("--text",),
}


@pytest.mark.slow
@pytest.mark.parametrize("value", ["absent", "folder", "binary", "empty", "/proc/self/mem"])
def test_what_is_no_such_file(value, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "empty").write_text("")
    (tmp_path / "c.conll").write_text("Ada B-PER\nlives O\n")
    (tmp_path / "c.tsv").write_text("good\ta b\nbad\tb c\n")
    (tmp_path / "c.txt").write_text("a b\nb c\n")
    (tmp_path / "v.txt").write_text("<S>\n</S>\n<UNK>\na\nb\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    for line, flags in READ_LATER.items():
        for flag in flags:
            words = [*line.split(), *flag.split(), value]
            try:
                code = command.main(words)
            except SystemExit as end:
                code = end.code
            error = capsys.readouterr().err
            assert (code, error.count("\n")) == (2, 1), (words, code, error)
            assert sorted(path.name for path in tmp_path.iterdir()) == before, words
