"""Features: checks the dict that an encoder reads and computes its token mask."""

import tensorflow as tf


def check_features(features, needed, reader):
    """Raises a ValueError that names the first feature that `reader` needs and did not get."""
    if not isinstance(features, dict):
        raise ValueError(
            f"`{reader}` reads a dict with {', '.join(needed)}, such as the output "
            f"of tfreps.text.TokenIndexer; got {type(features).__name__}."
        )
    missing = [name for name in dict.fromkeys(needed) if name not in features]
    if missing:
        raise ValueError(
            f"`{reader}` reads the features {', '.join(dict.fromkeys(needed))}; {missing[0]!r} is "
            f"missing from {sorted(features)}. Create them with tfreps.text.TokenIndexer "
            "(`character_ids` with its `max_characters`), and `vectors` with `tfreps embed`."
        )


def token_mask(features):
    """Returns the given mask, bool `[B, T]`, or else True on tokens with a nonzero id."""
    if "mask" in features:
        return tf.cast(features["mask"], "bool")
    if "token_ids" in features:
        return tf.not_equal(features["token_ids"], 0)
    return tf.reduce_any(tf.not_equal(features["character_ids"], 0), axis=-1)
