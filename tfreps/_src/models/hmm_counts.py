"""HMMCounts: counts of initial tags, transitions, emissions and ends, with smoothing."""

import itertools
import math
import operator

import numpy as np

ARGUMENTS = "initial", "transitions", "emissions", "end"
TABLES = "initial", "transition", "emission", "end"
LOG_ZERO = -1e4  # replaces log 0. It is finite, so that a path with fewer zeros scores higher


class HMMCounts:
    """Counts of a tagged text, observed or expected, and the probabilities computed from them.

        p(x) = (count(x) + k) / sum over y (count(y) + k)

    `k` is the smoothing; see `log_tables`.

    Args:
        initial: float, shape `[K]`. Number of sentences that begin with each tag.
        transitions: float, shape `[K, K]` (from, to). Number of transitions between tags.
        emissions: float, shape `[V + 1, K]` (token id, tag). Number of times that each token
            occurs with each tag. Row 0 is for padding and contains zeros.
        end: float, shape `[K]`. Number of sentences that end with each tag.

    Raises:
        ValueError: If shapes do not match, there are no tags, or counts are negative, infinite or
            NaN.

    Example:
        >>> from tfreps._src.models.hmm_counts import HMMCounts
        >>> counts = HMMCounts.from_sentences([[1, 2], [2]], [[0, 1], [1]], 2, num_tags=2)
        >>> counts.initial, counts.end
        (array([1., 1.]), array([0., 2.]))
        >>> counts.transitions[0].tolist(), counts.emissions[2].tolist()
        ([0.0, 1.0], [0.0, 2.0])
    """

    def __init__(self, initial, transitions, emissions, end):
        arrays = [np.asarray(a, np.float64) for a in (initial, transitions, emissions, end)]
        self.initial, self.transitions, self.emissions, self.end = arrays
        num_tags = self.initial.size
        wanted = (num_tags,), (num_tags, num_tags), (len(self.emissions), num_tags), (num_tags,)
        if num_tags == 0:
            raise ValueError("`initial` must have at least one tag; got an empty array.")
        for name, array, shape in zip(ARGUMENTS, arrays, wanted, strict=True):
            if array.shape != shape:
                raise ValueError(
                    f"`{name}` must have shape {shape} for {num_tags} tags; got {array.shape}."
                )
            wrong = array[~(np.isfinite(array) & (array >= 0))]
            if wrong.size:
                raise ValueError(f"`{name}` must be finite and not negative; got {wrong[0]}.")

    @classmethod
    def from_sentences(
        cls, token_ids, tag_ids, vocabulary_size, num_tags, skip_single_tokens=False
    ):
        """Returns the counts of tagged sentences; see `HMMTagger.fit_counts`."""
        tokens, lengths = flat_tokens(token_ids, vocabulary_size)
        tags, tag_lengths = flat(tag_ids, "tag_ids")
        check_lengths(lengths, tag_lengths)
        check_range("tag_ids", tags, lengths, 0, num_tags - 1)
        stops = np.cumsum(lengths)
        starts = stops - lengths
        inner = np.ones(len(tags), bool)
        inner[starts[lengths > 0]] = False  # True at positions that have a previous tag
        inner = np.flatnonzero(inner)
        begins = starts[lengths > (1 if skip_single_tokens else 0)]
        return cls(
            np.bincount(tags[begins], minlength=num_tags),
            table(tags[inner - 1], tags[inner], num_tags, num_tags),
            table(tokens, tags, vocabulary_size + 1, num_tags),
            np.bincount(tags[stops[lengths > 0] - 1], minlength=num_tags),
        )

    def with_unknown(self, unknown_id):
        """Returns a copy that adds the counts of all tokens that occur once to `unknown_id`."""
        emissions = self.emissions.copy()
        hapaxes = emissions.sum(1) == 1
        hapaxes[unknown_id] = False
        emissions[unknown_id] += emissions[hapaxes].sum(0)
        return HMMCounts(self.initial, self.transitions, emissions, self.end)

    def plus(self, other, weight=1.0):
        """Returns the sum of these counts and `weight` times `other`."""
        return HMMCounts(*(getattr(self, n) + weight * getattr(other, n) for n in ARGUMENTS))

    def log_tables(self, smoothing=None, floor=None, use_end=False, left_out=()):
        """Computes the logarithms of the probabilities of a hidden Markov model.

        Args:
            smoothing, floor: As in `HMMTagger.fit_counts`.
            use_end: bool. Whether a sentence may end after each tag with a probability of its own.
                The probabilities of the end and of all transitions after a tag then sum to 1.
            left_out: ids of tokens that get the probability 0, whose logarithm is replaced with
                -1e4. Defaults to `()`.

        Returns:
            dict of float32 arrays:

            - `initial`: `[K]`.
            - `transitions`: `[K, K]` (from, to).
            - `emissions`: `[V + 1, K]`. Row 0, for padding, contains zeros.
            - `end`: `[K]`, or `None` if `use_end` is `False`.
        """
        added = smoothing_of(smoothing, floor, use_end)
        initial, transitions, emissions, end = (
            smoothed(counts, added[name], floor)
            for name, counts in zip(
                TABLES,
                (self.initial, self.transitions, self.emissions, self.end),
                strict=True,
            )
        )
        emissions[[0, *left_out]] = 0.0
        following = transitions.sum(1) + (end if use_end else 0.0)  # [K]
        tables = {
            "initial": log_ratio(initial, initial.sum()),
            "transitions": log_ratio(transitions, following[:, None]),
            "emissions": log_ratio(emissions, emissions.sum(0)),
            "end": log_ratio(end, following) if use_end else None,
        }
        tables["emissions"][0] = 0.0
        return tables


def smoothing_of(smoothing, floor, use_end):
    """Checks `smoothing` and `floor` and returns a dict with the smoothing of each table."""
    if floor is not None:
        if smoothing is not None:
            raise ValueError("`smoothing` cannot be combined with `floor`; pass only one of them.")
        if not 0 < floor < math.inf:
            raise ValueError(f"`floor` must be positive and finite; got {floor}.")
        return dict.fromkeys(TABLES, 0.0)
    if smoothing is None:
        smoothing = 0.1
    if not isinstance(smoothing, dict):
        smoothing = dict.fromkeys(TABLES, smoothing)
    required = TABLES if use_end else TABLES[:-1]
    if set(smoothing) | {"end"} != set(TABLES) or not set(required) <= set(smoothing):
        raise ValueError(
            "`smoothing` must be a number or a dict with a number for each of "
            f"{', '.join(required)}; got {smoothing!r}."
        )
    for name, value in smoothing.items():
        if not 0 <= value < math.inf:
            raise ValueError(
                f"`smoothing` must be finite and not negative; got {value} for {name}."
            )
    return {"end": 0.0, **smoothing}


def smoothed(counts, added, floor):
    return counts + added if floor is None else np.where(counts == 0, floor, counts)


def log_ratio(part, whole):
    """Computes log(part / whole) as float32; log 0 and values below LOG_ZERO become LOG_ZERO."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(part) - np.log(whole)
    return np.where(part > 0, np.maximum(log, LOG_ZERO), LOG_ZERO).astype(np.float32)


def flat(sentences, name="token_ids"):
    """Returns the ids of all sentences in one int64 array, and an int64 array of their lengths."""
    sentences = list(sentences)
    try:
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    except TypeError as error:
        raise ValueError(
            f"`{name}` must be a list of lists of integers, one list per sentence; got other "
            f"values ({error})."
        ) from error
    each = map(operator.index, itertools.chain.from_iterable(sentences))
    try:
        return np.fromiter(each, np.int64, lengths.sum()), lengths
    except TypeError as error:
        raise ValueError(
            f"`{name}` must contain only integers; got other values ({error})."
        ) from error


def flat_tokens(token_ids, vocabulary_size, or_none=False):
    """Returns the result of `flat` for sentences whose ids are from 1 to `vocabulary_size`.

    Raises a ValueError if an id is out of range, or if there are no tokens and `or_none` is False.
    """
    tokens, lengths = flat(token_ids)
    check_range("token_ids", tokens, lengths, 1, vocabulary_size)
    if not (len(tokens) or or_none):
        raise ValueError(
            f"`token_ids` must contain at least one token; got {len(lengths)} empty sentences."
        )
    return tokens, lengths


def table(rows, columns, num_rows, num_columns):
    """Returns a matrix that counts how often each pair of a row and a column index occurs."""
    counts = np.bincount(rows * num_columns + columns, minlength=num_rows * num_columns)
    return counts.reshape(num_rows, num_columns)


def check_lengths(lengths, tag_lengths):
    if len(lengths) != len(tag_lengths):
        raise ValueError(
            "`token_ids` and `tag_ids` must have the same number of sentences; "
            f"got {len(lengths)} and {len(tag_lengths)}."
        )
    differ = np.flatnonzero(lengths != tag_lengths)
    if len(differ):
        n = differ[0]
        raise ValueError(
            f"`tag_ids` must have one tag per token; sentence {n + 1} (counted from 1) has "
            f"{lengths[n]} tokens and {tag_lengths[n]} tags."
        )


def check_range(name, ids, lengths, lowest, highest):
    wrong = np.flatnonzero((ids < lowest) | (ids > highest))
    if len(wrong):
        sentence = np.searchsorted(np.cumsum(lengths), wrong[0], side="right")
        raise ValueError(
            f"`{name}` must contain only ids from {lowest} to {highest}; sentence "
            f"{sentence + 1} (counted from 1) contains {ids[wrong[0]]}."
        )
