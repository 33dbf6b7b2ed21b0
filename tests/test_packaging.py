"""The wheel adds one package, and its command works outside the checkout."""

import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.conftest import CHECKOUT
from tfreps._src.cli.commands import COMMANDS

pytestmark = pytest.mark.slow


def run(*command, cwd, path=""):
    """Runs a command with `path` first in PYTHONPATH and returns its output."""
    process = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(path)},
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Builds the wheel from a copy, so that the checkout gets no build folder."""
    folder = tmp_path_factory.mktemp("wheel")
    leave_out = shutil.ignore_patterns(".*", "demo", "build", "dist", "*.egg-info", "__pycache__")
    shutil.copytree(CHECKOUT, folder / "copy", ignore=leave_out)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    run(*pip, folder, folder / "copy", cwd=folder)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def site(wheel, tmp_path_factory):
    """Installs the wheel into a folder for PYTHONPATH and returns the folder."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
    run(*pip, wheel, cwd=folder)
    return folder


def test_the_wheel_adds_one_name(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (top_level,) = (n for n in names if n.endswith("top_level.txt"))
        assert archive.read(top_level).decode().split() == ["tfreps"]
    roots = {name.split("/")[0] for name in names}
    assert [root for root in roots if not root.endswith(".dist-info")] == ["tfreps"]
    assert any(name.endswith("LICENSE") for name in names)


def test_the_wheel_holds_every_source_file(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder in ("tfreps", "training", "serving"):
        kinds = "*.py", "*.pyi", "*.json", "py.typed"
        files = [path for kind in kinds for path in (CHECKOUT / folder).rglob(kind)]
        for path in files:
            name = path.relative_to(CHECKOUT).as_posix()
            assert (name if folder == "tfreps" else f"tfreps/{name}") in names


def test_the_version_is_written_once(wheel):
    source = (CHECKOUT / "tfreps" / "__init__.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "(.+)"', source)[1]
    assert wheel.name.startswith(f"tfreps-{version}-")


def test_installed_programs_live_inside_tfreps(site, tmp_path):
    code = (
        "import importlib.util as u, tfreps.training.demo_corpus as p; "
        "print(p.__file__, u.find_spec('training'))"
    )
    out = run(sys.executable, "-c", code, cwd=tmp_path, path=site)
    assert out.split() == [str(site / "tfreps/training/demo_corpus.py"), "None"]


@pytest.mark.parametrize("program", COMMANDS)
def test_installed_commands_show_their_help(site, tmp_path, program):
    out = run(site / "bin" / "tfreps", program, "--help", cwd=tmp_path, path=site)
    assert f"tfreps {program}" in out
