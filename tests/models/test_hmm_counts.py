import numpy as np
import pytest

from docs.by_hand import hmm
from tests.closeness import assert_close
from tfreps._src.models.hmm_counts import LOG_ZERO, HMMCounts

# Ids: 1 "a", 2 "b", 3 unknown; tags 0 and 1. One sentence is empty, one has a single token.
TOKENS = [[1, 2, 1], [], [2], [1, 1]]
TAGS = [[0, 1, 0], [], [1], [0, 0]]


def counted(**kwargs):
    return HMMCounts.from_sentences(TOKENS, TAGS, vocabulary_size=3, num_tags=2, **kwargs)


def loops(sentences, tagged, vocabulary_size, num_tags):
    """Returns the four tables of counts, counted one event at a time."""
    initial, transitions, emissions, end = hmm.count(
        sentences, tagged, vocabulary_size + 1, num_tags
    )
    return initial, transitions, emissions.T, end


def assert_counts(counts, expected):
    found = counts.initial, counts.transitions, counts.emissions, counts.end
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_counts_by_hand():
    emissions = [[0, 0], [4, 0], [0, 2], [0, 0]]
    assert_counts(counted(), ([2, 1], [[1, 1], [1, 0]], emissions, [2, 1]))


def test_counts_as_loops_do():
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 9, 200)
    tokens = [rng.integers(1, 12, n).tolist() for n in lengths]
    tags = [rng.integers(0, 4, n).tolist() for n in lengths]
    counts = HMMCounts.from_sentences(tokens, tags, 11, 4)
    assert_counts(counts, loops(tokens, tags, 11, 4))


def test_single_tokens_are_skipped_as_in_the_article():
    """The article's loop over `label[:-1]` misses the first tag of a single token."""
    np.testing.assert_array_equal(counted(skip_single_tokens=True).initial, [2, 0])
    np.testing.assert_array_equal(counted(skip_single_tokens=True).end, [2, 1])


def test_add_k_by_hand():
    k = {"initial": 1.0, "transition": 0.5, "emission": 0.25, "end": 2.0}
    tables = counted().log_tables(k)
    assert_close(np.exp(tables["initial"]), [3 / 5, 2 / 5])
    transitions = [[1.5 / 3, 1.5 / 3], [1.5 / 2, 0.5 / 2]]
    assert_close(np.exp(tables["transitions"]), transitions)
    one, other = 4.75, 2.75  # column sums
    emissions = [[1, 1], [4.25 / one, 0.25 / other], [0.25 / one, 2.25 / other]]
    emissions += [[0.25 / one, 0.25 / other]]
    assert_close(np.exp(tables["emissions"]), emissions)
    assert tables["end"] is None


def test_the_end_shares_the_sum_of_the_transitions():
    tables = counted().log_tables(
        {**dict.fromkeys(("initial", "emission"), 1), "transition": 1, "end": 2}, use_end=True
    )
    following = np.exp(tables["transitions"]).sum(1) + np.exp(tables["end"])
    assert_close(following, 1)
    assert_close(np.exp(tables["end"]), [4 / 8, 3 / 6])


def test_floor_replaces_zeros_before_dividing():
    tables = counted().log_tables(floor=0.5)
    assert_close(np.exp(tables["transitions"][1]), [1 / 1.5, 0.5 / 1.5])
    assert_close(np.exp(tables["emissions"][2]), [0.5 / 5, 2 / 3])


def test_without_smoothing_zeros_stay_zeros():
    tables = counted().log_tables(smoothing=0)
    assert tables["transitions"][1, 1] == LOG_ZERO
    assert np.exp(tables["emissions"][1:]).sum(0).tolist() == [1, 1]
    assert all(np.isfinite(table).all() for table in tables.values() if table is not None)


def test_tokens_left_out_have_no_share():
    tables = counted().log_tables(smoothing=1, left_out=[3])
    assert_close(np.exp(tables["emissions"][1:]).sum(0), 1)
    assert (tables["emissions"][3] == LOG_ZERO).all()


def test_hapaxes_count_as_unknown_once():
    counts = HMMCounts.from_sentences([[1, 2, 4, 4, 3]], [[0, 1, 0, 0, 1]], 4, 2)
    with_unknown = counts.with_unknown(3)
    np.testing.assert_array_equal(
        with_unknown.emissions[3], [1, 2]
    )  # the counts of ids 1 and 2, and those of id 3
    np.testing.assert_array_equal(counts.emissions[3], [0, 1])


def test_plus_weighs():
    assert_counts(
        counted().plus(counted(), 0.5),
        [1.5 * array for array in loops(TOKENS, TAGS, 3, 2)],
    )


@pytest.mark.parametrize(
    "tokens, tags, message",
    [
        ([], [], "at least one token; got 0 empty"),
        ([[], []], [[], []], "at least one token; got 2 empty"),
        ([[1]], [[0], [1]], "the same number of sentences; got 1 and 2"),
        ([[1], [1, 2]], [[0], [1]], "one tag per token; sentence 2 .* has 2 tokens and 1 tags"),
        ([[1], [], [0]], [[0], [], [1]], "only ids from 1 to 3; sentence 3 .* contains 0"),
        ([[1, 4]], [[0, 1]], "`token_ids` must contain .* contains 4"),
        (
            [[1, 2]],
            [[0, 2]],
            "`tag_ids` must contain only ids from 0 to 1; sentence 1 .* contains 2",
        ),
        ([[1, 2]], [[0, -1]], "`tag_ids` must contain .* contains -1"),
        ([[1.5]], [[0]], "`token_ids` must contain only integers; .*'float' object"),
        ([[1]], [["a"]], "`tag_ids` must contain only integers; .*'str' object"),
        ([1, 2], [[0], [1]], "`token_ids` must be a list of lists of integers, one list per sent"),
    ],
)
def test_bad_sentences(tokens, tags, message):
    with pytest.raises(ValueError, match=message):
        HMMCounts.from_sentences(tokens, tags, 3, 2)


WITHOUT_END = {"initial": 1, "transition": 1, "emission": 1}


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"smoothing": 1, "floor": 1e-8}, "cannot be combined with `floor`"),
        ({"smoothing": -1}, "must be finite and not negative; got -1 for initial"),
        ({"smoothing": float("nan")}, "must be finite and not negative"),
        ({"smoothing": {"initial": 1}}, "a number for each of initial, transition, emission; got"),
        ({"smoothing": WITHOUT_END, "use_end": True}, "each of .*, emission, end; got"),
        ({"floor": 0}, "positive and finite"),
    ],
)
def test_bad_smoothing(kwargs, message):
    with pytest.raises(ValueError, match=message):
        counted().log_tables(**kwargs)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_counts(value):
    with pytest.raises(ValueError, match="`initial` must be finite and not negative; got"):
        HMMCounts([value], [[1]], [[0], [1]], [1])


def test_bad_shapes():
    with pytest.raises(ValueError, match=r"`transitions` must have shape \(2, 2\)"):
        HMMCounts([1, 1], [[1, 1]], [[0, 0]], [1, 1])
    with pytest.raises(ValueError, match="`initial` must have at least one tag"):
        HMMCounts([], [], [], [])
