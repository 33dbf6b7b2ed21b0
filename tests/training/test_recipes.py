"""Tests that the commands accept the recipes, and that the values are those of the papers."""

import importlib
import json

import pytest

from tests.conftest import CHECKOUT

FOLDER = CHECKOUT / "training" / "recipes"
FILES = sorted(FOLDER.glob("*/*.json"))


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.stem}" for p in FILES])
def test_its_program_takes_it(path):
    program = importlib.import_module(f"training.{path.parent.name.replace('-', '_')}")
    assert program.COMMAND.recipes[path.stem].parent.name == path.parent.name
    words = ["--run", "r", "--train", "t", "--config", path.stem]
    words += ["--scheme", "bio"] if path.parent.name == "train-tagger" else []
    words += ["--bert", "b"] if json.loads(path.read_text()).get("encoder") == "bert" else []
    options = program.COMMAND.parse(words)
    for name, value in json.loads(path.read_text()).items():
        assert getattr(options, name) == value
