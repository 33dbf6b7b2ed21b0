"""The `tfreps` command finds commands and reports user errors in one line."""

import os
import re
import subprocess
import sys
import types

import pytest

from tests.conftest import CHECKOUT
from tfreps._src.addresses import DOCUMENTATION
from tfreps._src.cli import command as command_module
from tfreps._src.cli import commands as command


@pytest.fixture
def program(monkeypatch):
    """Returns a function that replaces the main function of `demo-corpus`."""

    def install(main):
        monkeypatch.setattr(command, "import_command", lambda _: types.SimpleNamespace(main=main))

    monkeypatch.delenv("TFREPS_DEBUG", raising=False)
    return install


def raising(error):
    def main(argv):
        raise error

    return main


def test_help_lists_every_command(capsys):
    assert command.main([]) == command.main(["--help"]) == command.main(["--help-all"]) == 0
    text = capsys.readouterr().out
    for name, (_, about) in command.COMMANDS.items():
        assert name in text and about in text


def test_help_groups_commands_by_task_and_names_the_documentation(capsys):
    """The tasks and their commands are those of README.md, in any order."""
    assert command.main(["help"]) == 0
    text = capsys.readouterr().out
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([a-z ]+) \| (`.*?) \|$", readme, re.M))
    for task, commands in command.TASKS.items():
        assert f"\n\n{task}:\n  {next(iter(commands))} " in text
        if task in rows:
            assert set(commands) == set(re.findall("`([a-z-]+)`", rows[task]))
    assert f"\nDocumentation: {DOCUMENTATION}\n" in text


@pytest.mark.parametrize("words", ["help tag", "help plot curves", "help serve"])
def test_help_of_a_command(words, capsys):
    shown = []
    for line in (words.split(), [*words.split()[1:], "--help"]):
        with pytest.raises(SystemExit) as stopped:
            command.main(line)
        assert stopped.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and shown[0].startswith("usage: tfreps")


def test_version(capsys):
    import tfreps

    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tfreps {tfreps.__version__}\n"


@pytest.mark.parametrize(
    "name, message", [("pretrain-emlo", "did you mean `tfreps pretrain-elmo`"), ("zz", "--help")]
)
def test_unknown_command(capsys, name, message):
    assert command.main([name]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    "error, message",
    [
        (ValueError("expected this\n  and got that"), "expected this and got that"),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "a.txt: No such file"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "invalid start byte"),
        (ValueError(), "ValueError"),
        (OverflowError("int too large to convert"), "int too large to convert"),
        (MemoryError(), "MemoryError. There was not enough memory. Use smaller batches"),
    ],
)
def test_user_errors_end_in_one_line(program, capsys, error, message):
    program(raising(error))
    assert command.main(["demo-corpus"]) == 2
    text = capsys.readouterr().err
    assert text.startswith("tfreps demo-corpus: error: ") and message in text
    assert text.count("\n") == 1


@pytest.mark.parametrize("in_graph", [False, True])
def test_errors_of_tensorflow_end_in_one_line(program, capsys, in_graph):
    import keras
    import tensorflow as tf

    def assert_small(x):
        tf.debugging.assert_less(x, 2, message="ids must be below 2")

    function = tf.function(assert_small) if in_graph else assert_small
    program(lambda argv: function(tf.constant([3])))
    assert command.main(["demo-corpus"]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1 and "ids must be below 2" in text and "File" not in text
    program(lambda argv: keras.layers.Lambda(function)(tf.constant([3])))  # Keras adds lines
    assert command.main(["demo-corpus"]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1 and "ids must be below 2" in text
    assert "Lambda" not in text and "\x1b" not in text and "x1b" not in text
    program(raising(tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")))
    assert command.main(["demo-corpus"]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1 and "OOM when allocating tensor. There was not" in text


def test_debug_shows_the_traceback(program, monkeypatch):
    program(raising(ValueError("mine")))
    monkeypatch.setenv("TFREPS_DEBUG", "1")
    with pytest.raises(ValueError, match="mine"):
        command.main(["demo-corpus"])


def test_errors_of_ours_keep_their_traceback(program):
    program(raising(TypeError("a fault of the program")))
    with pytest.raises(TypeError):
        command.main(["demo-corpus"])


@pytest.mark.parametrize(
    "command_line, flag",
    [
        ("train-classifier --run r --trian a.tsv", "--trian; did you mean --train?"),
        ("train-tagger --lerning-rate=3 --run r", "--lerning-rate; did you mean --learning-rate?"),
        ("plot curves --ouput a.png", "--ouput; did you mean --output?"),
        ("serve exports --grpc-prt 1", "--grpc-prt; did you mean --grpc-port?"),
        ("query ner --statsu", "--statsu; did you mean --status?"),
        ("predict exports --signture default", "--signture; did you mean --signature?"),
        ("tag runs/ner --zzzzzz", "--zzzzzz."),
        ("train-tagger --run r --decay 0.9", "--decay; did you mean --set decay=X?"),
        ("train-classifier --run r --leanring-rate 1", "--leanring-rate; did you mean --learning-"),
    ],
)
def test_misspelled_flags_are_reported_before_tensorflow_is_imported(
    command_line, flag, monkeypatch, capsys
):
    monkeypatch.setattr(command_module, "start_tensorflow", raising(AssertionError("imported")))
    words = command_line.split()
    with pytest.raises(SystemExit) as stopped:
        command.main(words)
    line = capsys.readouterr().err
    assert stopped.value.code == 2 and line.count("\n") == 1
    assert (
        f"tfreps {words[0]}" in line
        and f"error: there is no option {flag}" in line
        and " See tfreps" in line
    )


def test_interrupt(program, capsys):
    program(raising(KeyboardInterrupt()))
    assert command.main(["demo-corpus"]) == 130
    assert capsys.readouterr().err == "\ntfreps demo-corpus: interrupted\n"


def test_exit_code_and_arguments_pass_through(program):
    program(lambda argv: len(argv))
    assert command.main(["demo-corpus", "a", "--b", "c"]) == 3
    program(lambda argv: None)
    assert command.main(["demo-corpus"]) == 0


HELP = """
import contextlib, io, sys, tfreps._src.cli.commands as m
for name in m.COMMANDS:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        m.main([name, "--help"])
    assert out.getvalue().startswith(f"usage: tfreps {name}"), out.getvalue()
    assert not {"tensorflow", "keras"} & {*sys.modules}, name
print(len(m.COMMANDS))
"""


def test_programs_show_their_help_without_tensorflow():
    """The help of a program imports neither TensorFlow nor Keras."""
    found = run("-c", HELP, cwd=CHECKOUT)
    assert found == (0, f"{len(command.COMMANDS)}\n", "")


def test_a_missing_package_is_not_mistaken_for_a_missing_program(monkeypatch):
    def import_module(name):
        raise ModuleNotFoundError("No module named 'h5py'", name="h5py")

    monkeypatch.setattr(command.importlib, "import_module", import_module)
    with pytest.raises(ModuleNotFoundError, match="h5py"):
        command.import_command("training.embed")


def run(*arguments, **options):
    process = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, **options
    )
    return process.returncode, process.stdout, process.stderr


def test_in_a_bare_clone():
    code, out, err = run("-m", "tfreps", "demo-corpus", "--help", cwd=CHECKOUT)
    assert code == 0 and "tfreps demo-corpus" in out and err == ""


LONG = "main=lambda argv: print('x' * 10_000_000)"


def as_a_process(shell, main="main=lambda argv: print('said')", arguments="demo-corpus", **more):
    """Runs a program with shell redirections and returns its exit code and stderr."""
    code = "import sys, tfreps._src.cli.commands as m; import types; " + (
        f"m.import_command = lambda _: types.SimpleNamespace({main}); sys.exit(m.main())"
    )
    line = f'"$0" -c "$1" {arguments} {shell}'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line, sys.executable, code],
        cwd=CHECKOUT, capture_output=True, text=True, timeout=60,
        env={n: v for n, v in os.environ.items() if n != "PYTHONUNBUFFERED"} | more,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.few(2)
@pytest.mark.parametrize("arguments", ["demo-corpus", "--help", "--version"])
def test_streams_that_are_closed_full_or_without_reader(arguments):
    for shell in (">&-", "<&-", "2>&-", "<&- >&- 2>&-"):
        assert as_a_process(shell, arguments=arguments) == (0, "")
    code, error = as_a_process("> /dev/full", arguments=arguments)
    assert (code, error.count("\n")) == (2, 1)
    assert error.endswith("error: standard output: No space left on device\n")
    if arguments == "demo-corpus":
        assert as_a_process("2>&1 | true", LONG) == (1, "")
    else:  # short output fits into the pipe unless the reader ends first
        assert as_a_process("| true", arguments=arguments)[1] == ""


def test_errors_without_a_stderr_keep_their_code():
    for shell in ("2>&-", "2> /dev/full"):
        assert as_a_process(shell, "main=lambda argv: open('/absent')") == (2, "")


def test_a_closed_stream_does_not_become_a_file(tmp_path):
    write = f"main=lambda argv: [f := open('{tmp_path}/a', 'w'), print('said'), f.write('mine')]"
    assert as_a_process(">&-", write)[0] != 0  # the returned list is not a valid exit code
    assert (tmp_path / "a").read_text() == "mine"


def test_text_is_written_in_utf8_whatever_the_locale(monkeypatch):
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)
    say = r"main=lambda argv: print(chr(22909), chr(0xdcff))"
    assert as_a_process("| od -An -tx1 >&2", say)[1].split() == "e5 a5 bd 20 ff 0a".split()
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code, error = as_a_process("", say)
    assert (code, error.count("\n")) == (2, 1)
    assert "Standard output is in ascii: set PYTHONIOENCODING=utf-8." in error


def test_errors_are_one_printable_line_of_bounded_length(program, capsys):
    name = "a\x1b[31m\n\udcff" + 5000 * "x" + ".txt"
    for error in (FileNotFoundError(2, "Not there", name), ValueError(f"{name}: Not there")):
        program(raising(error))
        assert command.main(["demo-corpus"]) == 2
        text = capsys.readouterr().err
        assert "error: a\\x1b[31m \\udcffxxx" in text and text.endswith("x.txt: Not there\n")
        assert len(text) < 1000 and text.count("\n") == 1


def test_importing_tfreps_is_cheap():
    code = (
        "import sys, time; start = time.perf_counter(); import tfreps, tfreps.__main__; "
        "spent = time.perf_counter() - start; "
        "print(spent < 1, [m for m in ('tensorflow', 'keras', 'numpy') if m in sys.modules])"
    )
    assert run("-c", code, cwd=CHECKOUT)[1] == "True []\n"


def test_subpackages_are_imported_when_used():
    import tfreps

    assert tfreps.runs.RunFolder and "layers" in dir(tfreps)
    with pytest.raises(AttributeError, match="No tfreps attribute layer"):
        tfreps.layer  # noqa: B018
