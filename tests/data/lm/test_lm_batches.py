import random

import numpy as np
import pytest
import tensorflow as tf

from tests.data.oracle import (
    VOCABULARY,
    WORDS,
    arrays,
    assert_same,
    characters_of,
    lm_batches,
    oracle_batches,
    random_lines,
    write,
)
from tfreps.data import LMBatches
from tfreps.text import batch_to_ids, token_character_ids

# The exact arrays, derived by hand. Two files:
#   1.txt   a b c      2.txt   d zebra a
#           b                  e
# Forward streams, B = 2, T = 3, sentences in order [a b c] [b] [d zebra a] [e]:
#   batch 1  row 0 takes [a b c]:         inputs S a b           targets a b c
#            row 1 takes [b], then [d..]: inputs S b | S         targets b E | d
#   batch 2  row 0: c, then takes [e]:    inputs c | S e         targets E | e E
#            row 1: d zebra a:            inputs d zebra a       targets zebra a E
# Backward: the same for [c b a] [b] [a zebra d] [e], with E first and S last.
S, E, U = 0, 1, 2
a, b, c, d, e = 3, 4, 5, 6, 7
HAND_WORKED = [
    {
        "token_ids": [[S, a, b], [S, b, S]],
        "next_token_id": [[a, b, c], [b, E, d]],
        "token_ids_reverse": [[E, c, b], [E, b, E]],
        "next_token_id_reverse": [[c, b, a], [b, S, a]],
        "words": [["<S>", "a", "b"], ["<S>", "b", "<S>"]],
        "words_reverse": [["</S>", "c", "b"], ["</S>", "b", "</S>"]],
        "unknown": [],
        "rows": [[S, a, b], [S, b, S]],
        "rows_reverse": [[E, c, b], [E, b, E]],
    },
    {
        "token_ids": [[c, S, e], [d, U, a]],
        "next_token_id": [[E, e, E], [U, a, E]],
        "token_ids_reverse": [[a, E, e], [a, U, d]],
        "next_token_id_reverse": [[S, e, S], [U, d, S]],
        "words": [["c", "<S>", "e"], ["d", "zebra", "a"]],
        "words_reverse": [["a", "</S>", "e"], ["a", "zebra", "d"]],
        "unknown": ["zebra"],
        "rows": [[c, S, e], [d, 8, a]],
        "rows_reverse": [[a, E, e], [a, 8, d]],
    },
]


@pytest.fixture
def two_shards(tmp_path):
    write(tmp_path, "2.txt", "d zebra a\ne\n")
    write(tmp_path, "1.txt", "a b c\nb\n")
    return str(tmp_path / "*.txt")


@pytest.mark.parametrize("characters", ["ids", "table", None])
def test_hand_worked_arrays(two_shards, characters):
    options = {"characters": characters, "passes": 1}
    found = arrays(lm_batches(two_shards, VOCABULARY, 2, 3, **options))
    assert len(found) == 2
    for batch, expected in zip(found, HAND_WORKED, strict=True):
        for suffix in ("", "_reverse"):
            for key in ("token_ids", "next_token_id"):
                assert batch[key + suffix].dtype == np.int32
                assert batch[key + suffix].tolist() == expected[key + suffix]
            assert batch["mask" + suffix].dtype == bool and batch["mask" + suffix].all()
            if characters == "ids":
                ids = batch["tokens_characters" + suffix]
                assert ids.dtype == np.int32
                np.testing.assert_array_equal(ids, batch_to_ids(expected["words" + suffix]))
            if characters == "table":
                assert batch["character_rows" + suffix].tolist() == expected["rows" + suffix]
        if characters == "table":
            rows = [token_character_ids(word).tolist() for word in expected["unknown"]]
            assert batch["unknown_characters"].tolist() == rows
        extra = {"ids": 2, "table": 3, None: 0}[characters]
        assert len(batch) == 6 + extra


def test_literal_characters(tmp_path):
    path = write(tmp_path, "a.txt", "a xyz\n")
    (batch,) = lm_batches(path, VOCABULARY, 1, 3, max_characters=6, passes=1)
    assert batch["tokens_characters"].numpy().tolist() == [
        [
            [259, 257, 260, 261, 261, 261],  # start of sentence
            [259, 98, 260, 261, 261, 261],  # a
            [259, 121, 122, 123, 260, 261],  # xyz, although it is outside the vocabulary
        ]
    ]
    assert batch["token_ids"].numpy().tolist() == [[0, 3, 2]]


@pytest.mark.few(1)
@pytest.mark.parametrize("batch_size, unroll_steps", [(1, 1), (2, 3), (3, 20), (7, 4)])
def test_order_of_bilm_tf(tmp_path, batch_size, unroll_steps):
    lines = random_lines(batch_size, 60)
    for n in range(3):
        write(tmp_path, f"{n}.txt", "".join(line + "\n" for line in lines[20 * n : 20 * n + 20]))
    found = arrays(
        lm_batches(
            str(tmp_path / "?.txt"), VOCABULARY, batch_size, unroll_steps, passes=1, block_bytes=50
        )
    )
    for suffix, reverse in (("", False), ("_reverse", True)):
        size = (batch_size, unroll_steps)
        original = list(oracle_batches(lines, VOCABULARY, *size, reverse))
        complete = list(oracle_batches(lines, VOCABULARY, *size, reverse, finish=True))
        assert original == complete[: len(original)]  # identical up to the last full batch
        assert len(found) == len(complete)
        for batch, (words, targets) in zip(found, complete, strict=True):
            mask = [[word is not None for word in row] for row in words]
            assert batch["mask" + suffix].tolist() == mask
            ids = [
                [0 if w is None else VOCABULARY.tokens_to_ids([w])[0] for w in row] for row in words
            ]
            assert batch["token_ids" + suffix].tolist() == ids
            targets = [[target or 0 for target in row] for row in targets]
            assert batch["next_token_id" + suffix].tolist() == targets
            characters = batch_to_ids([[w or "" for w in row] for row in words])
            characters *= np.array(mask)[..., None]
            np.testing.assert_array_equal(batch["tokens_characters" + suffix], characters)


@pytest.mark.few(1)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("batch_size", [3, 1, 7])
def test_no_position_is_lost(tmp_path, batch_size, shuffle):
    lines = random_lines(5, 50)
    write(tmp_path, "a.txt", "\n".join(lines))  # no line feed at the end
    write(tmp_path, "b.txt", "\n".join(lines[:7]))
    batches = LMBatches(
        str(tmp_path / "*"), VOCABULARY, batch_size, 4, passes=2, shuffle=shuffle, block_bytes=99
    )
    text = [line.split() for line in lines + lines[:7]]
    count = batches.count()
    assert count.sentences == len(text)
    assert count.tokens == sum(map(len, text))
    assert count.positions == count.tokens + count.sentences
    assert count.unknown_tokens == sum(w not in VOCABULARY for line in text for w in line)
    assert count.token_counts[4] == sum(line.count("b") for line in text)
    found = arrays(batches.dataset())
    for suffix in ("", "_reverse"):
        mask = np.concatenate([batch["mask" + suffix].ravel() for batch in found])
        targets = np.concatenate([batch["next_token_id" + suffix].ravel() for batch in found])
        assert mask.sum() == 2 * count.positions
        counted = np.bincount(targets[mask], minlength=len(VOCABULARY))
        assert counted[4] == 2 * count.token_counts[4]
        assert counted[U] == 2 * count.unknown_tokens
    full = 2 * count.positions // (4 * batch_size)
    assert len(found) >= full and batches.batches_per_pass == -(
        -count.positions // (4 * batch_size)
    )


def test_passes_run_on_in_the_same_rows(two_shards):
    lines = ["a b c", "b", "d zebra a", "e"]
    expected = oracle_batches(lines * 50, VOCABULARY, 3, 5)
    endless = lm_batches(two_shards, VOCABULARY, 3, 5, characters=None)
    for batch, (_, targets) in zip(endless.take(20), expected, strict=False):
        assert batch["next_token_id"].numpy().tolist() == targets


def test_one_direction(two_shards):
    (first, _) = lm_batches(two_shards, VOCABULARY, 2, 3, bidirectional=False, passes=1)
    assert sorted(first) == ["mask", "next_token_id", "token_ids", "tokens_characters"]


def test_static_shapes(two_shards):
    spec = LMBatches(two_shards, VOCABULARY, 2, 3, characters="table").dataset().element_spec
    assert spec["token_ids"] == tf.TensorSpec([2, 3], tf.int32)
    assert spec["mask_reverse"] == tf.TensorSpec([2, 3], tf.bool)
    assert spec["unknown_characters"] == tf.TensorSpec([None, 50], tf.int32)


@pytest.mark.slow
def test_table_equals_ids(tmp_path):
    path = write(tmp_path, "a.txt", "\n".join(random_lines(3, 40)))
    ids = arrays(lm_batches(path, VOCABULARY, 3, 4, characters="ids", passes=1))
    table = arrays(lm_batches(path, VOCABULARY, 3, 4, characters="table", passes=1))
    for left, right in zip(ids, table, strict=True):
        for suffix in ("", "_reverse"):
            found = characters_of(right, suffix)
            np.testing.assert_array_equal(left["tokens_characters" + suffix], found)
        unknown = right["unknown_characters"]
        assert len(np.unique(unknown, axis=0)) == len(unknown)


def sentences_in(found, suffix="", last=E):
    """Returns the sentences of a data set with one row as lists of target ids."""
    mask = np.concatenate([batch["mask" + suffix][0] for batch in found])
    targets = np.concatenate([batch["next_token_id" + suffix][0] for batch in found])
    ends = np.flatnonzero(targets[mask] == last)
    return [part[:-1].tolist() for part in np.split(targets[mask], ends + 1)[:-1]]


def test_shuffle(tmp_path):
    lines = [" ".join(random.Random(n).choices(WORDS, k=8)) for n in range(30)]
    for n in range(3):
        write(tmp_path, f"{n}.txt", "\n".join(lines[10 * n : 10 * n + 10]))

    def read(**options):
        options = {"passes": 1, "characters": None, **options}
        return arrays(lm_batches(str(tmp_path / "*.txt"), VOCABULARY, 1, 7, **options))

    plain, one, two = read(), read(shuffle=True, seed=1), read(shuffle=True, seed=2)
    assert_same(read(shuffle=True, seed=1), one)
    orders = [sentences_in(found) for found in (plain, one, two)]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1] != orders[2]
    # Each direction and each pass has its own order.
    backward = [words[::-1] for words in sentences_in(one, "_reverse", last=S)]
    assert backward != orders[1] and sorted(backward) == sorted(orders[1])
    both = sentences_in(read(shuffle=True, seed=1, passes=2))
    assert both[:30] == orders[1] != both[30:]
    assert sorted(both[30:]) == sorted(both[:30])


def test_blank_lines_and_empty_shards(tmp_path):
    write(tmp_path, "1.txt", "")
    write(tmp_path, "2.txt", "a\n\n  \t\nb\n")
    write(tmp_path, "3.txt", "\n")
    write(tmp_path, "4.txt.gz", "")
    files = str(tmp_path / "*.txt*")
    (batch,) = lm_batches(files, VOCABULARY, 1, 7, passes=1)
    assert batch["token_ids"].numpy().tolist() == [[S, a, S, S, S, b, S]]
    assert batch["next_token_id"].numpy().tolist() == [[a, E, E, E, b, E, E]]
    skipping = LMBatches(files, VOCABULARY, 1, 4, passes=1, skip_blank=True)
    (batch,) = skipping.dataset()
    assert batch["token_ids"].numpy().tolist() == [[S, a, S, b]]
    assert skipping.count().positions == 4 and skipping.count().sentences == 2


@pytest.mark.slow
def test_windows_lines_and_gzip(tmp_path):
    plain = write(tmp_path, "a.txt", "a ö\nb zebra\n\nc")
    windows = write(tmp_path, "b.txt", "a ö\r\nb zebra\r\n\r\nc\r\n")
    packed = write(tmp_path, "c.txt.gz", "a ö\nb zebra\n\nc")
    expected = arrays(lm_batches(plain, VOCABULARY, 2, 2, passes=1))
    assert_same(arrays(lm_batches(windows, VOCABULARY, 2, 2, passes=1)), expected)
    assert_same(arrays(lm_batches([packed], VOCABULARY, 2, 2, passes=1)), expected)


def test_bad_text_ends_the_data_set(tmp_path):
    for data, message in ((b"", "no sentence"), (b"a\xff\n", "line 1")):
        path = write(tmp_path, "a.txt", data)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            next(iter(lm_batches(path, VOCABULARY, 1, 1)))
    path = write(tmp_path, "a.txt", "\n")
    with pytest.raises(tf.errors.InvalidArgumentError, match="no sentence"):
        next(iter(lm_batches(path, VOCABULARY, 1, 1, skip_blank=True)))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": 0}, "`batch_size` must be at least 1; got 0"),
        ({"unroll_steps": -1}, "`unroll_steps`"),
        ({"passes": 0}, "`passes`"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"characters": "bytes"}, "`characters`"),
        ({"max_characters": 2}, "`max_characters` must be at least 3; got 2"),
        ({"files": "/nowhere/*.txt"}, "matches no file"),
    ],
)
def test_bad_arguments(two_shards, options, message):
    given = {"files": two_shards, "vocabulary": VOCABULARY, "batch_size": 2, "unroll_steps": 3}
    with pytest.raises(ValueError, match=message):
        LMBatches(**{**given, **options})
