"""Features that models read: their specs, checks, and the mask of tokens."""

import itertools

import tensorflow as tf

from tfreps._src.files.argument_checks import check_integers


def feature(name, *sizes, dtype="int32"):
    """Returns the `tf.TensorSpec` of a feature of shape `[B, T, *sizes]`, with any B and T."""
    return tf.TensorSpec([None, None, *sizes], dtype, name)


def with_optional(required, *optional):
    """Returns all combinations of features that a model accepts.

    Returns:
        list of dicts from the names of features to their specs. Every dict contains all specs in
        `required`. The first dict contains nothing else; the other dicts add one or more of the
        `optional` specs.
    """
    found = []
    for count in range(len(optional) + 1):
        for selected in itertools.combinations(optional, count):
            found.append({spec.name: spec for spec in (*required, *selected)})
    return found


def check_features(features, needed, reader):
    """Raises a ValueError if `features` is not a dict or lacks one of the `needed` features.

    `reader` is the name of the model, for the message.
    """
    if not isinstance(features, dict):
        raise ValueError(
            f"`features` for {reader!r} must be a dict with {', '.join(needed)}, such as the "
            f"output of tfreps.text.TokenIndexer; got {type(features).__name__}."
        )
    missing = [name for name in dict.fromkeys(needed) if name not in features]
    if missing:
        raise ValueError(
            f"`features` for {reader!r} must have {', '.join(dict.fromkeys(needed))}; "
            f"{missing[0]!r} is missing from {sorted(features)}. Create `vectors` with "
            "`tfreps embed`, and all other features with tfreps.text.TokenIndexer (set its "
            "`max_characters` for `character_ids`, and `word_characters` for "
            "`word_character_ids`)."
        )


def checked_token_ids(ids):
    """Returns the ids as a tensor after checking that they are integers of shape `[B, T]`."""
    ids = tf.convert_to_tensor(ids)
    if not ids.dtype.is_integer or ids.shape.rank not in (2, None):
        raise ValueError(
            f"`token_ids` must be integers of shape [B, T]; got {ids.dtype.name} of shape "
            f"{ids.shape}. Convert tokens with tfreps.text.TokenIndexer."
        )
    return ids


def check_frozen_words(num_frozen_words, vocabulary_size):
    """Raises a ValueError if `num_frozen_words` is negative or exceeds `vocabulary_size`."""
    check_integers(0, num_frozen_words=num_frozen_words)
    if num_frozen_words > vocabulary_size:
        raise ValueError(
            f"`num_frozen_words` must be at most `vocabulary_size`, {vocabulary_size}; got "
            f"{num_frozen_words}."
        )


def token_mask(features):
    """Returns a bool tensor `[B, T]`, True on real tokens.

    This is the feature `mask` or, if it is absent, True where a token has an id other than 0.
    """
    if "mask" in features:
        return tf.cast(features["mask"], "bool")
    if "token_ids" in features:
        return tf.not_equal(features["token_ids"], 0)
    name = "character_ids" if "character_ids" in features else "word_character_ids"
    return tf.reduce_any(tf.not_equal(features[name], 0), axis=-1)
