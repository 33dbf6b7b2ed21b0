"""Every input and output has a description."""

import pytest

from tfreps.export.output_docs import LETTERS, MEANINGS, meaning


def test_one_pattern_for_each_name():
    assert meaning("lstm_outputs12")[0] == "NTD"
    assert meaning("backward_cell") == meaning("forward_hidden")
    with pytest.raises(ValueError, match="no entry for 'lstm_outputs'"):
        meaning("lstm_outputs")


def test_letters_are_explained():
    used = {letter for letters, _ in MEANINGS.values() for letter in letters}
    assert used == {part.strip()[0] for part in LETTERS.split(",") if len(part.strip()) > 1}
