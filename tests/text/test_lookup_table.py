"""Tables of tokens in a graph."""

import pytest
import tensorflow as tf

from tfreps._src.text.lookup_table import PieceTable, lookup_table

TOKENS = ["a", " ", "两", "\u2028", "\x85", "a b", "#"]


@pytest.mark.parametrize("in_file", [False, True])
def test_places(tmp_path, in_file):
    path = tmp_path / "tokens.txt" if in_file else None
    table = lookup_table(TOKENS, 99, path)
    found = table.lookup(tf.constant([*TOKENS, "A"])).numpy().tolist()
    assert found == [*range(7), 99]
    if in_file:
        assert path.read_text(encoding="utf-8").split("\n") == [*TOKENS, ""]


@pytest.mark.parametrize("token", ["b\rc", "\n", ""])
def test_what_no_line_can_hold_is_kept_as_a_constant(tmp_path, token):
    table = lookup_table(["a", token], -1, tmp_path / "tokens.txt")
    assert table.lookup(tf.constant([token, "bc"])).numpy().tolist() == [1, -1]
    assert not list(tmp_path.iterdir())


def test_pieces_to_ids_even_if_made_inside_a_graph():
    made = []

    @tf.function
    def ids(pieces):
        made.append(made[0] if made else PieceTable(["a", "", "两"], default=-1))
        return made[0](pieces)

    found = ids(tf.constant([["两", "b"], ["", "a"]]))
    assert found.numpy().tolist() == [[2, -1], [1, 0]] and found.dtype == tf.int32
