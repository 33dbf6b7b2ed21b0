"""token_offsets: the start and end of each token in its text, in Unicode code points."""

from collections.abc import Sequence

import tensorflow as tf

from tfreps._src.text.tokenizers import Method, WordSplitter, as_lists, blocks, tokenize, words_at

# Code points for which str.isspace is true, at which texts are split.
SPACES = [code for code in range(0x3001) if chr(code).isspace()]


def token_offsets(
    texts: tf.Tensor, tokens: tf.Tensor, method: Method | WordSplitter
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the start and the end (exclusive) of each token in its text, int32 `[N, T]`.

    `texts` is str `[N]`. `tokens`, str `[N, T]`, padded with `""`, is the result of
    `tokenize(texts, method)`, or its first T columns. Offsets count Unicode code points. The
    offsets of padding are 0.

    Every tokenizer copies the characters of a text to the tokens in order, and drops only white
    space and, in the case of BERT, its `dropped_characters` and accents at the start of words;
    "all_characters" drops nothing, and replaces white space.
    Therefore, the n-th remaining character of the text is the n-th character of the tokens, and
    counting characters gives the offsets. Accents inside a token directly follow, apart from
    dropped characters, the character before them.
    """
    anywhere, leading = ((), ()) if isinstance(method, str) else method.dropped_characters
    codes = tf.strings.unicode_decode(texts, "UTF-8")  # [N, (C)]
    text_starts = tf.cast(codes.row_starts(), "int32")  # [N]
    is_dropped = _is_among(codes.values, anywhere)
    if method != "all_characters":
        is_dropped = tf.logical_or(is_dropped, _is_space(codes.values))
    kept = _positions_without(is_dropped)  # [kept], positions in all texts
    # [base], positions in `kept`
    base = _positions_without(_is_among(tf.gather(codes.values, kept), leading))
    # [N], number of base characters before each text.
    ranks = tf.searchsorted(tf.gather(kept, base), text_starts)
    shape = tf.shape(tokens)
    characters = tf.strings.unicode_decode(tf.reshape(tokens, [-1]), "UTF-8")  # [N * T, (C)]
    accents = characters.with_values(tf.cast(_is_among(characters.values, leading), "int32"))
    lengths = tf.reshape(tf.cast(characters.row_lengths(), "int32"), shape)  # [N, T]
    counts = lengths - tf.reshape(tf.reduce_sum(accents, 1), shape)  # [N, T]
    ranks = ranks[:, None] + tf.cumsum(counts, 1, exclusive=True)
    first = _at(base, ranks)  # [N, T], positions in `kept`
    starts = _at(kept, first) - text_starts[:, None]
    ends = _at(kept, first + lengths - 1) + 1 - text_starts[:, None]
    return tf.where(lengths > 0, starts, 0), tf.where(lengths > 0, ends, 0)


def tokenize_with_offsets(
    texts: Sequence[str], method: Method | WordSplitter = "spaces"
) -> tuple[list[list[str]], list[list[tuple[int, int]]]]:
    """Returns the tokens of each text, and the `(start, end)` of each token in the text.

    Example:
        >>> from tfreps._src.text.token_offsets import tokenize_with_offsets
        >>> tokenize_with_offsets(["It's\\u00a05."], "words")[1]
        [[(0, 2), (2, 3), (3, 4), (5, 6), (6, 7)]]
    """
    if word_offsets := getattr(method, "word_offsets", None):  # of a tokenizer without a graph
        offsets = word_offsets(texts)
        return words_at(texts, offsets), offsets
    all_tokens, all_offsets = [], []
    strings: dict[bytes, str] = {}
    for block in blocks(texts):
        tokens = tokenize(tf.constant(block), method)  # [N, T]
        starts, ends = token_offsets(tf.constant(block), tokens, method)
        found = as_lists(tokens, strings)
        rows = zip(found, starts.numpy().tolist(), ends.numpy().tolist(), strict=True)
        all_offsets += [list(zip(s[: len(t)], e, strict=False)) for t, s, e in rows]
        all_tokens += found
    return all_tokens, all_offsets


def _is_space(codes: tf.Tensor) -> tf.Tensor:
    return _is_among(codes, [(code, code) for code in SPACES])


def _is_among(codes: tf.Tensor, ranges: Sequence[tuple[int, int]]) -> tf.Tensor:
    """Returns a bool tensor, True for code points in the ranges.

    A range contains its last code point. The ranges do not overlap.
    """
    if not ranges:
        return tf.zeros_like(codes, "bool")
    borders = [border for first, last in sorted(ranges) for border in (first, last + 1)]
    return tf.searchsorted(tf.constant(borders), codes, side="right") % 2 == 1  # pyright: ignore[reportOperatorIssue]


def _positions_without(flags: tf.Tensor) -> tf.Tensor:
    """Returns the positions at which `flags` is False, int32 `[number of positions]`."""
    return tf.cast(tf.where(tf.logical_not(flags))[:, 0], "int32")


def _at(values: tf.Tensor, positions: tf.Tensor) -> tf.Tensor:
    """Returns the values at the given positions; positions beyond the end (padding) yield 0."""
    values = tf.concat([values, [0]], 0)
    return tf.gather(values, tf.clip_by_value(positions, 0, tf.size(values) - 1))
