"""TokenIndexer: converts tokens to the input features of taggers and classifiers."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from tfreps._src.files.argument_checks import check_list
from tfreps._src.text.char_ids import character_ids, token_character_ids
from tfreps._src.text.lookup_table import lookup_table
from tfreps._src.text.lower_case import lower_case
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_graph import WordCharGraph
from tfreps._src.text.word_char_ids import WordCharIndexer


class TokenIndexer(tf.Module):
    """Converter from tokens to ids in a TensorFlow graph, for training and for exported models.

    It works eagerly, in a `tf.function`, in `tf.data.Dataset.map` and in a SavedModel. It is a
    `tf.Module` that owns its lookup table. Make it an attribute of the `tf.Module` or Keras
    model that is saved, so that the table is saved too.

    Args:
        vocabulary: `Vocabulary`, list of its tokens, or None. If `None`, the result has no
            `token_ids`. Defaults to `None`.
        lowercase: bool. Whether to convert tokens to lower case before the lookup, by the rules of
            Python's `str.lower`. Does not affect `character_ids`. Defaults to `False`.
        digits_to_zero: bool. Whether to replace every Unicode decimal digit of a token with 0
            before the lookup. Does not affect `character_ids`. Defaults to `False`.
        lowercase_fallback: bool. Whether a token that is not in the vocabulary gets the id of its
            lower-case form, if this form is in it. Suits vocabularies of pre-trained word
            vectors, which often have no capitals. Defaults to `False`.
        max_characters: int, at least 3, or None. Number of character ids C per token, including
            the start and end markers. If `None`, the result has no `character_ids`. Defaults to
            `None`.
        word_characters: `WordCharIndexer` of a biLM of ELMoForManyLangs, or None. If `None`, the
            result has no `word_character_ids`. Defaults to `None`.

    Call arguments:
        tokens: str tensor, shape `[B, T]`, UTF-8, padded with `""`.

    Returns:
        dict of tensors:

        - `token_ids`: int32 `[B, T]`. The id of the token in the vocabulary plus 1; 0 on padding.
          Tokens that are not in the vocabulary have the id of `<UNK>` plus 1.
        - `character_ids`: int32 `[B, T, C]`. The ids that `tfreps.text.character_ids` returns; 0
          on padding.
        - `word_character_ids`: int32 `[B, T, 1 + C]`. The ids that `word_characters` returns; 0 on
          padding.
        - `mask`: bool `[B, T]`.

    Masking: `mask` is `True` where the token is not `""`.

    Raises:
        ValueError: If `Vocabulary` rejects the list of tokens, `vocabulary` is a string, or
            `max_characters` is less than 3.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text import TokenIndexer
        >>> indexer = TokenIndexer(["<S>", "</S>", "<UNK>", "the", "cat"], lowercase=True)
        >>> element = indexer(tf.constant([["The", "cat", "sat"], ["Cat", "", ""]]))
        >>> element["token_ids"].numpy().tolist()
        [[4, 5, 3], [5, 0, 0]]
        >>> element["mask"].numpy().sum()
        np.int64(4)
    """

    def __init__(
        self,
        vocabulary: Vocabulary | Sequence[str] | None = None,
        lowercase: bool = False,
        digits_to_zero: bool = False,
        lowercase_fallback: bool = False,
        max_characters: int | None = None,
        word_characters: WordCharIndexer | None = None,
    ):
        super().__init__(name="token_indexer")
        if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            if isinstance(vocabulary, str | bytes):
                raise ValueError(
                    "`vocabulary` must be a Vocabulary or a list of tokens; got the string "
                    f"{vocabulary[:60]!r}. To read a file, use `Vocabulary.read`."
                )
            vocabulary = Vocabulary(vocabulary)
        if max_characters is not None:
            # Raises an error if `max_characters` is too small.
            token_character_ids("", max_characters)
        self.vocabulary = vocabulary
        self.lowercase = lowercase
        self.digits_to_zero = digits_to_zero
        self.lowercase_fallback = lowercase_fallback
        self.max_characters = max_characters
        self.word_characters = word_characters
        self._word_graph = None if word_characters is None else WordCharGraph(word_characters)
        self.table: Any = None  # a `tf.lookup.StaticHashTable` if there is a vocabulary
        if vocabulary is not None:
            with tf.init_scope():
                self.table = lookup_table(vocabulary.tokens, vocabulary.unknown_id)

    @classmethod
    def from_sentences(
        cls,
        sentences: Iterable[Sequence[str]],
        min_count: int = 1,
        max_size: int | None = None,
        **options: Any,
    ) -> "TokenIndexer":
        """Creates an indexer whose vocabulary is built from sentences.

        Tokens are counted after they are normalized (`lowercase` and `digits_to_zero`). Tokens
        that a vocabulary file cannot represent, such as those that contain a line feed, are left
        out of the vocabulary and are therefore unknown.

        Args:
            sentences: iterable of lists of str. Tokenized sentences. Use only the training text.
            min_count: int. Minimum count for a token to be included in the vocabulary. Defaults
                to 1.
            max_size: int or None. Maximum size of the vocabulary, including the three special
                tokens. If `None`, the size is not limited. Defaults to `None`.
            **options: Arguments of the constructor other than `vocabulary`.

        Example:
            >>> from tfreps.text import TokenIndexer
            >>> sentences = [["The", "cat"], ["the", "Dog"]]
            >>> indexer = TokenIndexer.from_sentences(sentences, lowercase=True)
            >>> indexer.vocabulary.tokens[2:]
            ['<UNK>', 'the', 'cat', 'dog']
        """
        counts: Counter[str] = Counter()
        for sentence in sentences:
            check_list("Each of `sentences`", sentence, "tokens")
            counts.update(sentence)
        tokens = list(counts)
        looks = cls(None, **options).normalize(tf.constant(tokens, tf.string)).numpy().tolist()
        normalized: Counter[str] = Counter()
        for token, look in zip(tokens, looks, strict=True):
            normalized[look.decode("utf-8")] += counts[token]
        for token in list(normalized):
            if not token or token != token.strip() or "\n" in token or "\0" in token:
                del normalized[token]
        return cls(Vocabulary.from_counts(normalized, min_count, max_size), **options)

    def __call__(self, tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        tokens = _as_strings(tokens)  # [B, T]
        mask = tokens != ""
        features = {"mask": mask}
        if self.table is not None:
            features["token_ids"] = tf.where(mask, self._ids(tokens) + 1, 0)  # [B, T]
        if self.max_characters is not None:
            features["character_ids"] = character_ids(tokens, self.max_characters)  # [B, T, C]
        if self._word_graph is not None:
            features["word_character_ids"] = self._word_graph(tokens)  # [B, T, 1 + C]
        return features

    def with_vocabulary_file(self, path: str | os.PathLike[str]) -> "TokenIndexer":
        """Returns a copy of the indexer whose table reads `path`, a file that a SavedModel copies.

        The characters and words of `word_characters` are stored in files in the same folder.
        """
        copy = TokenIndexer.from_config({**self.get_config(), "vocabulary": None})
        if copy.word_characters is not None:
            copy._word_graph = WordCharGraph(copy.word_characters, os.path.dirname(path))
        if self.vocabulary is not None:
            copy.vocabulary = self.vocabulary
            copy.table = lookup_table(self.vocabulary.tokens, self.vocabulary.unknown_id, path)
        return copy

    def normalize(self, tokens: tf.Tensor) -> tf.Tensor:
        """Applies `lowercase` and `digits_to_zero`; returns a str tensor of the same shape."""
        if self.lowercase:
            tokens = lower_case(tokens)
        if self.digits_to_zero:
            tokens = tf.strings.regex_replace(tokens, r"\p{Nd}", "0")
        return tokens

    def _ids(self, tokens: tf.Tensor) -> tf.Tensor:
        """Returns the vocabulary ids of a str tensor of tokens: int32, of the same shape."""
        tokens = self.normalize(tokens)
        ids = self.table.lookup(tokens)
        if self.vocabulary is not None and self.lowercase_fallback and not self.lowercase:
            lower = self.table.lookup(lower_case(tokens))
            ids = tf.where(ids == self.vocabulary.unknown_id, lower, ids)
        return tf.cast(ids, tf.int32)

    @property
    def vocabulary_size(self) -> int | None:
        """Number of tokens in the vocabulary (the largest token id), or `None` without one."""
        return None if self.vocabulary is None else len(self.vocabulary)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a JSON-serializable dict."""
        return {
            "vocabulary": None if self.vocabulary is None else self.vocabulary.tokens,
            "lowercase": self.lowercase,
            "digits_to_zero": self.digits_to_zero,
            "lowercase_fallback": self.lowercase_fallback,
            "max_characters": self.max_characters,
            "word_characters": None
            if self.word_characters is None
            else self.word_characters.get_config(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "TokenIndexer":
        """Creates an indexer from the return value of `get_config`."""
        words = config.get("word_characters")
        if words is not None:
            config = {**config, "word_characters": WordCharIndexer(**words)}
        return cls(**config)


def _as_strings(tokens):
    """Returns tokens as a str tensor; raises a ValueError for lists of different lengths."""
    try:
        return tf.convert_to_tensor(tokens, tf.string)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"`tokens` must be a str tensor [B, T], padded with the empty string; got {tokens!r}. "
            "Pad lists of tokens with `tf.ragged.constant(lists).to_tensor()`."
        ) from error
