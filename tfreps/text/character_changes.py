"""CharacterChanges: lower case and accents of texts in a graph, as in Python."""

import tensorflow as tf

from tfreps.text.unicode_tables import as_ranges, re2_class, replacements


class CharacterChanges(tf.Module):
    """Replaces characters as `tfreps.text.unicode_tables.replacements` has it.

    ASCII is left to `tf.strings.lower`. Of the other texts only those words are looked at
    character by character that have something to replace.

    Args:
        lowercase: bool.
        strip_accents: bool.

    Call arguments:
        texts: str tensor, shape `[N]`, UTF-8.

    Returns:
        str tensor, shape `[N]`.

    Attributes:
        ranges: the characters beyond ASCII that become others, as first and last of each run.
    """

    def __init__(self, lowercase, strip_accents):
        super().__init__(name="character_changes")
        self.lowercase, self.strip_accents = lowercase, strip_accents
        changed = replacements(lowercase, strip_accents)
        changed = {old: new for old, new in changed.items() if not old.isascii()}
        self.table = None
        self.ranges = as_ranges(sorted(map(ord, changed)))
        if changed:
            self.some = f"(?s).*[{re2_class(self.ranges)}].*"
            pairs = tf.lookup.KeyValueTensorInitializer
            with tf.init_scope():
                pairs = pairs(tf.constant(list(changed)), tf.constant(list(changed.values())))
                self.table = tf.lookup.StaticHashTable(pairs, default_value=_AS_IT_IS)

    def __call__(self, texts):
        if self.table is not None:
            texts = some_changed(texts, self._some(texts), self._by_word)
        return tf.strings.lower(texts) if self.lowercase else texts

    def _some(self, texts):
        return tf.strings.regex_full_match(texts, self.some)

    def _by_word(self, texts):
        words = tf.strings.split(texts, " ")  # few of which have anything to replace
        flat = some_changed(words.flat_values, self._some(words.flat_values), self._by_character)
        return tf.strings.reduce_join(words.with_flat_values(flat), axis=1, separator=" ")

    def _by_character(self, words):
        characters = tf.strings.unicode_split(words, "UTF-8")
        old = characters.flat_values
        new = self.table.lookup(old)
        characters = characters.with_flat_values(tf.where(new == _AS_IT_IS, old, new))
        return tf.strings.reduce_join(characters, axis=1)


_AS_IT_IS = "\0"  # which no character becomes
SURROGATES = ((0xD800, 0xDFFF),)
_VALID = f"[^{re2_class(SURROGATES)}]*"  # RE2's classes are of whole characters


def some_changed(texts, condition, function):
    """Texts `[N]` with what a function makes of those that a condition `[N]` holds for."""

    def change():
        new = function(tf.boolean_mask(texts, condition))
        return tf.tensor_scatter_nd_update(texts, tf.where(condition), new)

    return tf.cond(tf.reduce_any(condition), change, lambda: texts)  # most often for none


def valid_utf8(texts):
    """Texts `[N]` in which U+FFFD stands for bytes that are no UTF-8."""
    invalid = ~tf.strings.regex_full_match(texts, _VALID)
    return some_changed(
        texts,
        invalid,
        lambda some: tf.strings.unicode_transcode(some, "UTF-8", "UTF-8", errors="replace"),
    )
