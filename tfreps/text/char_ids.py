"""Converts tokens to character ids, their UTF-8 bytes between two markers, as ELMo reads them."""

from collections.abc import Iterable, Sequence

import numpy as np

# Every id is one more than in bilm-tf's training arrays (bytes 0-255, then 256 to 260), because
# 0 means "no token" here, as in bilm-tf's and AllenNLP's prediction code.
_SHIFT = 1
BEGIN_SENTENCE_CHARACTER = 256 + _SHIFT
END_SENTENCE_CHARACTER = 257 + _SHIFT
BEGIN_WORD_CHARACTER = 258 + _SHIFT
END_WORD_CHARACTER = 259 + _SHIFT
PADDING_CHARACTER = 260 + _SHIFT
NUM_CHARACTER_IDS = 261 + _SHIFT  # rows of an embedding table; row 0 is "no token"

SENTENCE_START = "<S>"
SENTENCE_END = "</S>"


def token_character_ids(token: str, max_characters: int = 50) -> np.ndarray:
    """Returns the character ids of one token.

    begin of word, at most `max_characters - 2` bytes of UTF-8, end of word, padding. The cut is
    on bytes and may split a character. Lone surrogates vanish; an empty token has no bytes. The
    tokens `<S>` and `</S>` give the rows of the sentence boundaries.

    Args:
        token: str.
        max_characters: int, at least 3. Length of the row.

    Returns:
        int32 NumPy array, shape `[C]`; no id is 0.

    Reference: bilm-tf, `UnicodeCharsVocabulary` (ids there are one less).

    Example:
        >>> from tfreps.text import token_character_ids
        >>> token_character_ids("dog", max_characters=7).tolist()
        [259, 101, 112, 104, 260, 261, 261]
    """
    return token_rows([token], max_characters)[0]


def token_rows(tokens: Sequence[str], max_characters: int = 50) -> np.ndarray:
    """Returns the character ids of many tokens, int32 `[N, C]`; see `token_character_ids`."""
    room = _room(max_characters)
    encoded = [token.encode("utf-8", errors="ignore") for token in tokens]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))[:, None]  # [N, 1]
    characters = np.array(encoded, f"S{room}").view(np.uint8).reshape(-1, room)  # [N, C - 2]
    rows = np.full([len(encoded), max_characters], PADDING_CHARACTER, np.int32)
    rows[:, 0] = BEGIN_WORD_CHARACTER
    position = np.arange(room)
    rows[:, 1:-1] = np.where(position < lengths, characters + np.int32(_SHIFT), PADDING_CHARACTER)
    ends = np.minimum(lengths, room) + 1
    np.put_along_axis(rows, ends, END_WORD_CHARACTER, axis=1)
    for index, token in enumerate(tokens):
        if token == SENTENCE_START:
            rows[index] = sentence_start_ids(max_characters)
        elif token == SENTENCE_END:
            rows[index] = sentence_end_ids(max_characters)
    return rows


def sentence_start_ids(max_characters: int = 50) -> np.ndarray:
    """Returns the character ids of the start of a sentence, int32 `[C]`."""
    return _boundary(BEGIN_SENTENCE_CHARACTER, max_characters)


def sentence_end_ids(max_characters: int = 50) -> np.ndarray:
    """Returns the character ids of the end of a sentence, int32 `[C]`."""
    return _boundary(END_SENTENCE_CHARACTER, max_characters)


def batch_to_ids(sentences: Iterable[Sequence[str]], max_characters: int = 50) -> np.ndarray:
    """Converts a batch of tokenized sentences to character ids, as AllenNLP's function does.

    Sentence boundaries are not added: `BiLM` and `Elmo` do that themselves.

    Args:
        sentences: sentences, each a list of tokens; lengths may differ and may be 0.
        max_characters: int, at least 3. Characters per token, 50 in all published models.

    Returns:
        int32 NumPy array, shape `[B, T, C]`, T being the longest sentence; shorter ones are
        padded on the right with zeros.

    Masking: a token is real where any of its ids is above 0.

    Raises:
        ValueError: a sentence is a string instead of a list of strings, or a token is no string.

    Example:
        >>> from tfreps.text import batch_to_ids
        >>> ids = batch_to_ids([["I", "have", "a", "dog"], ["That"]])
        >>> ids.shape
        (2, 4, 50)
        >>> (ids > 0).any(axis=-1).sum(axis=-1).tolist()
        [4, 1]
    """
    sentences = list(sentences)
    for index, sentence in enumerate(sentences):
        _check_sentence(sentence, index)
    lengths = np.array([len(sentence) for sentence in sentences], np.int64)  # [B]
    longest = int(lengths.max(initial=0))
    ids = np.zeros([len(sentences), longest, max_characters], np.int32)  # [B, T, C]
    tokens = [token for sentence in sentences for token in sentence]
    ids[np.arange(longest) < lengths[:, None]] = token_rows(tokens, max_characters)
    return ids


def character_ids(tokens, max_characters: int = 50):
    """Converts a string tensor to character ids, inside a TensorFlow graph.

    Equal to `token_character_ids` on every token, made of core TensorFlow operations only, so
    that an exported model can read strings. The one difference: an empty string means "no
    token" here and gives zeros, because string tensors are padded with it. The bytes of a
    string are taken as they are.

    Args:
        tokens: string tensor of any shape, UTF-8.
        max_characters: int, at least 3.

    Returns:
        int32 tensor, shape `tokens.shape + [C]`.

    Masking: the ids of a token are all 0 exactly where its string is empty.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text import character_ids
        >>> character_ids(tf.constant(["dog", ""]), max_characters=6).numpy().tolist()
        [[259, 101, 112, 104, 260, 261], [0, 0, 0, 0, 0, 0]]
    """
    import tensorflow as tf  # here, so that importing tfreps.text stays cheap

    room = _room(max_characters)
    tokens = tf.convert_to_tensor(tokens, tf.string)
    lengths = tf.strings.length(tokens)[..., None]  # [..., 1]
    # One byte more than fits, cut off again at once: the place of an end-of-word marker.
    padded = tf.io.decode_raw(tokens, tf.uint8, fixed_length=room + 1)  # [..., C - 1]
    position = tf.range(room + 1)
    ends = tf.minimum(lengths, room)
    after_bytes = tf.where(position == ends, END_WORD_CHARACTER, PADDING_CHARACTER)
    ids = tf.where(position < ends, tf.cast(padded, tf.int32) + _SHIFT, after_bytes)
    begin = tf.fill(tf.shape(lengths), BEGIN_WORD_CHARACTER)  # [..., 1]
    ids = tf.concat([begin, ids], axis=-1)  # [..., C]
    each = tokens[..., None]  # [..., 1]
    ids = tf.where(each == SENTENCE_START, sentence_start_ids(max_characters), ids)
    ids = tf.where(each == SENTENCE_END, sentence_end_ids(max_characters), ids)
    return tf.where(lengths == 0, 0, ids)


def _boundary(character: int, max_characters: int) -> np.ndarray:
    _room(max_characters)
    row = np.full([max_characters], PADDING_CHARACTER, np.int32)
    row[:3] = BEGIN_WORD_CHARACTER, character, END_WORD_CHARACTER
    return row


def _room(max_characters: int) -> int:
    """How many bytes of a token fit between its two markers."""
    if max_characters < 3:
        raise ValueError(
            f"`max_characters` must be at least 3 (begin of word, one byte, end of word); "
            f"got {max_characters}."
        )
    return max_characters - 2


def _check_sentence(sentence: Sequence[str], index: int) -> None:
    if isinstance(sentence, str | bytes):
        raise ValueError(
            f"Every sentence must be a list of tokens; sentence {index} is the string "
            f"{sentence[:40]!r}. Split it first, for example with `.split()`."
        )
    for position, token in enumerate(sentence):
        if not isinstance(token, str):
            raise ValueError(
                f"Every token must be a str; token {position} of sentence {index} is "
                f"{token!r} of type {type(token).__name__}."
            )
