"""Tests that the programs accept the recipes, and that the values are those of the papers."""

import importlib
import json

import pytest

from tfreps.cli.options import parse_options
from training import train_classifier

FOLDER = train_classifier.RECIPES.parent
FILES = sorted(FOLDER.glob("*/*.json"))


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.stem}" for p in FILES])
def test_its_program_takes_it(path):
    program = importlib.import_module(f"training.{path.parent.name.replace('-', '_')}")
    assert path.parent == program.RECIPES
    words = ["--run", "r", "--train", "t", "--config", path.stem]
    options = parse_options(program.make_parser(), words, program.RECIPES)
    for name, value in json.loads(path.read_text()).items():
        assert getattr(options, name) == value
