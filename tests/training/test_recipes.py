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


OF_RECIPE = json.loads((FOLDER / "train-tagger" / "bilstm.json").read_text())


@pytest.mark.parametrize(
    ("words", "without"),
    [
        ("", []),
        ("--encoder bigru --units 20 --set min_count=1", ["units", "min_count"]),
        ("--set linear_features=false", ["linear_features", "linear_dropout"]),
        ("--schedule linear", ["decay"]),
        ("--config none", OF_RECIPE),
        ("--vectors v.txt", OF_RECIPE),
        ("--elmo runs/elmo", OF_RECIPE),
        ("--no-words --characters cnn", OF_RECIPE),
        ("--init lac", OF_RECIPE),
        ("--encoder slstm", OF_RECIPE),
        ("--config bilstm_vectors", OF_RECIPE),
    ],
)
def test_taggers_without_pretrained_vectors_have_a_recipe(words, without, capsys):
    """Flags and --set override the recipe, and drop the values that need what they turn off."""
    command = importlib.import_module("training.train_tagger").COMMAND
    words = ["--run", "r", "--train", "t", "--scheme", "bio", *words.split()]
    options = vars(command.parse(words))
    assert {name: options[name] for name in OF_RECIPE if options[name] == OF_RECIPE[name]} == {
        name: value for name, value in OF_RECIPE.items() if name not in without
    }
    line = "Using the recipe bilstm. To train without it, add --config none.\n"
    assert capsys.readouterr().out == (line if without is not OF_RECIPE else "")


def test_only_commands_with_a_default_recipe_take_none(capsys):
    command = importlib.import_module("training.train_tagger").COMMAND
    with pytest.raises(ValueError, match="--train is missing"):
        command.parse(["--run", "r", "--scheme", "bio"])
    assert not capsys.readouterr().out
    other = importlib.import_module("training.train_classifier").COMMAND
    with pytest.raises(ValueError, match="none does not exist"):
        other.parse(["--run", "r", "--train", "t", "--config", "none"])


def test_a_resumed_run_keeps_its_options_without_the_recipe(tmp_path, capsys):
    command = importlib.import_module("training.train_tagger").COMMAND
    stored = {"train": ["t"], "scheme": "bio", "encoder": "bilstm", "units": 7, "min_count": 3}
    (tmp_path / "options.json").write_text(json.dumps({"options": stored}))
    options = command.parse(["--run", str(tmp_path), "--resume"])
    assert (options.units, options.min_count, options.linear_features) == (7, 3, False)
    assert not capsys.readouterr().out
    new = command.parse(["--run", "new", "--resume", "--train", "t", "--scheme", "bio"])
    assert new.units == OF_RECIPE["units"]
