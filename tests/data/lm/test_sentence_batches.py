import random

import numpy as np
import pytest
import tensorflow as tf

from tfreps.data import LMBatches, sentence_batches
from tfreps.text import Vocabulary, batch_to_ids, token_character_ids

S, E, U, a, b, c = range(6)
VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c"])


def write(folder, text, name="text.txt"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def arrays(dataset):
    return [{key: value.numpy() for key, value in batch.items()} for batch in dataset]


def test_hand_worked_arrays(tmp_path):
    path = write(tmp_path, "a b zebra\n\nc\n")
    (batch,) = arrays(sentence_batches(path, VOCABULARY, 4, max_characters=8))
    o = 0
    expected = {
        "token_ids": [[S, c, o, o, o, o, o, o], [S, a, b, U, o, o, o, o]],
        "next_token_id": [[c, E, o, o, o, o, o, o], [a, b, U, E, o, o, o, o]],
        "character_rows": [[S, c, o, o, o, o, o, o], [S, a, b, 6, o, o, o, o]],
        "token_ids_reverse": [[E, c, o, o, o, o, o, o], [E, U, b, a, o, o, o, o]],
        "next_token_id_reverse": [[c, S, o, o, o, o, o, o], [U, b, a, S, o, o, o, o]],
        "character_rows_reverse": [[E, c, o, o, o, o, o, o], [E, 6, b, a, o, o, o, o]],
        "unknown_characters": [token_character_ids("zebra", 8).tolist()],
        "mask": [[True] * 2 + [False] * 6, [True] * 4 + [False] * 4],
        "mask_reverse": [[True] * 2 + [False] * 6, [True] * 4 + [False] * 4],
    }
    assert {key: value.tolist() for key, value in batch.items()} == expected


def test_same_keys_and_dtypes_as_lm_batches(tmp_path):
    path = write(tmp_path, "a b zebra\n")
    for characters in ("ids", "table", None):
        one = sentence_batches(path, VOCABULARY, 4, characters=characters).element_spec
        two = LMBatches(path, VOCABULARY, 4, 5, characters=characters).dataset().element_spec
        assert {k: v.dtype for k, v in one.items()} == {k: v.dtype for k, v in two.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize("batch_size, batch_tokens", [(7, 8192), (64, 100), (1, 8192), (5, 1)])
def test_every_sentence_once(tmp_path, batch_size, batch_tokens):
    rng = random.Random(0)
    words = ["a", "b", "c", "ö", "other"]
    lines = [" ".join(rng.choices(words, k=rng.choice([1, 3, 9, 30]))) for _ in range(100)]
    write(tmp_path, "\n".join(lines[:40]), "1.txt")
    write(tmp_path, "\n\n".join(lines[40:]), "2.txt")
    found = arrays(
        sentence_batches(
            str(tmp_path / "*.txt"),
            VOCABULARY,
            batch_size,
            batch_tokens=batch_tokens,
            characters="ids",
            block_bytes=500,
        )
    )
    seen = []
    for batch in found:
        rows, width = batch["mask"].shape
        assert rows <= batch_size and width % 8 == 0
        assert rows == 1 or rows * width <= batch_tokens
        for row in range(rows):
            real = batch["mask"][row]
            forward = batch["tokens_characters"][row][real][1:]
            backward = batch["tokens_characters_reverse"][row][real][1:]
            np.testing.assert_array_equal(forward, backward[::-1])
            seen.append(forward.tobytes())
    assert sorted(seen) == sorted(batch_to_ids([line.split()])[0].tobytes() for line in lines)


def test_a_very_long_sentence(tmp_path):
    path = write(tmp_path, "a\n" + "a b " * 50_000 + "\n")
    shapes = [tuple(x["mask"].shape) for x in sentence_batches(path, VOCABULARY, 8)]
    assert shapes == [(1, 8), (1, 100_008)]


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="matches no file"):
        sentence_batches(tmp_path / "none", VOCABULARY, 8)
    with pytest.raises(ValueError, match="`batch_size`"):
        sentence_batches(write(tmp_path, "a\n"), VOCABULARY, 0)
    for name, value in {"characters": "bytes", "max_characters": 2, "block_bytes": 0}.items():
        with pytest.raises(ValueError, match=f"`{name}` must be .*; got {value!r}"):
            sentence_batches(tmp_path / "text.txt", VOCABULARY, 8, **{name: value})
    path = tmp_path / "latin.txt"
    path.write_bytes(b"a\nb\xe9\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="latin.txt, line 2"):
        list(sentence_batches(path, VOCABULARY, 8))


def test_empty_text_has_no_batches(tmp_path):
    assert list(sentence_batches(write(tmp_path, "\n"), VOCABULARY, 8)) == []
