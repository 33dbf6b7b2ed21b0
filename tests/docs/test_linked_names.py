"""Inline code becomes a link only where it names something with a page."""

import pytest

from tests.docs.pages import extension


@pytest.fixture
def targets():
    pytest.importorskip("sphinx")
    return extension("linked_names").targets()


def test_arguments_of_a_layer_do_not_link_to_functions_of_the_same_name(targets):
    assert "mix_weights" not in targets
    assert targets["tfreps.plots.plot_mix_weights"] == "tfreps.plots.plot_mix_weights"
    assert targets["CRF"] == "tfreps.layers.CRF"
    assert targets["read_tagged"] == "tfreps.data.read_tagged"
