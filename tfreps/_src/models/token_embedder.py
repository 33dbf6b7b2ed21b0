"""TokenEmbedder: one vector per token from words, characters, ELMo and stored vectors."""

from collections.abc import Mapping
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_dropout, check_integers
from tfreps._src.layers.char_cnn import CharCNNEncoder
from tfreps._src.layers.char_lstm import CharLSTMEncoder
from tfreps._src.layers.ops.annotations import Activation, Array, Filters, Outputs
from tfreps._src.layers.ops.masks import check_shape
from tfreps._src.layers.ops.table_rows import table_rows
from tfreps._src.layers.scalar_mix import ScalarMix
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.features import (
    check_features,
    check_frozen_words,
    checked_token_ids,
    feature,
    token_mask,
    with_optional,
)
from tfreps._src.models.linear_encoder import LinearEncoder
from tfreps._src.models.whole_model import WholeModel

CHARACTERS = None, "cnn", "bilstm"


@keras.saving.register_keras_serializable(package="tfreps")
class TokenEmbedder(WholeModel, keras.Model):
    """Token embedder that concatenates up to five kinds of vectors.

        token = dropout([word_embeddings[id], pairs[previous id, id] + pairs[id, next id],
                         characters(token), elmo(sentence), mix(vectors)])

    The embedder is itself an encoder, so a `Tagger` or a `Classifier` can use it directly.

    Args:
        vocabulary_size: int. Vocabulary size. If `None` (the default), there are no word vectors.
        embedding_dim: int. Width of a word vector. Defaults to 100.
        trainable_embeddings: bool. Whether to train the word vectors. To give them their own
            learning rate, use `GroupedOptimizer(..., {"word_embeddings": ...})`.
            Defaults to `True`.
        num_frozen_words: int. Number of words at the end of the vocabulary whose vectors are not
            trained, such as words that occur only in a file of word vectors. They have a table of
            their own, which is zero until `set_word_vectors`, so that a large vocabulary does not
            slow down the optimizer. Defaults to 0.
        bigram_dim: int. Width of the vectors of pairs of neighboring tokens, which are useful if
            tokens are Chinese characters. The vectors start from zero, so that a pair that does not
            occur in training has no effect. Requires `vocabulary_size`. If 0 (the default), there
            are no such vectors.
        num_bigram_buckets: int. Number of rows into which pairs are hashed; see `num_buckets` of
            `LinearEncoder`. Defaults to `2 ** 15`.
        characters: `"cnn"` for a `CharCNNEncoder` or `"bilstm"` for a `CharLSTMEncoder`. If `None`
            (the default), there are no character features.
        character_filters: list of `(width, count)` pairs. Filters of the CNN.
            Defaults to `((2, 30), (3, 30), (4, 30))`.
        character_projection_dim: int. Width of the CNN's projection. If `None` (the default), there
            is no projection.
        character_dim: int. Width of a character vector. Defaults to 25.
        num_highways: int. Number of highway layers of the CNN. Defaults to 0.
        character_activation: str or function. Activation of the CNN. Defaults to `"relu"`.
        character_units: int. Width of each direction of the BiLSTM. Defaults to 25.
        max_characters: int. Number of character ids per token. Defaults to 50.
        elmo: `Elmo`, whose first representation is used. Its options determine how its layers are
            mixed and whether it is fine-tuned. If `None` (the default), there are no ELMo vectors.
        vector_layers: int. Number of layers of the vectors that `tfreps embed` computed. A
            `ScalarMix` mixes the layers. With 0, there are no such vectors. Defaults to 0.
        vector_dim: int. Width of the precomputed vectors. Defaults to 0.
        dropout: float in [0, 1). Dropout rate of the concatenated vectors, and of whole pairs of
            tokens. Defaults to 0.0.
        word_dropout: float in [0, 1). Rate at which whole word vectors become zero in training, so
            that a model learns to use the context of a word. The other word vectors are not scaled.
            Defaults to 0.0.

    Call arguments:
        features: dict, such as the output of `tfreps.text.TokenIndexer`, with those of the
            following features that the embedder uses: `token_ids` int `[B, T]`, vocabulary id plus
            1, 0 for padding; `character_ids` int `[B, T, max_characters]`; `word_character_ids`
            int `[B, T, 1 + C]`, which an `Elmo` on a `ManyLangsBiLM` reads; and `vectors` float
            `[B, vector_layers, T, vector_dim]`. The dict may also have `mask` bool `[B, T]`,
            True on real tokens. If `mask` is absent, tokens with a nonzero id are real; if
            `vectors` is the only feature, `mask` is required.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `sequence_output` float32 `[B, T, output_dim]`, zero on padding, and `mask`
        bool `[B, T]`.

    Raises:
        ValueError: If `features` is not a dict or lacks a feature, `vectors` has the wrong shape,
            an option is invalid, options do not match, or all kinds of vectors are disabled.
        tf.errors.InvalidArgumentError: If an id is out of range.

    Reference: Lample et al., 2016 (words and characters); Peters et al., 2018, section 3.3; Iyyer
    et al., 2015 (word dropout).

    Example:
    >>> embedder = TokenEmbedder(vocabulary_size=9, embedding_dim=4)
    >>> out = embedder({"token_ids": tf.constant([[3, 9, 0]])})
    >>> out["sequence_output"].shape, out["mask"].numpy().tolist()
    (TensorShape([1, 3, 4]), [[True, True, False]])
    """

    def __init__(
        self,
        vocabulary_size: int | None = None,
        embedding_dim: int = 100,
        trainable_embeddings: bool = True,
        num_frozen_words: int = 0,
        bigram_dim: int = 0,
        num_bigram_buckets: int = 2**15,
        characters: Literal["cnn", "bilstm"] | None = None,
        character_filters: Filters = ((2, 30), (3, 30), (4, 30)),
        character_projection_dim: int | None = None,
        character_dim: int = 25,
        num_highways: int = 0,
        character_activation: Activation = "relu",
        character_units: int = 25,
        max_characters: int = 50,
        elmo: Elmo | None = None,
        vector_layers: int = 0,
        vector_dim: int = 0,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.vocabulary_size = vocabulary_size
        self.embedding_dim = embedding_dim
        self.trainable_embeddings = trainable_embeddings
        self.num_frozen_words = num_frozen_words
        self.bigram_dim = bigram_dim
        self.num_bigram_buckets = num_bigram_buckets
        self.characters = characters
        self.character_filters = character_filters
        self.character_projection_dim = character_projection_dim
        self.character_dim = character_dim
        self.num_highways = num_highways
        self.character_activation = character_activation
        self.character_units = character_units
        self.max_characters = max_characters
        self.elmo = elmo
        self.vector_layers = vector_layers
        self.vector_dim = vector_dim
        self.dropout = dropout
        self.word_dropout = word_dropout
        _check(self)
        # Layers.
        widths = []
        if vocabulary_size is not None:
            num_words = vocabulary_size - num_frozen_words
            self.word_embeddings = self._table("word_embeddings", num_words, trainable_embeddings)
            table = np.array(self.word_embeddings)
            table[0] = 0.0  # the vector of padding is 0
            self.word_embeddings.assign(table)
            if num_frozen_words:
                name = "frozen_word_embeddings"
                self.frozen_word_embeddings = self._table(name, num_frozen_words, False, "zeros")
            if word_dropout:
                self.drop_words = keras.layers.Dropout(
                    word_dropout, dtype="float32", name="drop_words"
                )
            widths.append(embedding_dim)
        if bigram_dim:
            self.bigrams = LinearEncoder(
                vocabulary_size,
                bigram_dim,
                unigram_offsets=(),
                num_buckets=num_bigram_buckets,
                dropout=dropout,
                num_frozen_words=num_frozen_words,
                name="bigrams",
            )
            widths.append(bigram_dim)
        if characters is not None:
            self.character_encoder = self._character_encoder()
            self.character_encoder.build((None, None, max_characters))
            widths.append(self.character_encoder.compute_output_shape((max_characters,))[-1])
        if elmo is not None:
            widths.append(elmo.output_dim)
        if vector_layers:
            # The weight of a single layer would have no gradient.
            self.vector_mix = ScalarMix(top_only=vector_layers == 1, name="vector_mix")
            self.vector_mix.build((None, vector_layers, None, vector_dim))
            widths.append(vector_dim)
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.output_dim = sum(widths)
        self.supports_jit = False  # the output of tf.unique has no static shape
        self.built = True

    def call(self, features: Mapping[str, Array], training: bool = False) -> Outputs:
        self._check_features(features)
        mask = token_mask(features)
        parts = []
        if self.vocabulary_size is not None:
            ids = checked_token_ids(features["token_ids"])
            check_shape("mask", mask, ids.shape, "[B, T]")
            words = self._word_vectors(ids)
            if self.word_dropout:
                # Kept vectors are not scaled: a word must look the same in training and after it.
                kept = self.drop_words(tf.ones_like(words[..., :1]), training=training)
                words = tf.where(kept > 0, words, 0.0)
            parts.append(words)
        if self.bigram_dim:
            pairs = {"token_ids": ids, "mask": mask}
            parts.append(self.bigrams(pairs, training=training)["sequence_output"])
        if self.characters == "cnn":
            parts.append(self.character_encoder(features["character_ids"]))
        elif self.characters == "bilstm":
            parts.append(self.character_encoder(features["character_ids"], training=training))
        if self.elmo is not None:
            ids = features[self.elmo.bilm._ids_name]
            parts.append(self.elmo(ids, training=training)["sequence_output"])
        if self.vector_layers:
            parts.append(self.vector_mix(features["vectors"]))
        x = self.drop(tf.concat(parts, axis=-1), training=training)
        x = tf.where(tf.expand_dims(mask, -1), x, 0.0)  # [B, T, output_dim]
        return {"sequence_output": x, "mask": mask}

    @property
    def _window(self):
        """Tuple `(left, right)`: how many tokens on each side affect the vector of a token.

        The property is `None` with ELMo, whose vectors depend on the whole sentence.
        """
        if self.elmo is not None:
            return None
        return self.bigrams._window if self.bigram_dim else (0, 0)

    def _input_signatures(self):
        """Returns the specs of the used features; see `WholeModel._input_signatures`."""
        specs = []
        mask = feature("mask", dtype="bool")
        if self.vocabulary_size is not None:
            specs.append(feature("token_ids"))
        if self.characters is not None:
            specs.append(feature("character_ids", self.max_characters))
        if self.elmo is not None and self.elmo.bilm._ids_name not in {s.name for s in specs}:
            specs.append(self.elmo.bilm._ids_spec())
        if self.vector_layers:
            shape = None, self.vector_layers, None, self.vector_dim
            specs.append(tf.TensorSpec(shape, "float32", "vectors"))
            if len(specs) == 1:  # without other inputs, only the mask shows which tokens are real
                return with_optional([*specs, mask])
        return with_optional(specs, mask)

    def set_word_vectors(self, matrix: np.ndarray) -> None:
        """Sets the word vectors, one row per token in the order of the vocabulary.

        Args:
            matrix: float, shape `[vocabulary_size, embedding_dim]`, for example the `matrix` of a
                `tfreps.text.WordVectors`. This method adds the zero row for padding.

        Raises:
            ValueError: If the embedder has no word vectors, the shape is wrong, or a vector is not
                finite.
        """
        if self.vocabulary_size is None:
            raise ValueError(
                "`set_word_vectors` needs an embedder with a `vocabulary_size`; this embedder "
                "has none and therefore has no word vectors. Create the embedder with a "
                "`vocabulary_size`."
            )
        matrix = np.asarray(matrix, "float32")
        expected = self.vocabulary_size, self.embedding_dim
        if matrix.shape != expected:
            raise ValueError(
                f"`matrix` must have shape {expected} (vocabulary_size, embedding_dim), one row "
                f"per token of the vocabulary; got {matrix.shape}."
            )
        if not np.isfinite(matrix).all():
            row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
            raise ValueError(
                f"`matrix` must contain only finite numbers; row {row} contains NaN or "
                "infinity. Correct this row."
            )
        num_words = self.vocabulary_size - self.num_frozen_words
        self.word_embeddings.assign(np.pad(matrix[:num_words], [(1, 0), (0, 0)]))
        if self.num_frozen_words:
            self.frozen_word_embeddings.assign(np.pad(matrix[num_words:], [(1, 0), (0, 0)]))

    def _word_vectors(self, ids):
        """Returns the word vectors of `ids` `[B, T]`: float32 `[B, T, D]`, zero on padding."""
        if not self.num_frozen_words:
            words = tf.cast(table_rows(self.word_embeddings, ids), "float32")
            return tf.where(tf.expand_dims(ids != 0, -1), words, 0.0)
        num_words = self.vocabulary_size - self.num_frozen_words
        is_frozen, zeros = ids > num_words, tf.zeros_like(ids)
        trained = table_rows(self.word_embeddings, tf.where(is_frozen, zeros, ids))
        frozen = table_rows(
            self.frozen_word_embeddings, tf.where(is_frozen, ids - num_words, zeros)
        )
        words = tf.cast(tf.where(tf.expand_dims(is_frozen, -1), frozen, trained), "float32")
        return tf.where(tf.expand_dims(ids != 0, -1), words, 0.0)

    def _table(self, name, num_words, trainable, initializer=None):
        """Returns a new table of word vectors: `[num_words + 1, D]`. Row 0 is padding."""
        bound = (3 / self.embedding_dim) ** 0.5
        return self.add_weight(
            name=name,
            shape=(num_words + 1, self.embedding_dim),
            initializer=initializer or keras.initializers.RandomUniform(-bound, bound),
            trainable=trainable,
            autocast=False,
        )

    def _frozen_by_options(self):
        """Returns a list of the tables of word vectors that are not trained."""
        if self.vocabulary_size is None:
            return []
        frozen = [] if self.trainable_embeddings else [self.word_embeddings]
        return [*frozen, self.frozen_word_embeddings] if self.num_frozen_words else frozen

    def _own_mix_shares(self):
        return (
            {"vector_mix": self.vector_mix.normalized_weights()} if self.vector_layers > 1 else {}
        )

    def _character_encoder(self):
        common = {
            "character_dim": self.character_dim,
            "max_characters": self.max_characters,
            "dtype": self.dtype_policy,
            "trainable": self.trainable,
            "name": "character_encoder",
        }
        if self.characters == "bilstm":
            return CharLSTMEncoder(self.character_units, **common)
        return CharCNNEncoder(
            filters=[list(pair) for pair in self.character_filters],
            projection_dim=self.character_projection_dim
            or sum(count for _, count in self.character_filters),
            num_highways=self.num_highways,
            activation=self.character_activation,
            **common,
        )

    def _check_features(self, features):
        check_features(features, [*self._input_signatures()[0]], self.name)
        if self.vector_layers:
            shape = tf.TensorShape(features["vectors"].shape)
            if not shape.is_compatible_with([None, self.vector_layers, None, self.vector_dim]):
                raise ValueError(
                    f"`vectors` must have shape [B, {self.vector_layers}, T, {self.vector_dim}] "
                    f"for {self.name!r}; got {shape}."
                )


def _check(model):
    check_choice(CHARACTERS, characters=model.characters)
    if (model.vector_layers > 0) != (model.vector_dim > 0):
        raise ValueError(
            "`vector_layers` and `vector_dim` must be given together; "
            f"got {model.vector_layers} and {model.vector_dim}."
        )
    parts = model.vocabulary_size, model.characters, model.elmo, model.vector_layers or None
    if all(part is None for part in parts):
        raise ValueError(
            "An embedder needs at least one of `vocabulary_size`, `characters`, `elmo`, or "
            "`vector_layers` with `vector_dim`; got none of these. Pass at least one."
        )
    if model.vocabulary_size is not None:
        check_integers(1, vocabulary_size=model.vocabulary_size, embedding_dim=model.embedding_dim)
    check_frozen_words(model.num_frozen_words, model.vocabulary_size or 0)
    check_integers(0, bigram_dim=model.bigram_dim)
    check_integers(1, num_bigram_buckets=model.num_bigram_buckets)
    check_dropout(dropout=model.dropout, word_dropout=model.word_dropout)
    for name in ("bigram_dim", "word_dropout"):
        if getattr(model, name) and model.vocabulary_size is None:
            raise ValueError(
                f"`{name}` needs a `vocabulary_size`; got {getattr(model, name)} and no "
                "`vocabulary_size`. Pass both or neither."
            )
    _check_elmo(model)


def _check_elmo(model):
    if model.elmo is None:
        return
    if model.elmo.keep_sentence_boundaries:
        raise ValueError(
            "`elmo` must have `keep_sentence_boundaries=False`, because an embedder has one vector "
            "per token; got `True`."
        )
    reads_characters = model.elmo.bilm._ids_name == "character_ids"
    longest = model.elmo.bilm.max_characters
    if model.characters is not None and reads_characters and longest != model.max_characters:
        raise ValueError(
            f"`max_characters` must be that of `elmo` ({longest}), because both read the same "
            f"`character_ids`; got {model.max_characters}."
        )
