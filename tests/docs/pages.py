"""Files and extensions of the site, for its tests."""

import importlib.util
import re
import shlex
import sys

from tests.conftest import CHECKOUT

DOCS = CHECKOUT / "docs"
WRITTEN = ("_build", "reference/api", "reference/commands", "reference/files")
PAGES = sorted(
    path
    for path in DOCS.rglob("*.md")
    if not str(path.relative_to(DOCS)).startswith(WRITTEN)  # these are written by the build
)


def extension(name):
    """A module of docs/_ext or docs/ that needs no Sphinx."""
    if str(DOCS / "_ext") not in sys.path:
        sys.path.append(str(DOCS / "_ext"))  # the extensions import one another
    path = DOCS / "_ext" / f"{name}.py"
    path = path if path.exists() else DOCS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"docs_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands(text):
    """`[program, word ...]` of the commands `tfreps ...` in the blocks of a page."""
    found = []
    for block in re.findall(r"^```(?:bash|\{run-command\})\n(.*?)^```", text, re.M | re.S):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            words = line.split("#")[0].split("tfreps ", 1)
            if len(words) == 2 and (not words[0].strip() or words[0].rstrip().endswith("|")):
                found += launched(words[1])
    return found


def launched(command):
    """`[program, word ...]` of a command, and of the program that `launch ... --` starts."""
    launcher, _, program = command.strip().partition(" -- ")
    if not launcher.startswith("launch "):
        program = ""  # options of Beam
    return [shlex.split(each) for each in (launcher, program) if each]
