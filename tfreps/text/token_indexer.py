"""TokenIndexer: converts tokens to everything that a tagger or classifier reads."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence

import tensorflow as tf

from tfreps.text.char_ids import character_ids, token_character_ids
from tfreps.text.lookup_table import lookup_table
from tfreps.text.vocabulary import Vocabulary


class TokenIndexer(tf.Module):
    """Converts strings to ids inside a TensorFlow graph, in training and in exports alike.

    Works eagerly, in a `tf.function`, in `tf.data.Dataset.map` and in a SavedModel. As a
    `tf.Module` it holds the lookup table: make it an attribute of the `tf.Module` or Keras model
    that is saved, and the table with all its tokens is saved along.

    Args:
        vocabulary: `Vocabulary`, the list of its tokens, or None for no `token_ids`.
        lowercase: bool. Whether tokens are looked up in lower case, Unicode's.
        digits_to_zero: bool. Whether tokens are looked up with every decimal digit, Unicode's
            included, replaced by 0. Neither this nor `lowercase` changes the characters.
        max_characters: int, at least 3, C, the ids of a token's characters, two of them markers;
            or None for no `character_ids`.

    Call arguments:
        tokens: str tensor, shape `[B, T]`, UTF-8, padded with `""`.

    Returns:
        dict of

        - `token_ids` int32 `[B, T]`: place in the vocabulary + 1; that of `<UNK>` for other
          tokens; 0 on padding.
        - `character_ids` int32 `[B, T, C]`: see `tfreps.text.character_ids`; 0 on padding.
        - `mask` bool `[B, T]`.

    Masking: `mask` is True where the token is not `""`.

    Raises:
        ValueError: what `Vocabulary` refuses; `max_characters` below 3.

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
        max_characters: int | None = None,
    ):
        super().__init__(name="token_indexer")
        if vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            if isinstance(vocabulary, str | bytes):
                raise ValueError(
                    "`vocabulary` must be a Vocabulary or a list of tokens; got the string "
                    f"{vocabulary[:60]!r}. Read a file with Vocabulary.read."
                )
            vocabulary = Vocabulary(vocabulary)
        if max_characters is not None:
            token_character_ids("", max_characters)  # checks it
        self.vocabulary = vocabulary
        self.lowercase = lowercase
        self.digits_to_zero = digits_to_zero
        self.max_characters = max_characters
        self.table = None
        if vocabulary is not None:
            with tf.init_scope():
                self.table = lookup_table(vocabulary.tokens, vocabulary.unknown_id)

    @classmethod
    def from_sentences(
        cls,
        sentences: Iterable[Sequence[str]],
        min_count: int = 1,
        max_size: int | None = None,
        **options,
    ) -> "TokenIndexer":
        """Builds the vocabulary from sentences, after `lowercase` and the other options.

        Tokens that a vocabulary file cannot hold (white space around them, line feeds) are left
        out and so are unknown.

        Args:
            sentences: lists of tokens: those of the training text alone.
            min_count: int. Rarer tokens are left out.
            max_size: int or None. Largest size, the three special tokens included.
            **options: of the constructor.

        Returns:
            TokenIndexer.

        Example:
            >>> from tfreps.text import TokenIndexer
            >>> sentences = [["The", "cat"], ["the", "Dog"]]
            >>> indexer = TokenIndexer.from_sentences(sentences, lowercase=True)
            >>> indexer.vocabulary.tokens[2:]
            ['<UNK>', 'the', 'cat', 'dog']
        """
        counts = Counter(token for sentence in sentences for token in sentence)
        tokens = list(counts)
        looks = cls(None, **options).normalize(tf.constant(tokens, tf.string)).numpy().tolist()
        normalized: Counter[str] = Counter()
        for token, look in zip(tokens, looks, strict=True):
            normalized[look.decode("utf-8")] += counts[token]
        for token in list(normalized):
            if not token or token != token.strip() or "\n" in token or "\0" in token:
                del normalized[token]
        return cls(Vocabulary.from_counts(normalized, min_count, max_size), **options)

    def __call__(self, tokens):
        tokens = tf.convert_to_tensor(tokens, tf.string)  # [B, T]
        mask = tokens != ""
        features = {"mask": mask}
        if self.table is not None:
            ids = tf.cast(self.table.lookup(self.normalize(tokens)), tf.int32)
            features["token_ids"] = tf.where(mask, ids + 1, 0)  # [B, T]
        if self.max_characters is not None:
            features["character_ids"] = character_ids(tokens, self.max_characters)  # [B, T, C]
        return features

    def with_vocabulary_file(self, path: str | os.PathLike) -> "TokenIndexer":
        """Returns a copy whose table a SavedModel stores as a file; see `lookup_table`."""
        copy = TokenIndexer(None, self.lowercase, self.digits_to_zero, self.max_characters)
        if self.vocabulary is not None:
            copy.vocabulary = self.vocabulary
            copy.table = lookup_table(self.vocabulary.tokens, self.vocabulary.unknown_id, path)
        return copy

    def normalize(self, tokens):
        """Normalizes tokens as they are looked up: str tensor of any shape to the same shape."""
        if self.lowercase:
            tokens = tf.strings.lower(tokens, encoding="utf-8")
        if self.digits_to_zero:
            tokens = tf.strings.regex_replace(tokens, r"\p{Nd}", "0")
        return tokens

    @property
    def vocabulary_size(self) -> int | None:
        """Number of tokens in the vocabulary; `token_ids` are from 0 to this number."""
        return None if self.vocabulary is None else len(self.vocabulary)

    def get_config(self) -> dict:
        """Returns the arguments of the constructor, as JSON types."""
        return {
            "vocabulary": None if self.vocabulary is None else self.vocabulary.tokens,
            "lowercase": self.lowercase,
            "digits_to_zero": self.digits_to_zero,
            "max_characters": self.max_characters,
        }

    @classmethod
    def from_config(cls, config: dict) -> "TokenIndexer":
        """Makes an object from the config that `get_config` returns."""
        return cls(**config)
