"""The reference describes every public name, also without Apache Beam."""

import re

from tests import public_api
from tests.docs.pages import extension

public_names = extension("public_names")


def listed_names():
    """Yields the names in public_api.txt, except modules and second names of an object."""
    for line in public_api.FILE.read_text(encoding="utf-8").splitlines():
        if not line.startswith(("#", " ")) and not re.search(r": module$| = tfreps\.", line):
            yield re.match(r"(?:class |def )?([\w.]+)", line)[1]


def test_the_reference_has_the_names_of_the_public_api():
    assert sorted(entry.name for entry in public_names.documented()) == sorted(listed_names())


def test_what_needs_beam_is_described():
    (entry,) = [e for e in public_names.documented() if e.name == "tfreps.serving.Annotate"]
    assert entry.kind == "class" and entry.members == ("expand",)
    assert "adds the outputs" in public_names.first_sentence(entry.name)
