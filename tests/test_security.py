"""The page on security agrees with the code, and other documents refer to it."""

import re

import pytest

from tests.conftest import CHECKOUT
from tfreps.serving import ServerOptions, predict, serve
from tfreps.serving.server.models import model_configs

TEXT = (CHECKOUT / "docs/explanation/security.md").read_text(encoding="utf-8")
ELSEWHERE = {"--help", "--resume", "--format", "--join"}  # flags of other programs


def test_flags_that_it_names():
    flags = set(serve.COMMAND.flags.values())
    named = set(re.findall(r"--[a-z][a-z-]+", TEXT))
    assert len(named) > 6 and named - ELSEWHERE <= flags


def test_files_and_modules_that_it_names():
    for name in re.findall(r"`tfreps\.([a-z0-9_.]+)`", TEXT):
        assert (CHECKOUT / "tfreps" / f"{name.replace('.', '/')}.py").is_file()


def test_limits_that_it_names():
    assert f"{model_configs.LARGEST // 2**10} KiB" in TEXT
    assert f"more than {ServerOptions().header_seconds:g} seconds" in TEXT
    assert ServerOptions().host == "127.0.0.1" and not ServerOptions().allow_file_ops
    setup = (CHECKOUT / "setup.py").read_text(encoding="utf-8")
    assert f"Keras {re.search(r'keras>=([0-9.]+)', setup)[1]} or later" in TEXT


@pytest.mark.parametrize("path", ["README.md", "serving/README.md", "SECURITY.md", "docs/index.md"])
def test_readers_are_sent_there(path):
    text = " ".join((CHECKOUT / path).read_text(encoding="utf-8").split())
    assert "only exports that you trust" in text and "explanation/security.md" in text


@pytest.mark.parametrize("program", [serve, predict])
def test_programs_say_what_a_saved_model_is(program):
    text = " ".join(program.COMMAND.parser().format_help().split())
    assert "only exports that you trust" in text and "SECURITY.md" in text


def test_no_reader_loads_unsafe_objects():
    """The linter finds `eval`, `exec` and `pickle`."""
    folders = CHECKOUT / "tfreps", CHECKOUT / "training", CHECKOUT / "serving"
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    unsafe = re.compile("safe_mode=False|allow_pickle=True")
    assert [p.name for p in paths if unsafe.search(p.read_text(encoding="utf-8"))] == []
