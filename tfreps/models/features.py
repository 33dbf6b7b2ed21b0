"""Features: the dict that an encoder reads; what is missing in it, and which tokens are real."""

import tensorflow as tf


def check_features(features, needed, reader):
    """Raises a ValueError that names what `reader` needs and does not get."""
    if not isinstance(features, dict):
        raise ValueError(
            f"`{reader}` reads a dict with {', '.join(needed)}, as from tfreps.text.TokenIndexer; "
            f"got {type(features).__name__}."
        )
    missing = [name for name in dict.fromkeys(needed) if name not in features]
    if missing:
        raise ValueError(
            f"`{reader}` reads the features {', '.join(dict.fromkeys(needed))}; {missing[0]!r} is "
            f"missing among {sorted(features)}. Make them with tfreps.text.TokenIndexer "
            "(`character_ids` with its `max_characters`), `vectors` with `tfreps embed`."
        )


def token_mask(features):
    """True on real tokens, bool `[B, T]`: the mask that was given, or what has an id."""
    if "mask" in features:
        return tf.cast(features["mask"], "bool")
    if "token_ids" in features:
        return tf.not_equal(features["token_ids"], 0)
    return tf.reduce_any(tf.not_equal(features["character_ids"], 0), axis=-1)
