"""Tests that the commands accept the recipes, and that the values are those of the papers."""

import importlib
import json

import pytest

from tests.conftest import CHECKOUT

FOLDER = CHECKOUT / "training" / "recipes"
FILES = sorted(FOLDER.glob("*/*.json"))


def of(name):
    """Returns the `Command` of a command of tfreps, by its name."""
    return importlib.import_module(f"training.{name.replace('-', '_')}").COMMAND


@pytest.mark.parametrize("path", FILES, ids=[f"{p.parent.name}/{p.stem}" for p in FILES])
def test_its_program_takes_it(path):
    command = of(path.parent.name)
    assert command.recipes[path.stem].parent.name == path.parent.name
    words = ["--run", "r", "--train", "t", "--config", path.stem]
    words += ["--scheme", "bio"] if path.parent.name == "train-tagger" else []
    words += ["--bert", "b"] if json.loads(path.read_text()).get("encoder") == "bert" else []
    options = command.parse(words)
    for name, value in json.loads(path.read_text()).items():
        assert getattr(options, name) == value


TAGGER, CLASSIFIER = "train-tagger --scheme bio", "train-classifier"
RECIPES = {
    command: json.loads((FOLDER / name).with_suffix(".json").read_text())
    for command, name in ((TAGGER, "train-tagger/bilstm"), (CLASSIFIER, "train-classifier/cnn"))
}
ALL = None  # all values of the recipe are left out, because another model is trained


@pytest.mark.parametrize(
    ("command", "words", "without"),
    [
        (TAGGER, "", []),
        (TAGGER, "--encoder bigru --units 20 --set min_count=1", ["units", "min_count"]),
        (TAGGER, "--set linear_features=false", ["linear_features", "linear_dropout"]),
        (TAGGER, "--schedule linear", ["decay"]),
        (TAGGER, "--config none", ALL),
        (TAGGER, "--vectors v.txt", ALL),
        (TAGGER, "--elmo runs/elmo", ALL),
        (TAGGER, "--no-words --characters cnn", ALL),
        (TAGGER, "--init lac", ALL),
        (TAGGER, "--encoder slstm", ALL),
        (TAGGER, "--config bilstm_vectors", ALL),
        (CLASSIFIER, "", []),
        (CLASSIFIER, "--ngrams 3 --tokens characters", ["ngrams"]),
        (CLASSIFIER, "--linear-features", ["ngrams"]),
        (CLASSIFIER, "--config none", ALL),
        (CLASSIFIER, "--vectors v.txt", ALL),
        (CLASSIFIER, "--encoder bilstm", ALL),
    ],
)
def test_models_without_pretrained_vectors_have_a_recipe(command, words, without, capsys):
    """Flags and --set override the recipe, and drop the values that need what they turn off."""
    recipe = RECIPES[command]
    name, *words = [*command.split(), "--run", "r", "--train", "t", *words.split()]
    options = vars(of(name).parse(words))
    left_out = recipe if without is ALL else without
    assert {key: options[key] for key in recipe if options[key] == recipe[key]} == {
        key: value for key, value in recipe.items() if key not in left_out
    }
    line = f"Using the recipe {of(name).default_recipe.name}. To train without it, add "
    assert capsys.readouterr().out == ("" if without is ALL else f"{line}--config none.\n")


def test_only_commands_with_a_default_recipe_take_none(capsys):
    with pytest.raises(ValueError, match="--train is missing"):
        of("train-tagger").parse(["--run", "r", "--scheme", "bio"])
    assert not capsys.readouterr().out
    with pytest.raises(ValueError, match="none does not exist"):
        of("pretrain-bert").parse(["--run", "r", "--train", "t", "--config", "none"])


def test_a_resumed_run_keeps_its_options_without_the_recipe(tmp_path, capsys):
    stored = {"train": ["t"], "scheme": "bio", "encoder": "bilstm", "units": 7, "min_count": 3}
    (tmp_path / "options.json").write_text(json.dumps({"options": stored}))
    options = of("train-tagger").parse(["--run", str(tmp_path), "--resume"])
    assert (options.units, options.min_count, options.linear_features) == (7, 3, False)
    assert not capsys.readouterr().out
    new = of("train-tagger").parse(["--run", "new", "--resume", "--train", "t", "--scheme", "bio"])
    assert new.units == RECIPES[TAGGER]["units"]
