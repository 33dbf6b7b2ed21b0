"""Sentences to tokens inside a TensorFlow graph, split as `str.split` does it."""

# RE2: what str.split takes for white space beside ASCII's space, \t, \n, \v, \f and \r, at which
# tf.strings.split splits by itself.
_OTHER_WHITE_SPACE = r"[\p{Z}\x{85}\x1c-\x1f]"


def split_tokens(sentences):
    """Splits sentences at white space, Unicode's included, as `str.split()` does.

    Made of core TensorFlow operations only, so that an exported model splits raw strings as the
    training text was split.

    Args:
        sentences: str tensor, shape `[N]`, UTF-8.

    Returns:
        str tensor, shape `[N, T]`, T being the longest sentence.

    Masking: shorter sentences are padded on the right with `""`, which is never a token.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text.splitting import split_tokens
        >>> split_tokens(tf.constant(["a\\u3000dog barked", "cat"])).numpy().tolist()
        [[b'a', b'dog', b'barked'], [b'cat', b'', b'']]
    """
    import tensorflow as tf  # here, so that importing tfreps.text stays cheap

    plain = tf.strings.regex_replace(sentences, _OTHER_WHITE_SPACE, " ")
    return tf.strings.split(plain).to_tensor("")  # [N, T]
