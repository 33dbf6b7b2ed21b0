"""RandomTruncation: cuts training texts at a random punctuation mark, redrawn every epoch."""

from collections.abc import Sequence

import numpy as np

from tfreps._src.files.argument_checks import check_integers

# Punctuation marks, in ASCII and in full width.
MARKS = frozenset(",;.?!\uff0c\uff1b\u3002\uff1f\uff01")
_GUARD = 2  # number of tokens at each end in which marks are ignored


class RandomTruncation:
    """Random truncation of texts at a punctuation mark, as data augmentation for classifiers.

    In every epoch, each text is selected with probability `rate`. One punctuation mark of a
    selected text is drawn at random, and either all tokens after the mark are removed, or the
    mark and all tokens before it. Punctuation marks are the tokens `, ; . ? !` and their full-width
    Chinese counterparts. Marks among the first or last `num_protected + 2` tokens are ignored, and
    a text without any other mark is left whole. The random choices depend only on the seed and the
    epoch number.

    Args:
        tokens: sequence of lists of str. The tokens of each text.
        rate: float in [0, 1]. Probability that a text is selected. Defaults to 0.1.
        seed: int, non-negative. Random seed. Defaults to 0.
        max_length: int or None. Length to which `SequenceBatches` truncates texts. If `None`,
            texts are not truncated. Defaults to `None`.
        num_protected: int. Number of tokens at each end that are never removed, such as 1 for
            BERT's `[CLS]` and `[SEP]`. Defaults to 0.

    Raises:
        ValueError: If `rate` is not in [0, 1] or `seed` is negative.

    Reference: aespresso/a_journey_into_math_of_ml, 2019, part 4, where the method is called
    data regularization.

    Example:
        >>> from tfreps.data import RandomTruncation
        >>> truncation = RandomTruncation(["bad beds , but a nice view".split()], rate=1.0)
        >>> truncation.gaps(0).tolist()  # removes 4 tokens from token 3 on, leaving: bad beds ,
        [[3, 4]]
    """

    def __init__(
        self,
        tokens: Sequence[Sequence[str]],
        rate: float = 0.1,
        seed: int = 0,
        max_length: int | None = None,
        num_protected: int = 0,
    ):
        if not 0 <= rate <= 1:
            raise ValueError(f"`rate` must be a probability in [0, 1]; got {rate}.")
        check_integers(0, seed=seed)
        self.rate = rate
        self.seed = seed
        self.num_protected = num_protected
        self._lengths = [len(text[:max_length]) for text in tokens]
        room = num_protected + _GUARD
        self._marks = [
            [position for position in range(room, length - room) if text[position] in MARKS]
            for text, length in zip(tokens, self._lengths, strict=True)
        ]

    def gaps(self, epoch: int) -> np.ndarray:
        """Returns the tokens to remove from each text in an epoch, int64 `[N, 2]`.

        A row has the position of the first removed token and the number of removed tokens. Both are
        0 for a text from which no token is removed.
        """
        draw = np.random.default_rng([self.seed, epoch]).random([len(self._marks), 3])
        gaps = np.zeros([len(self._marks), 2], np.int64)
        for number in np.flatnonzero(draw[:, 0] < self.rate):
            marks = self._marks[number]
            if marks:
                mark = marks[int(draw[number, 1] * len(marks))]
                is_end = draw[number, 2] < 0.5
                first = mark + 1 if is_end else self.num_protected
                end = self._lengths[number] - self.num_protected if is_end else mark + 1
                gaps[number] = first, end - first
        return gaps
