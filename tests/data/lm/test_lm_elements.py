import numpy as np

from tfreps._src.data.lm.lm_elements import to_dataset
from tfreps.text import Vocabulary, sentence_start_ids, token_character_ids

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a"])


def batches(number):
    """Yields batches; batch n has n unknown words, targets n, and padding at the last position."""
    for n in range(number):
        rows = np.array([[[0, 3, 3 + n if n else 2, 0]]], np.int32)
        targets = np.array([[[n, n, n, -1]]], np.int32)
        unknown = [token_character_ids(f"w{n}-{k}", 9) for k in range(n)]
        yield rows, targets, np.array(unknown, np.int32).reshape([n, 9])


def test_batches_come_out_of_their_groups():
    dataset = to_dataset(lambda: batches(21), VOCABULARY, (1, 4), False, "ids", 9)
    for _ in range(2):  # a data set can be read again
        found = list(dataset)
        assert len(found) == 21
        for n, batch in enumerate(found):
            assert batch["token_ids"].numpy().tolist() == [[0, 3, 2, 0]]
            assert batch["next_token_id"].numpy().tolist() == [[n, n, n, 0]]
            assert batch["mask"].numpy().tolist() == [[True, True, True, False]]
            own = token_character_ids(f"w{n}-{n - 1}" if n else "<UNK>", 9).tolist()
            expected = [sentence_start_ids(9).tolist(), token_character_ids("a", 9).tolist()]
            found_ids = batch["tokens_characters"].numpy().tolist()
            assert found_ids == [[*expected, own, [0] * 9]]


def test_shapes_may_vary():
    def make():
        for width in (2, 2, 5, 2):
            array = np.zeros([1, 3, width], np.int32)
            yield array, array, np.zeros([0, 9], np.int32)

    dataset = to_dataset(make, VOCABULARY, (None, None), False, None, 9)
    assert [tuple(batch["mask"].shape) for batch in dataset] == [(3, 2), (3, 2), (3, 5), (3, 2)]
