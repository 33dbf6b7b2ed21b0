"""Public names have types that pyright knows (`make check`)."""

import json
import os
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
    "tfreps.distribute.Annotate",
}


def test_public_types_are_known():
    command = [sys.executable, "-m", "pyright", "--verifytypes", "tfreps", "--ignoreexternal"]
    folder = os.path.dirname(sys.executable)  # pyright looks for libraries where `python` does
    path = os.pathsep.join([folder, os.environ["PATH"]])
    found = subprocess.run(
        [*command, "--outputjson"],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        check=False,  # the status is 1 if any type is unknown
    )
    report = json.loads(found.stdout)["typeCompleteness"]
    names = [name["name"] for name in report["symbols"] if name["isExported"]]
    unknown = {
        name["name"]: name["diagnostics"]
        for name in report["symbols"]
        if name["isExported"] and not name["isTypeKnown"]
    }
    assert unknown.keys() == UNKNOWN, {k: v for k, v in unknown.items() if k not in UNKNOWN}
    assert len(names) > 160 and report["completenessScore"] > 0.95
