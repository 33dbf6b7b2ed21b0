"""Tests `tfreps query` with both protocols and all sources of sentences."""

import io
import json
import sys

import pytest

from tests.serving.server.small_models import save_zoo, serving
from tfreps.__main__ import main


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "zoo"
    save_zoo(folder / "7")
    with serving(folder) as server:
        yield ["--rest-port", str(server.rest_port), "--grpc-port", str(server.grpc_port)]


def ask(capsys, *arguments):
    assert main(["query", "zoo", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("protocol", [[], ["--grpc"]], ids=["REST", "gRPC"])
def test_answers(ports, capsys, protocol):
    options = [*ports, *protocol]
    assert ask(capsys, "ab", "é", *options) == (
        "ab\n  length: 2\n  upper: AB\né\n  length: 2\n  upper: é\n"
    )
    found = ask(capsys, "ab", "--json", "--version", "7", "--signature", "picky", *options)
    assert json.loads(found) == {"text": "ab", "length": 2}
    assert ask(capsys, "--status", *options) == "version 7: AVAILABLE\n"


def test_files_and_standard_input(ports, capsys, tmp_path, monkeypatch):
    text = "".join(f"sentence {number}\n" for number in range(40))
    (tmp_path / "text").write_text(text)
    found = ask(capsys, "--json", "--file", str(tmp_path / "text"), *ports)
    assert [json.loads(line)["text"] for line in found.splitlines()] == text.splitlines()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ask(capsys, "--json", *ports) == found


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["a", "--file", "b"], "--file cannot be combined with sentences"),
        (["a", "--version", "1", "--label", "b"], "--version cannot be combined with --label"),
        (["a", "--version", "9"], "404: Servable not found for request: Specific(zoo, 9)"),
        (["a", "--label", "x"], "Unrecognized servable version label: x"),
        (["a", "--rest-port", "1"], "No server responds at http://127.0.0.1:1"),
    ],
)
def test_errors_are_one_line(ports, capsys, arguments, words):
    assert main(["query", "zoo", *ports, *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tfreps query: error: ") and words in error and error.count("\n") == 1
