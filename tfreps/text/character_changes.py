"""CharacterChanges: lower case and accents of texts in a graph, as in Python."""

import tensorflow as tf

from tfreps.text.unicode_tables import re2_class, replacements


class CharacterChanges(tf.Module):
    """Replaces characters as `tfreps.text.unicode_tables.replacements` has it.

    ASCII is left to `tf.strings.lower`. Of the other texts only those are looked at character by
    character that have something to replace.

    Args:
        lowercase: bool.
        strip_accents: bool.

    Call arguments:
        texts: str tensor, shape `[N]`, UTF-8.

    Returns:
        str tensor, shape `[N]`.
    """

    def __init__(self, lowercase, strip_accents):
        super().__init__(name="character_changes")
        self.lowercase, self.strip_accents = lowercase, strip_accents
        changed = replacements(lowercase, strip_accents)
        changed = {old: new for old, new in changed.items() if not old.isascii()}
        self.table = None
        if changed:
            self.some = f"(?s).*[{re2_class(_runs(changed))}].*"
            pairs = tf.lookup.KeyValueTensorInitializer
            with tf.init_scope():
                pairs = pairs(tf.constant(list(changed)), tf.constant(list(changed.values())))
                self.table = tf.lookup.StaticHashTable(pairs, default_value=_AS_IT_IS)

    def __call__(self, texts):
        if self.table is not None:
            some = tf.strings.regex_full_match(texts, self.some)
            characters = tf.strings.unicode_split(tf.boolean_mask(texts, some), "UTF-8")
            old = characters.flat_values
            new = self.table.lookup(old)
            characters = characters.with_flat_values(tf.where(new == _AS_IT_IS, old, new))
            changed = tf.strings.reduce_join(characters, axis=1)
            texts = tf.tensor_scatter_nd_update(texts, tf.where(some), changed)
        return tf.strings.lower(texts) if self.lowercase else texts


_AS_IT_IS = "\0"  # which no character becomes


def valid_utf8(texts):
    """Texts whose bytes that are no UTF-8 are U+FFFD; str tensor of any shape."""
    return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")


def _runs(characters):
    """Single characters as ranges, for a regular expression."""
    runs = []
    for code in sorted(map(ord, characters)):
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return runs
