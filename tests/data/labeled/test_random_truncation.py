import numpy as np
import pytest

from tfreps._src.data.labeled.random_truncation import MARKS
from tfreps.data import RandomTruncation, SequenceBatches
from tfreps.text import TokenIndexer

TEXT = "a b , c d ! e f".split()  # marks at 2 and 5


def kept(tokens, gap):
    first, size = gap
    return tokens[:first] + tokens[first + size :]


def test_one_side_of_one_mark_is_left():
    truncation = RandomTruncation([TEXT] * 200, rate=1.0)
    found = {" ".join(kept(TEXT, gap)) for gap in truncation.gaps(0).tolist()}
    assert found == {"a b ,", "c d ! e f", "a b , c d !", "e f"}


def test_rate_and_epochs():
    truncation = RandomTruncation([TEXT] * 4000, rate=0.1, seed=3)
    sizes = truncation.gaps(0)[:, 1]
    # Binomial(4000, 0.1): mean 400, standard deviation 19.
    assert abs((sizes > 0).sum() - 400) < 4 * 19
    np.testing.assert_array_equal(
        truncation.gaps(0), RandomTruncation([TEXT] * 4000, 0.1, 3).gaps(0)
    )
    assert (truncation.gaps(1) != truncation.gaps(0)).any()
    assert (RandomTruncation([TEXT] * 4000, 0.1, 4).gaps(0) != truncation.gaps(0)).any()
    assert not RandomTruncation([TEXT] * 9, 0.0).gaps(0).any()


@pytest.mark.parametrize("text", ["", "a", ", b c d ,", "a , b", "a b c d e"])
def test_texts_without_a_mark_in_their_midst_stay_whole(text):
    assert not RandomTruncation([text.split()], 1.0).gaps(0).any()


def test_start_separator_and_what_is_cut_anyway():
    pieces = ["[CLS]", *"好房间。但是很远".strip(), "[SEP]"]
    truncation = RandomTruncation([pieces] * 50, 1.0, num_protected=1)
    found = {"".join(kept(pieces, gap)) for gap in truncation.gaps(0).tolist()}
    assert found == {"[CLS]好房间。[SEP]", "[CLS]但是很远[SEP]"}
    truncation = RandomTruncation([TEXT] * 50, 1.0, max_length=6)  # a b , c d !
    found = {" ".join(kept(TEXT[:6], gap)) for gap in truncation.gaps(0).tolist()}
    assert found == {"a b ,", "c d !"}


def test_aespressos_marks_are_marks():
    assert set("，；。？!！,;.?") == MARKS


@pytest.mark.parametrize("rate", [-0.1, 1.5])
def test_a_rate_is_a_probability(rate):
    with pytest.raises(ValueError, match="probability in .0, 1"):
        RandomTruncation([TEXT], rate)


def test_a_seed_is_not_negative():
    with pytest.raises(ValueError, match="`seed` must be at least 0; got -1"):
        RandomTruncation([TEXT], seed=-1)


@pytest.mark.slow
def test_batches_leave_the_gaps_out():
    texts = [TEXT, "x y".split(), "p q ; r s t".split()]
    features = TokenIndexer.from_sentences(texts)
    tags = [list(range(len(text))) for text in texts]
    truncation = RandomTruncation(texts, rate=0.7, seed=1)
    for targets in (tags, [7, 8, 9]):
        batches = SequenceBatches(texts, targets, features, 16, shuffle=True, truncation=truncation)
        seen = set()
        for epoch in range(8):
            order, gaps = iter(batches.order(epoch)), truncation.gaps(epoch)
            for element, y, _ in batches.dataset(epoch):
                for ids, mask, target in zip(
                    element["token_ids"].numpy(), element["mask"].numpy(), y.numpy(), strict=True
                ):
                    number = next(order)
                    own = kept(texts[number], gaps[number])
                    seen.add((number, len(own)))
                    assert mask.tolist() == [True] * len(own) + [False] * (len(mask) - len(own))
                    assert ids[mask].tolist() == features([own])["token_ids"][0].numpy().tolist()
                    if targets is tags:
                        assert target[mask].tolist() == kept(tags[number], gaps[number])
                        assert not target[~mask].any()
                    else:
                        assert target == targets[number]
        # Whole texts and both sides of two of them, identified by their lengths.
        assert len(seen) == 6


def test_vectors_of_whole_sentences_do_not_fit(tmp_path):
    features = TokenIndexer.from_sentences([TEXT])
    with pytest.raises(ValueError, match="the vectors belong to whole sentences"):
        SequenceBatches(
            [TEXT],
            [0],
            features,
            truncation=RandomTruncation([TEXT]),
            vectors=tmp_path / "none.hdf5",
        )
