"""lower_case: converts texts to lower case in a TensorFlow graph, in the same way in any locale."""

import tensorflow as tf

# Capital letters that `tf.strings.lower` converts differently in the locales of Turkish and
# Azerbaijani (İ) and of Lithuanian (the others). I and J also depend on the locale, unless
# `tf.strings.lower` is called without `encoding="utf-8"`.
_LETTERS_OF_LOCALES = "İĮÌÍĨ"


def lower_case(texts: tf.Tensor) -> tf.Tensor:
    """Converts a str tensor to lower case by the rules of Python's `str.lower`, in any locale.

    The function uses Unicode 13, and Python uses a later version. Therefore, 40 capital letters
    that Unicode 14 added (such as those of the scripts Vithkuqi and Glagolitic) do not change.
    Bytes that are not UTF-8 become U+FFFD.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps._src.text.lower_case import lower_case
        >>> [text.decode() for text in lower_case(tf.constant(["INDIA", "ΟΔΟΣ"])).numpy()]
        ['india', 'οδος']
    """
    texts = tf.strings.lower(texts)  # converts only A to Z, in any locale
    for letter in _LETTERS_OF_LOCALES:
        texts = tf.strings.regex_replace(texts, letter, letter.lower())
    return tf.strings.lower(texts, encoding="utf-8")
