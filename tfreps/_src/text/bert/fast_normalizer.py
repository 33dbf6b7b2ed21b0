"""FastNormalizer: normalizes text for WordPiece with tensorflow-text."""

from typing import Any

import tensorflow as tf

from tfreps._src.text.bert.character_changes import CharacterChanges
from tfreps._src.text.bert.character_classes import re2_class
from tfreps._src.text.code_ranges import as_ranges

_SURROGATES = range(0xD800, 0xE000)
_FIRST_RARE = 0x20000  # from here on, characters (ideographs, tags, private use) are not compared


class FastNormalizer(tf.Module):
    """TensorFlow graph that computes the result of `CharacterChanges` with tensorflow-text.

    `FastBertNormalizer` of tensorflow-text handles some characters differently: it replaces control
    characters with spaces and, if it lowercases, compatibility characters such as `²` with others.
    Texts that contain such characters are passed to `changes`, and so are batches in which nothing
    but the case changes. All other texts, such as those with accents, are normalized by one
    operation.
    """

    def __init__(self, lowercase: bool, changes: CharacterChanges):
        super().__init__(name="fast_normalizer")
        from tensorflow_text import FastBertNormalizer

        self.changes = changes
        self.normalizer = FastBertNormalizer(lower_case_nfd_strip_accents=lowercase)
        self.same = _same_characters(self.normalizer, changes)

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        is_fine = tf.reduce_all(tf.strings.regex_full_match(texts, self.changes.fine))
        return tf.cond(
            is_fine, lambda: self.changes.lowered(texts), lambda: self._normalized(texts)
        )

    def _normalized(self, texts: tf.Tensor) -> tf.Tensor:
        special = ~tf.strings.regex_full_match(texts, self.same)  # [N]
        normal = self.normalizer.normalize(texts)

        def change() -> tf.Tensor:
            changed = self.changes(tf.boolean_mask(texts, special))
            return tf.tensor_scatter_nd_update(normal, tf.where(special), changed)  # pyright: ignore[reportArgumentType]

        return tf.cond(tf.reduce_any(special), change, lambda: normal)


def _same_characters(normalizer: Any, changes: CharacterChanges) -> str:
    """Returns a regular expression that matches texts for which both arguments return the same."""
    codes = [code for code in range(_FIRST_RARE) if code not in _SURROGATES]
    texts = tf.constant([chr(code) for code in codes])
    same = (normalizer.normalize(texts) == changes(texts)).numpy()
    differing = [code for code, is_same in zip(codes, same, strict=True) if not is_same]
    differing = as_ranges(sorted([*differing, *_SURROGATES]))
    return f"[^{re2_class((*differing, (_FIRST_RARE, 0x10FFFF)))}]*"
