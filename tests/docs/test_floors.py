"""The drawing of the packages: their floors, and the arrows that are drawn."""

import pathlib

from tests.docs.pages import extension

floors = extension("floors")
IMPORTS = {"files": set(), "text": {"files"}, "models": {"text", "files"}, "layers": {"files"}}


def test_floors_and_arrows():
    assert floors.floors(IMPORTS) == {"files": 0, "text": 1, "layers": 1, "models": 2}
    assert floors.needed(IMPORTS) == {**IMPORTS, "models": {"text"}}


def test_packages_of_modules():
    paths = "tfreps/_src/layers/ops/chain.py", "training/loop/training.py", "training/tag.py"
    modules = {str(number): pathlib.Path(path) for number, path in enumerate(paths)}
    assert list(floors.packages(modules)) == ["layers", "training/loop", "training"]


def test_every_import_points_to_a_lower_floor():
    imports = floors.packages()
    found = floors.floors(imports)
    assert found["files"] == 0 and found["layers"] < found["models"] < found["training"]
    assert {"serving/server", "training/loop", "cli"} <= set(found)
    assert all(found[other] < found[name] for name in imports for other in imports[name])
