"""lower_case: converts texts to lower case in a TensorFlow graph, in the same way in any locale."""

import tensorflow as tf

# `tf.strings.lower` follows the locale of the process for capital letters with a dot, or that get
# one before an accent: in Turkish and Azerbaijani I and İ, in Lithuanian I, J and these others.
_LETTERS_OF_LOCALES = "İĮÌÍĨ"


def lower_case(texts: tf.Tensor) -> tf.Tensor:
    """Returns a str tensor in lower case, as `str.lower` does, whatever the locale is.

    The function knows the letters of Unicode 13, and Python those of a later version: 40 capital
    letters that Unicode 14 added (such as those of the scripts Vithkuqi and Glagolitic) do not
    change. Bytes that are not UTF-8 become U+FFFD.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps._src.text.lower_case import lower_case
        >>> [text.decode() for text in lower_case(tf.constant(["INDIA", "ΟΔΟΣ"])).numpy()]
        ['india', 'οδος']
    """
    texts = tf.strings.lower(texts)  # A to Z
    for letter in _LETTERS_OF_LOCALES:
        texts = tf.strings.regex_replace(texts, letter, letter.lower())
    return tf.strings.lower(texts, encoding="utf-8")
