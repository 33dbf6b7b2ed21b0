"""Inline code becomes a link only where it names something with a page."""

import pytest

from tests.docs.pages import DOCS, extension


@pytest.fixture
def targets(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    return extension("linked_names").targets()


def test_arguments_of_a_layer_do_not_link_to_functions_of_the_same_name(targets):
    assert "mix_weights" not in targets
    assert targets["tfreps.plots.mix_weights"] == "tfreps.plots.mix_weights"
    assert targets["CRF"] == "tfreps.layers.CRF"
    assert targets["read_tagged"] == "tfreps.data.read_tagged"
