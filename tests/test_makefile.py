"""The training runs of `make demo` have the same number of steps on every machine."""

import re
import shlex

from tests.conftest import CHECKOUT
from tfreps.__main__ import PROGRAMS, import_program


def demo_commands():
    """Returns `[program, argument ...]` for each command of `make demo`."""
    text = (CHECKOUT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", text, re.M)[1]
    lines = [line.strip() for line in recipe.splitlines()]
    lines = [re.sub(r"\$\(if .*\)", "", line) for line in lines]
    return [shlex.split(x)[1:] for x in lines if x.startswith("$(TFREPS) ")]


def test_the_trainings_of_the_demo_end_by_steps_and_not_by_the_clock():
    """With a time limit, slow and fast machines would get different models."""
    commands = demo_commands()
    assert len(commands) >= 12 and {command[0] for command in commands} <= set(PROGRAMS)
    ends = {}
    for name, *flags in commands:
        if name.startswith(("train-", "pretrain-")):
            program = import_program(PROGRAMS[name][0])
            options = vars(program.PROGRAM.parse(flags))
            assert options.get("minutes") is None, name
            ends[name] = options.get("steps") or options.get("epochs")
    assert ends == {"pretrain-elmo": 600, "train-hmm": None, "train-tagger": 5}
