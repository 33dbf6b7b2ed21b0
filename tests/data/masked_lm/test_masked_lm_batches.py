"""MaskedLMBatches: rows compared with their documents, positions, and invalid options."""

import functools

import numpy as np
import pytest

from tests.data.masked_lm.test_sentence_pairs import documents
from tests.data.pieces import Pieces
from tfreps.data import MaskedLMBatches

pytest.importorskip("tensorflow_text", reason="masked language modeling needs it")

TOKENIZER = Pieces([f"w{n}" for n in range(500)])
RNG = np.random.default_rng(0)
LENGTHS = [RNG.integers(2, 15, RNG.integers(1, 9)).tolist() for _ in range(60)]
# Ids identify positions: w0 is the first token of the text.
DOCUMENTS = documents(LENGTHS)._replace(ids=5 + np.arange(sum(map(sum, LENGTHS))) % 500)


def make(**options):
    return MaskedLMBatches(DOCUMENTS, TOKENIZER, 400, **{"max_length": 40, **options})


def elements(batches, *position):
    return [{k: v.numpy() for k, v in e.items()} for e in batches.dataset(*position)]


@functools.cache
def second_epoch(next_label):
    """Returns batches and their elements in the second epoch."""
    batches = make(next_label=next_label)
    return batches, elements(batches, 1)


def restored(element):
    """Returns the token ids before masking."""
    ids = element["token_ids"].copy()
    for row, weights in enumerate(element["masked_weights"] > 0):
        ids[row, element["masked_positions"][row, weights]] = element["masked_ids"][row, weights]
    return ids


def runs(ids):
    """Returns True if the ids are consecutive in the text."""
    return (np.diff(ids) % 500 == 1).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("next_label", [0, 1])
def test_pairs(next_label):
    (batches, given), found = second_epoch(next_label), []
    for element in given:
        assert element["token_ids"].size <= 400
        for ids, segments, label in zip(
            restored(element),
            element["segment_ids"],
            element["next_sentence_labels"],
            strict=True,
        ):
            assert ids[0] == 2
            one, two = np.flatnonzero(ids == 3)
            assert not ids[two + 1 :].any() and (ids[1:two] >= 3).all() and two < 40
            expected = (np.arange(len(ids)) > one) & (np.arange(len(ids)) <= two)
            np.testing.assert_array_equal(segments, expected)
            first, second = ids[1:one], ids[one + 1 : two]
            assert runs(first) and runs(second) and len(first) and len(second)
            assert runs([first[-1], second[0]]) or label != next_label
            found.append(label == next_label)
    assert len(found) == batches.num_texts and 0.3 < np.mean(found) < 0.7
    assert batches.num_left_out == sum(len(document) == 1 for document in LENGTHS)


@pytest.mark.slow
def test_one_stretch():
    batches = make(next_sentence=False, shuffle=False)
    tokens, lengths = [], []
    for element in elements(batches):
        assert "next_sentence_labels" not in element and not element["segment_ids"].any()
        for ids in restored(element):
            (end,) = np.flatnonzero(ids == 3)
            assert ids[0] == 2 and runs(ids[1:end]) and not ids[end + 1 :].any()
            tokens += ids[1:end].tolist()
            lengths.append(end + 1)
    assert lengths == sorted(lengths) and sum(lengths) == batches.num_tokens
    np.testing.assert_array_equal(
        np.bincount(tokens, minlength=505), np.bincount(DOCUMENTS.ids, minlength=505)
    )


def test_dtypes_and_masks():
    batches, found = second_epoch(0)
    element = found[0]
    assert {name: str(value.dtype) for name, value in element.items()} == {
        **{"token_ids": "int32", "segment_ids": "int32", "next_sentence_labels": "int32"},
        **{"masked_positions": "int32", "masked_ids": "int32", "masked_weights": "float32"},
    }
    masked = sum(element["masked_weights"].sum() for element in found)
    tokens = batches.num_tokens - 3 * batches.num_texts
    assert abs(masked / tokens - 0.15) < 0.02


def equal(one, other):
    return len(one) == len(other) and all(
        a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.slow
def test_any_position_goes_on_as_before():
    options = {"whole_words": True, "seed": 3}
    batches = make(**options)
    whole = elements(batches, 2)
    assert batches.num_batches(2) == len(whole) == len(batches.dataset(2))
    assert equal(elements(make(**options), 2, 5), whole[5:])
    assert len(batches.dataset(2, len(whole))) == 0


@pytest.mark.slow
def test_masks_are_new_in_every_epoch_and_with_every_seed():
    texts = []
    for seed, epoch in (1, 0), (1, 1), (2, 0):
        found = elements(make(next_sentence=False, seed=seed), epoch)
        texts.append({tuple(ids) for element in found for ids in element["token_ids"]})
    for one, other in (0, 1), (0, 2):
        assert len(texts[one] & texts[other]) < 0.3 * len(texts[one])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"max_length": 4}, "`max_length` must be at least 5; got 4"),
        ({"max_length": 2, "next_sentence": False}, "`max_length` must be at least 3"),
        ({"batch_size": 0}, "`batch_size` must be at least 1"),
        ({"seed": -1}, "`seed` must be at least 0"),
        ({"next_label": 2}, "`next_label` must be 0 or 1; got 2"),
        ({"mask_rate": 1.0}, "`mask_rate` must be in .0, 1.; got 1.0"),
        ({"mask_rate": 0.0}, "`mask_rate` must be in .0, 1.; got 0.0"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_positions_out_of_range():
    batches = make()
    for position in ((-1, 0), (0, -1), (0, batches.num_batches() + 1)):
        with pytest.raises(ValueError, match="`epoch` must be at least 0 and `first_batch`"):
            batches.dataset(*position)
