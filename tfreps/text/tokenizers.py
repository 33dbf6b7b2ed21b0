"""Splits raw texts into tokens in a TensorFlow graph: at spaces, by character or word, as BERT."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

# RE2: what str.split takes for white space beside ASCII's space, \t, \n, \v, \f and \r, at which
# tf.strings.split splits by itself.
_OTHER_WHITE_SPACE = r"[\p{Z}\x{85}\x1c-\x1f]"


def split_tokens(sentences):
    """Splits sentences at white space, as `str.split()` does.

    Made of core TensorFlow operations only, so that an exported model splits raw strings as the
    training text was split.

    Args:
        sentences: str tensor, shape `[N]`, UTF-8.

    Returns:
        str tensor, shape `[N, T]`, T being the longest sentence.

    Masking: shorter sentences are padded on the right with `""`, which is never a token.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text.tokenizers import split_tokens
        >>> split_tokens(tf.constant(["a\\u3000dog barked", "cat"])).numpy().tolist()
        [[b'a', b'dog', b'barked'], [b'cat', b'', b'']]
    """
    import tensorflow as tf  # here, so that importing tfreps.text stays cheap

    plain = tf.strings.regex_replace(sentences, _OTHER_WHITE_SPACE, " ")
    return tf.strings.split(plain).to_tensor("")  # [N, T]


# In RE2's words. White space is what str.isspace calls so.
_WHITE_SPACE = r"\s\v\p{Z}\x{85}\x1c-\x1f"


# Patterns and what becomes of them, one after the other; tokens are then between white space.
_RULES = {
    "spaces": (),
    "characters": ((f"([^{_WHITE_SPACE}])", r"\1 "),),
    "words": ((rf"([\pL\pN\pM_]+|[^{_WHITE_SPACE}])", r"\1 "),),
}


TOKENIZERS = tuple(_RULES)


_TEXTS_AT_A_TIME = 256


_PADDED_CHARACTERS = 1 << 22  # that these have, each counted as long as the longest


def tokenize(texts, how="spaces"):
    """Splits texts into tokens.

    - "spaces": at white space, Unicode's included, as `str.split()` does.
    - "characters": every Unicode character but white space is a token.
    - "words": runs of letters, digits, marks and underscores are tokens, and so is every other
      character but white space: `don't!` is `don ' t !`.
    - a tokenizer of BERT: the words that it cuts into pieces, see its `word_rules`.

    Made of core TensorFlow operations only, so that an exported model cuts raw texts as the
    training text was cut. Letters, digits and marks are those of Unicode 15. A byte that is not
    UTF-8 is kept, and stays with what follows it.

    Args:
        texts: str tensor, shape `[N]`, UTF-8.
        how: "spaces", "characters", "words", or a `WordPieceTokenizer` or `CharacterTokenizer`.

    Returns:
        str tensor, shape `[N, T]`, T being the text with the most tokens.

    Masking: shorter texts are padded on the right with `""`, which is never a token.

    Raises:
        ValueError: `how` is none of these.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text import tokenize
        >>> tokenize(tf.constant(["It's 5.", "ok"]), "words").numpy().tolist()
        [[b'It', b"'", b's', b'5', b'.'], [b'ok', b'', b'', b'', b'']]
    """
    import tensorflow as tf  # here, so that importing tfreps.text stays cheap

    check_tokenizer(how)
    for pattern, new in _RULES[how] if isinstance(how, str) else how.word_rules:
        texts = tf.strings.regex_replace(texts, pattern, new)
    return split_tokens(texts)  # [N, T]


def tokenize_texts(texts: Sequence[str], how="spaces") -> list[list[str]]:
    """Splits many texts into tokens with `tokenize`, and returns Python lists.

    Args:
        texts: strings.
        how: as of `tokenize`.

    Returns:
        the tokens of each text; none for a text of white space.

    Raises:
        ValueError: `how` is none of these, or `texts` is a single string.

    Example:
        >>> from tfreps.text import tokenize_texts
        >>> tokenize_texts(["a b", "", "好 的"], "characters")
        [['a', 'b'], [], ['好', '的']]
    """
    import tensorflow as tf

    check_tokenizer(how)
    if isinstance(texts, str | bytes):
        raise ValueError(f"`texts` must be a list of strings; got the string {texts[:40]!r}.")
    texts = list(texts)
    tokens = []
    strings: dict[bytes, str] = {}  # equal tokens share one string
    for block in blocks(texts):
        rows = tokenize(tf.constant(block), how)  # [N, T]
        real = rows != ""
        flat = iter(rows[real].numpy().tolist())
        for length in tf.math.count_nonzero(real, axis=1).numpy().tolist():
            own = itertools.islice(flat, length)
            tokens.append([strings.get(t) or strings.setdefault(t, t.decode()) for t in own])
    return tokens


def blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Groups consecutive texts to tokenize together; a long text is alone, as all are padded to it.

    Example:
        >>> from tfreps.text.tokenizers import blocks
        >>> [len(block) for block in blocks(["a"] * 300 + ["b" * 5_000_000, "c"])]
        [256, 44, 1, 1]
    """
    block: list[str] = []
    longest = 0
    for text in texts:
        longest = max(longest, len(text))
        is_full = (len(block) + 1) * longest > _PADDED_CHARACTERS
        if block and (is_full or len(block) == _TEXTS_AT_A_TIME):
            yield block
            block = []
            longest = len(text)
        block.append(text)
    if block:
        yield block


def check_tokenizer(how) -> None:
    """Raises a ValueError if `how` is not one of `TOKENIZERS`."""
    if how not in TOKENIZERS if isinstance(how, str) else not hasattr(how, "word_rules"):
        raise ValueError(f"A tokenizer must be one of {', '.join(TOKENIZERS)}; got {how!r}.")
