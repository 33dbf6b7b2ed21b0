"""Converts tokens to ELMo's character ids: UTF-8 bytes between two markers."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfreps._src.files.argument_checks import check_list

if TYPE_CHECKING:
    import tensorflow as tf

# Every id is 1 greater than in bilm-tf's training arrays (bytes 0-255, then 256 to 260), because
# 0 means "no token" here, as in the prediction code of bilm-tf and AllenNLP.
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

    The ids are: start of word, at most `max_characters - 2` UTF-8 bytes, end of word, padding.
    Longer tokens are truncated to this number of bytes, which may split a character. Lone
    surrogates are dropped, and an empty token has no bytes. The tokens `<S>` and `</S>` yield the
    ids of the sentence boundaries.

    Args:
        token: str. The token.
        max_characters: int, at least 3. Number of ids C. Defaults to 50, as in all published
            models.

    Returns:
        int32 NumPy array, shape `[C]`. No id is 0.

    Reference: bilm-tf, `UnicodeCharsVocabulary`, whose ids are 1 less.

    Example:
        >>> from tfreps.text import token_character_ids
        >>> token_character_ids("dog", max_characters=7).tolist()
        [259, 101, 112, 104, 260, 261, 261]
    """
    return token_rows([token], max_characters)[0]


def token_rows(tokens: Sequence[str], max_characters: int = 50) -> np.ndarray:
    """Returns the character ids of N tokens, int32 `[N, C]`, one row per token.

    `token_character_ids` describes the ids of a token.
    """
    check_list("`tokens`", tokens, "tokens")
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
    """Returns the character ids of the start of a sentence, int32 `[max_characters]`.

    Example:
        >>> from tfreps.text import sentence_start_ids
        >>> sentence_start_ids(max_characters=5).tolist()
        [259, 257, 260, 261, 261]
    """
    return _boundary(BEGIN_SENTENCE_CHARACTER, max_characters)


def sentence_end_ids(max_characters: int = 50) -> np.ndarray:
    """Returns the character ids of the end of a sentence, int32 `[max_characters]`.

    Example:
        >>> from tfreps.text import sentence_end_ids
        >>> sentence_end_ids(max_characters=5).tolist()
        [259, 258, 260, 261, 261]
    """
    return _boundary(END_SENTENCE_CHARACTER, max_characters)


def batch_to_ids(sentences: Iterable[Sequence[str]], max_characters: int = 50) -> np.ndarray:
    """Converts a batch of tokenized sentences to character ids.

    The result equals that of AllenNLP's function of the same name. Sentence boundaries are not
    added; `BiLM` and `Elmo` add them.

    Args:
        sentences: iterable of lists of str. The tokens of each sentence. Lengths may differ and
            may be 0.
        max_characters: int, at least 3. Number of ids C per token. Defaults to 50, as in all
            published models.

    Returns:
        int32 NumPy array, shape `[B, T, C]`, where T is the length of the longest sentence.
        Shorter sentences are padded on the right with zeros.

    Masking: a token is real if any of its ids is greater than 0.

    Raises:
        ValueError: If a sentence is a str or bytes instead of a list of str, a token is not a
            str, or `max_characters` is less than 3.

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


def character_ids(tokens: "tf.Tensor | Sequence[str]", max_characters: int = 50) -> "tf.Tensor":
    """Converts a string tensor to character ids in a TensorFlow graph.

    The result equals that of `token_character_ids` for every token, except that an empty string
    yields zeros, because string tensors are padded with empty strings. Bytes that are not valid
    UTF-8 are converted like all others. The function uses only core TensorFlow operations, so that
    an exported model can take strings as input.

    Args:
        tokens: str tensor of any shape, UTF-8.
        max_characters: int, at least 3. Number of ids C per token. Defaults to 50.

    Returns:
        int32 tensor, shape `tokens.shape + [C]`.

    Masking: all ids of a token are 0 if and only if its string is empty.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text import character_ids
        >>> character_ids(tf.constant(["dog", ""]), max_characters=6).numpy().tolist()
        [[259, 101, 112, 104, 260, 261], [0, 0, 0, 0, 0, 0]]
    """
    import tensorflow as tf  # imported here to keep `import tfreps.text` fast

    room = _room(max_characters)
    tokens = tf.convert_to_tensor(tokens, tf.string)
    lengths = tf.strings.length(tokens)[..., None]  # pyright: ignore[reportArgumentType]  # [..., 1]
    # Decodes one byte more than fits, so that the result has a column for the end of the word.
    padded = tf.io.decode_raw(tokens, tf.uint8, fixed_length=room + 1)  # [..., C - 1]
    position = tf.range(room + 1)
    ends = tf.minimum(lengths, room)
    after_bytes = tf.where(position == ends, END_WORD_CHARACTER, PADDING_CHARACTER)
    ids = tf.where(position < ends, tf.cast(padded, tf.int32) + _SHIFT, after_bytes)
    begin = tf.fill(tf.shape(lengths), BEGIN_WORD_CHARACTER)  # [..., 1]
    ids = tf.concat([begin, ids], axis=-1)  # [..., C]
    each = tokens[..., None]  # pyright: ignore[reportArgumentType]  # [..., 1]
    ids = tf.where(each == SENTENCE_START, sentence_start_ids(max_characters), ids)
    ids = tf.where(each == SENTENCE_END, sentence_end_ids(max_characters), ids)
    return tf.where(lengths == 0, 0, ids)


def add_boundaries(
    ids: "tf.Tensor",
    lengths: "tf.Tensor",
    start: "tf.Tensor | np.ndarray | int",
    end: "tf.Tensor | np.ndarray | int",
) -> tuple["tf.Tensor", "tf.Tensor"]:
    """Adds `start` and `end` to each sentence; returns the ids `[B, T+2, ...]` and their mask.

    `ids` are int32 `[B, T]` or `[B, T, C]`, and 0 after the first `lengths` tokens of each
    sentence. `lengths` are int32 `[B]`.
    """
    import tensorflow as tf

    ids = tf.pad(ids, [[0, 0], [1, 1]] + [[0, 0]] * (ids.shape.rank - 2))
    positions = tf.range(tf.shape(ids)[1])[None]  # [1, T+2]
    is_start, is_end = positions == 0, positions == lengths[:, None] + 1
    if ids.shape.rank == 3:
        is_start, is_end = tf.expand_dims(is_start, -1), tf.expand_dims(is_end, -1)
    ids = tf.where(is_start, start, tf.where(is_end, end, ids))
    return ids, positions < lengths[:, None] + 2


def _boundary(character: int, max_characters: int) -> np.ndarray:
    _room(max_characters)
    row = np.full([max_characters], PADDING_CHARACTER, np.int32)
    row[:3] = BEGIN_WORD_CHARACTER, character, END_WORD_CHARACTER
    return row


def _room(max_characters: int) -> int:
    """Returns the maximum number of bytes of a token: `max_characters` without the two markers."""
    if max_characters < 3:
        raise ValueError(
            f"`max_characters` must be at least 3 (start of word, one byte, end of word); "
            f"got {max_characters}."
        )
    return max_characters - 2


def _check_sentence(sentence: Sequence[str], index: int) -> None:
    if isinstance(sentence, str | bytes):
        raise ValueError(
            f"`sentences` must contain lists of tokens; `sentences[{index}]` is the string "
            f"{sentence[:40]!r}. Split the string first, for example with "
            "`.split()`."
        )
    for position, token in enumerate(sentence):
        if not isinstance(token, str):
            raise ValueError(
                f"`sentences` must contain lists of str; `sentences[{index}][{position}]` is "
                f"{token!r} of type {type(token).__name__}."
            )
