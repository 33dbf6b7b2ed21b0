"""WordCharCNNEncoder: encodes each token from its word vector and a character CNN."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.layers.char_cnn import CharCNNEncoder
from tfreps._src.layers.ops.annotations import Activation, Filters, Shape
from tfreps._src.layers.ops.configurable import Configurable, shared_options
from tfreps._src.layers.ops.matmul import matmul
from tfreps._src.layers.ops.table_rows import distinct_rows, table_rows


@keras.saving.register_keras_serializable(package="tfreps")
class WordCharCNNEncoder(Configurable, keras.layers.Layer):
    """Token encoder of ELMoForManyLangs: one projection of a word vector and a character CNN.

        token = [words[id], CharCNN(characters)] @ projection_kernel + projection_bias

    The character CNN is a `CharCNNEncoder` without a projection. Words or characters may be absent.
    Each distinct token of a batch is encoded once.

    Args:
        filters: list of `(width, count)` pairs. Filters of the character CNN. Has no effect without
            characters.
        projection_dim: int. Width of the token vector.
        num_character_ids: int, or None. Number of different character ids; see `CharCNNEncoder`. If
            `None`, there is no character CNN.
        vocabulary_size: int, or None. Number of words, whose ids are 1 to `vocabulary_size`. If
            `None` (the default), there are no word vectors.
        word_dim: int. Width of a word vector. Has no effect without words. Defaults to 100.
        character_dim: int. Width of a character's vector. Defaults to 50.
        num_highways: int. Number of highway layers after the convolutions. Defaults to 2.
        activation: str or function. Activation of the convolutions. Defaults to `"relu"`.
        max_characters: int. Number of character ids C per token. Defaults to 50.

    Call arguments:
        inputs: int, shape `[..., 1 + C]`, as created by `tfreps.text.WordCharIndexer`: the id of
            the word and the character ids. `[..., C]` without words, `[..., 1]` without characters.
            All ids of a row are 0 where there is no token.

    Returns:
        float32, shape `[..., projection_dim]`, zero where there is no token.

    Raises:
        ValueError: If an option is invalid.
        tf.errors.InvalidArgumentError: If an id is out of range.

    Reference: Che et al., 2018, "Towards Better UD Parsing"; ELMoForManyLangs.

    Example:
    >>> import tfreps
    >>> indexer = tfreps.text.WordCharIndexer(["d", "g", "o"], ["dog"], max_characters=7)
    >>> encoder = WordCharCNNEncoder([[1, 4]], 6, 10, vocabulary_size=4, max_characters=7)
    >>> encoder(indexer([["dog", "dé"]])).shape
    TensorShape([1, 2, 6])
    """

    def __init__(
        self,
        filters: Filters,
        projection_dim: int,
        num_character_ids: int | None,
        vocabulary_size: int | None = None,
        word_dim: int = 100,
        character_dim: int = 50,
        num_highways: int = 2,
        activation: Activation = "relu",
        max_characters: int = 50,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.filters = filters
        self.projection_dim = projection_dim
        self.num_character_ids = num_character_ids
        self.vocabulary_size = vocabulary_size
        self.word_dim = word_dim
        self.character_dim = character_dim
        self.num_highways = num_highways
        self.activation = activation
        self.max_characters = max_characters
        check_integers(1, projection_dim=projection_dim, word_dim=word_dim)
        if vocabulary_size is not None:
            check_integers(1, vocabulary_size=vocabulary_size)
        self.num_ids = (num_character_ids is not None) * max_characters
        self.num_ids += vocabulary_size is not None
        if not self.num_ids:
            raise ValueError(
                "`num_character_ids` or `vocabulary_size` must be an int; got None for both."
            )
        self.character_cnn: CharCNNEncoder | None = None
        if num_character_ids is not None:
            options = shared_options(self, CharCNNEncoder)
            # With this width, the character CNN has no projection.
            options["projection_dim"] = sum(count for _, count in filters)
            common = {"dtype": self.dtype_policy, "trainable": self.trainable}
            self.character_cnn = CharCNNEncoder(**options, **common, name="character_cnn")
        self.supports_jit = False  # the output of tf.unique has no static shape

    def build(self, input_shape: Shape) -> None:
        width = 0
        if self.character_cnn is not None:
            self.character_cnn.build((None, self.max_characters))
            width = self.character_cnn.total_filters
        if self.vocabulary_size is not None:
            width += self.word_dim
            uniform = keras.initializers.RandomUniform(-0.25, 0.25)
            self.words = self._add("words", (self.vocabulary_size + 1, self.word_dim), uniform)
        normal = keras.initializers.RandomNormal(stddev=width**-0.5)
        self.projection_kernel = self._add(
            "projection_kernel", (width, self.projection_dim), normal
        )
        self.projection_bias = self._add("projection_bias", (self.projection_dim,), "zeros")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        return tf.gather(*self._encode_distinct(inputs))

    def _encode_distinct(self, ids):
        """Encodes each distinct token once.

        Returns:
            Tuple `(vectors, which)`. `vectors` is float32 `[D, projection_dim]`: the vectors of the
            `D` distinct tokens. `which` is int32 `[...]`: the row of each token in `vectors`.
        """
        ids = tf.cast(ids, "int32")
        distinct, which = distinct_rows(tf.reshape(ids, [-1, self.num_ids]))  # [D, 1 + C], [N]
        which = tf.reshape(which, tf.shape(ids)[:-1])
        return self._encode(distinct), tf.ensure_shape(which, ids.shape[:-1])

    def _encode(self, ids):
        """Returns the vectors of distinct tokens, float32 `[D, P]`, for ids `[D, 1 + C]`."""
        parts = []
        if self.vocabulary_size is not None:
            parts.append(tf.cast(table_rows(self.words, ids[:, 0]), "float32"))  # [D, word_dim]
        if self.character_cnn is not None:
            parts.append(self.character_cnn._encode(ids[:, -self.max_characters :]))  # [D, F]
        y = tf.concat(parts, axis=-1)  # [D, word_dim + F]
        y = matmul(y, self.projection_kernel, self.compute_dtype)
        y += tf.cast(self.projection_bias, "float32")  # [D, P]
        is_token = tf.reduce_any(tf.not_equal(ids, 0), axis=-1)
        return tf.where(is_token[:, None], y, 0.0)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-1], self.projection_dim)
