"""TextCuts: cuts training texts at a random punctuation mark, redrawn every epoch."""

from collections.abc import Sequence

import numpy as np

MARKS = frozenset(",;.?!\uff0c\uff1b\u3002\uff1f\uff01")  # ASCII, and full width
_GUARD = 2  # tokens at each end among which no mark counts


class TextCuts:
    """Leaves out one side of some texts, so that a classifier sees more beginnings and ends.

    In every epoch each text is drawn with the probability `share`; of a text that is drawn, one
    of its marks is drawn, and then one of its sides: all after the mark is left out, or the mark
    and all before it. Marks among the first or last two tokens do not count, and a text without
    any other stays whole. All depends on the seed and the number of the epoch alone.

    Args:
        tokens: texts, each a list of tokens.
        share: float in [0, 1]. Probability that a text is drawn.
        seed: int, not negative.
        max_length: int or None. Tokens of a text that count; those after them are cut anyway.
        ends: int. Tokens at each end that always stay, as the start and separator of BERT.

    Raises:
        ValueError: a `share` that is no probability.

    Reference: aespresso/a_journey_into_math_of_ml, 2019, part 4, which calls it data
    regularization.

    Example:
    >>> cuts = TextCuts(["bad beds , but a nice view".split()], share=1.0)
    >>> cuts.gaps(0).tolist()        # without 4 tokens from the third on: bad beds ,
    [[3, 4]]
    """

    def __init__(
        self,
        tokens: Sequence[Sequence[str]],
        share: float = 0.1,
        seed: int = 0,
        max_length: int | None = None,
        ends: int = 0,
    ):
        if not 0 <= share <= 1:
            raise ValueError(f"`share` must be a probability from 0 to 1; got {share}.")
        self.share = share
        self.seed = seed
        self.ends = ends
        self._lengths = [len(text[:max_length]) for text in tokens]
        room = ends + _GUARD
        self._marks = [
            [place for place in range(room, length - room) if text[place] in MARKS]
            for text, length in zip(tokens, self._lengths, strict=True)
        ]

    def gaps(self, epoch: int) -> np.ndarray:
        """Returns the first token that each text loses, and how many it loses, int64 `[N, 2]`."""
        draw = np.random.default_rng([self.seed, epoch]).random([len(self._marks), 3])
        gaps = np.zeros([len(self._marks), 2], np.int64)
        for number in np.flatnonzero(draw[:, 0] < self.share):
            marks = self._marks[number]
            if marks:
                mark = marks[int(draw[number, 1] * len(marks))]
                is_end = draw[number, 2] < 0.5
                first = mark + 1 if is_end else self.ends
                end = self._lengths[number] - self.ends if is_end else mark + 1
                gaps[number] = first, end - first
        return gaps
