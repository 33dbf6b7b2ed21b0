"""CharacterChanges: drops or replaces characters of texts in a TensorFlow graph."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from tfreps._src.text.bert.character_classes import re2_class
from tfreps._src.text.code_ranges import Ranges, as_ranges

_SURROGATES: Ranges = ((0xD800, 0xDFFF),)  # not characters, but RE2 matches their bytes
_NONE = -1


class CharacterChanges(tf.Module):
    """TensorFlow graph that drops or replaces characters of texts `[N]` and returns valid UTF-8.

    Bytes that are not UTF-8 become U+FFFD first. A regular expression finds the texts that need
    changes; other texts are at most lowercased. `replacements` maps characters to strings of any
    length, which are not replaced again, and `dropped` are ranges of code points. If `lowercase` is
    `True`, the letters A to Z are lowercased after the other changes.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps._src.text.bert.character_changes import CharacterChanges
        >>> changes = CharacterChanges({"é": "e", "ß": "ss"}, dropped=((0x0, 0x1F),))
        >>> changes(tf.constant(["caf\\té", "Maß", "as it is"])).numpy().tolist()
        [b'cafe', b'Mass', b'as it is']
    """

    def __init__(
        self, replacements: Mapping[str, str], dropped: Ranges = (), lowercase: bool = False
    ):
        super().__init__(name="character_changes")
        self.lowercase = lowercase
        if lowercase:
            replacements = {a: b for a, b in replacements.items() if not "A" <= a <= "Z"}
        runs = [(first, last, "") for first, last in dropped]
        runs = sorted([*runs, *((ord(old), ord(old), new) for old, new in replacements.items())])
        changed = as_ranges(sorted(map(ord, replacements)))
        # Matches texts in which nothing but the case changes.
        self.fine = f"[^{re2_class((*dropped, *changed, *_SURROGATES))}]*"
        # The replacement of a code point is in the row of the last run that starts at or before
        # it, provided that the run includes it. The first run is empty. The shapes of `first`,
        # `last` and `new` are [R], [R] and [R, W].
        self.first = np.array([_NONE, *(first for first, _, _ in runs)], "int32")
        self.last = np.array([_NONE, *(last for _, last, _ in runs)], "int32")
        width = max([1, *(len(new) for _, _, new in runs)])
        self.new = np.full([len(runs) + 1, width], _NONE, "int32")
        for row, (_, _, new) in enumerate(runs, start=1):
            self.new[row, : len(new)] = list(map(ord, new))

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        special = ~tf.strings.regex_full_match(texts, self.fine)  # [N]

        def change() -> tf.Tensor:
            new = self._change(tf.boolean_mask(texts, special))
            return tf.tensor_scatter_nd_update(texts, tf.where(special), new)

        return self.lowered(tf.cond(tf.reduce_any(special), change, lambda: texts))

    def lowered(self, texts: tf.Tensor) -> tf.Tensor:
        """Returns the texts, in lower case if `lowercase` is `True`, and otherwise unchanged."""
        return tf.strings.lower(texts) if self.lowercase else texts

    def _change(self, texts: tf.Tensor) -> tf.Tensor:
        # Decoding replaces invalid bytes with U+FFFD.
        characters = tf.strings.unicode_decode(texts, "UTF-8")
        old = characters.flat_values  # [C]
        width = self.new.shape[1]
        run = tf.searchsorted(self.first, old, side="right") - 1
        as_it_is = tf.pad(old[:, None], [[0, 0], [0, width - 1]], constant_values=_NONE)
        changed = old <= tf.gather(self.last, run)
        new = tf.where(changed[:, None], tf.gather(self.new, run), as_it_is)  # [C, W]
        there = new != _NONE
        ends = tf.cumsum(tf.reduce_sum(tf.cast(there, tf.int64), axis=1))
        splits = tf.gather(tf.concat([[0], ends], axis=0), characters.row_splits)
        new = tf.RaggedTensor.from_row_splits(tf.boolean_mask(new, there), splits, validate=False)  # pyright: ignore[reportAttributeAccessIssue]
        return tf.strings.unicode_encode(new, "UTF-8")
