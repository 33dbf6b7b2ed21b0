"""Public names have types that pyright knows (`make check`)."""

import json
import os
import re
import subprocess
import sys

from tests.conftest import CHECKOUT

# The base classes of these are unknown, since Keras and Beam have no types of their own.
UNKNOWN = {
    "tfreps.callbacks.BestModel",
    "tfreps.callbacks.Checkpoints",
    "tfreps.callbacks.EpochLog",
    "tfreps.callbacks.ReduceLearningRate",
    "tfreps.callbacks.TrainingLog",
    "tfreps.callbacks.WeightAverages",
    "tfreps.serving.annotation.annotate.Annotate",
    "tfreps.serving.annotation.annotate.Annotate.expand",  # takes and returns a PCollection
}


def test_public_types_are_known(tmp_path):
    """The wings are below `tfreps` here, as in the wheel."""
    package = tmp_path / "tfreps"
    package.mkdir()
    for path in (CHECKOUT / "tfreps").iterdir():
        (package / path.name).symlink_to(path)
    for wing in "training", "serving":
        (package / wing).symlink_to(CHECKOUT / wing)
    command = [sys.executable, "-m", "pyright", "--verifytypes", "tfreps", "--ignoreexternal"]
    folder = os.path.dirname(sys.executable)  # pyright looks for libraries where `python` does
    path = os.pathsep.join([folder, os.environ["PATH"]])
    found = subprocess.run(
        [*command, "--outputjson"],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        check=False,  # the status is 1 if any type is unknown
    )
    symbols = json.loads(found.stdout)["typeCompleteness"]["symbols"]
    names = {s["name"]: s for s in symbols if s["isExported"] and is_public(s["name"])}
    unknown = {n: s["diagnostics"] for n, s in names.items() if not s["isTypeKnown"]}
    assert unknown.keys() == UNKNOWN, {k: v for k, v in unknown.items() if k not in UNKNOWN}
    assert len(names) > 160


def is_public(name):
    """Returns False for names in the files of `tfreps.training` and `tfreps.serving`.

    pyright takes them for public, because the names of their folders have no underscore.
    """
    wing = name.split(".")[1] if "." in name else ""
    if wing not in ("training", "serving"):
        return True
    return any(f"{name}.".startswith(f"{public}.") for public in DEFINITIONS)


# The full names of the public classes of both, by the files that define them.
DEFINITIONS = [
    f"tfreps.{wing}{module}.{name}"
    for wing in ("training", "serving")
    for module, name in re.findall(
        r"^from (\.[\w.]+) import (\w+)",
        (CHECKOUT / wing / "__init__.pyi").read_text(encoding="utf-8"),
        re.M,
    )
]
