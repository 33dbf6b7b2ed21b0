import tensorflow as tf

from tfreps.text.piece_table import PieceTable


def test_pieces_to_ids_even_if_made_inside_a_graph():
    made = []

    @tf.function
    def ids(pieces):
        made.append(made[0] if made else PieceTable(["a", "", "两"], default=-1))
        return made[0](pieces)

    found = ids(tf.constant([["两", "b"], ["", "a"]]))
    assert found.numpy().tolist() == [[2, -1], [1, 0]] and found.dtype == tf.int32
