"""SentenceEmbedder: any encoder with pooling, which computes one vector per text."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_positive
from tfreps._src.layers.ops.annotations import Features, Outputs, PoolingKind
from tfreps._src.layers.ops.masks import after
from tfreps._src.layers.pooling import POOLINGS, Pooling
from tfreps._src.metrics.sentence_loss import SentenceLoss
from tfreps._src.models.keras_encoder import check_masks, encoded, width_of
from tfreps._src.models.own_loss import OWN_LOSS, mean_of_rows, with_penalty
from tfreps._src.models.preset_methods import FILES, Model, read_files
from tfreps._src.models.whole_model import WholeModel

TEXTS = "first", "second", "third"  # keys of a batch of pairs or triples
OUT_OF_RANGE = "`y` must be similarities from -1 to 1. Divide scores by the highest possible one."
DENSE = {"units", "activation", "use_bias"}  # names of the options of a dense layer


@keras.saving.register_keras_serializable(package="tfreps")
class SentenceEmbedder(WholeModel, keras.Model):
    """Model that computes one vector per text: an encoder, pooling, dense layers, normalization.

        v = [pool_1(sequence_output), pool_2(sequence_output), ...]
        v = activation(v @ kernel + bias)       for each dense layer
        v = v / |v|                             (with `normalize`)

    It is trained on pairs of texts, in one of two ways, where cos is the cosine of two vectors:

        loss = 1/B * sum_i weight_i * -log softmax_j(scale * cos(first_i, other_j))[i]
        loss = 1/B * sum_i weight_i * (cos(first_i, second_i) - y_i)^2

    The first is used without `y`: `second_i` belongs to `first_i`, and all other texts of the batch
    (`second` and, if given, `third`, which may contain texts similar to `first`) are its
    negatives. The second is used if `y`, the similarity of the texts, is given.

    The model computes the loss itself, so training needs only `model.compile(optimizer)` and
    `model.fit(x)` or `model.fit(x, y)`.

    Args:
        encoder: Any encoder of tfreps, or a functional or Sequential Keras model as for `Tagger`.
        pooling: str, or list of str if several vectors are concatenated. `"mean"`, `"max"`,
            `"mean_max"`, `"mean_sqrt"`, `"attention"` or `"first"` (see `Pooling`). Defaults to
            `"mean"`.
        dense: list of dict. Options of the dense layers after the pooling, in their order: `units`
            and, optionally, `activation` and `use_bias`, as in `keras.layers.Dense`. Defaults to no
            layers.
        normalize: bool. Whether to scale the vectors to length 1. Defaults to `False`.
        scale: float. Factor of the cosines in the loss without `y`. Defaults to 20.0.

    Call arguments:
        features: The features that the encoder reads, usually a dict; or a dict from `"first"`,
            `"second"` and, optionally, `"third"` to the features of texts that belong together.
        training: bool. Whether to apply the dropout of the encoder. Defaults to `False`.

    Returns:
        dict with `vectors`, float32 `[B, D]`, or `[B, 2, D]` and `[B, 3, D]` for pairs and triples.

    Training: each batch is `(features,)` or `(features, y)` with pairs or triples as the features
    and similarities from -1 to 1, float `[B]`, optionally with weights `[B]` as a third item. The
    logs contain `loss` and `accuracy`: the share of the first texts whose own second text has a
    higher cosine than all negatives. With several replicas, the negatives are those on the same
    replica.

    Masking: padding has no influence. The pooled vector of a text without tokens is zero. Without
    `dense`, the output for such a text is zero, too, even with `normalize`.

    Raises:
        ValueError: If an option is invalid, or the encoder has no `sequence_output`; during
            training, if a batch has no pairs, or triples are combined with `y`.
        tf.errors.InvalidArgumentError: If `y` is not from -1 to 1, during training.

    Reference: Reimers and Gurevych, 2019, "Sentence-BERT"; Henderson et al., 2017, "Efficient
    Natural Language Response Suggestion for Smart Reply", for negatives from the batch.

    Example:
    >>> from tfreps.models import TokenEmbedder
    >>> embedder = SentenceEmbedder(TokenEmbedder(vocabulary_size=9, embedding_dim=4))
    >>> embedder({"token_ids": tf.constant([[3, 9, 0]])})["vectors"].shape
    TensorShape([1, 4])
    """

    _unused_arguments = OWN_LOSS

    def __init__(
        self,
        encoder: keras.Model,
        pooling: PoolingKind | Sequence[PoolingKind] = "mean",
        dense: Sequence[Mapping[str, Any]] = (),
        normalize: bool = False,
        scale: float = 20.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.encoder = encoder
        self.pooling = pooling
        self.dense = [dict(options) for options in dense]
        self.normalize = normalize
        self.scale = scale
        _check(self)
        # Layers.
        shape = None, None, width_of(encoder)
        width = 0
        self.pools = []
        for number, kind in enumerate(_kinds(pooling)):
            pool = Pooling(kind, dtype=self.dtype_policy, name=f"pool_{number}")
            pool.build(shape)
            self.pools.append(pool)
            width += pool.compute_output_shape(shape)[-1]
        self.dense_layers = []
        for number, options in enumerate(self.dense):
            layer = keras.layers.Dense(**options, dtype=self.dtype_policy, name=f"dense_{number}")
            layer.build((None, width))
            self.dense_layers.append(layer)
            width = options["units"]
        self.vector_dim = width
        self.supports_jit = False  # XLA would recompile the model for each shape
        self.built = True
        # Metrics.
        self.sentence_loss = SentenceLoss(name="loss")
        self.accuracy = keras.metrics.Mean(name="accuracy")

    def call(self, features: Features, training: bool = False) -> Outputs:
        if not _are_pairs(features):
            return {"vectors": self._vectors(features, training)}
        if "second" not in features:
            raise ValueError(
                "A batch with the features of `first` texts must also have those of `second` "
                f"texts; got {sorted(features)}."
            )
        texts = [features[name] for name in TEXTS if name in features]
        found = [self._vectors(text, training) for text in texts]
        return {"vectors": tf.stack(found, axis=1)}  # [B, 2 or 3, D]

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        encoder_options: Mapping[str, Any] | None = None,
        scale: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
    ) -> Model:
        """Loads a published model of sentence-transformers.

        `tfreps.load` also reads the vocabulary, the maximum length and the prompts.

        Args:
            source: str or path-like. Folder with `modules.json`, whose modules are a Transformer (a
                BERT, DistilBERT or ELECTRA; see `BertEncoder.from_pretrained`), a Pooling, any
                number of Dense and, optionally, a Normalize. As in `from_preset`, it may also be in
                a zip archive, or be given by its name or address.
            encoder_options: dict. Options of the encoder that replace those of the folder. A pooler
                is not loaded unless they contain `pooler=True`. Defaults to `None`.
            scale: float. Factor of the cosines in training, as in `SentenceEmbedder`. If `None`
                (the default), it is 20.0.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the layers after the encoder. If `None`
                (the default), it is Keras's default.

        Returns:
            `SentenceEmbedder` with the weights of the source.

        Raises:
            ValueError: If the folder has other modules or another order of modules, another kind of
                pooling or another activation (the message names it), if a file of a module is
                missing or damaged, or if `BertEncoder.from_pretrained` rejects the Transformer.

        Reference: sentence-transformers, "models/Transformer.py", "models/Pooling.py".
        """
        return read_files("from_pretrained", locals())

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes a folder for sentence-transformers, without the vocabulary.

        `save_pretrained` of the object that `tfreps.load` returns also writes the vocabulary, the
        maximum length and the prompts.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Raises:
            ValueError: If the encoder is not a `BertEncoder`, if `BertEncoder.save_pretrained`
                rejects it, or if sentence-transformers has no such pooling or activation.
        """
        FILES["save_pretrained"](self, folder)

    def _vectors(self, features, training):
        outputs = encoded(self.encoder, features, training)
        sequence, mask = outputs["sequence_output"], outputs["mask"]
        v = tf.concat([pool(sequence, mask=mask) for pool in self.pools], axis=-1)  # [B, D]
        for layer in self.dense_layers:
            v = tf.cast(layer(v), "float32")
        return tf.math.l2_normalize(v, axis=-1) if self.normalize else v

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: tf.Tensor | None = None,
        training: bool = True,
    ) -> tf.Tensor:
        cosines = _cosines(y_pred["vectors"])  # [B, C]
        rows = tf.shape(cosines)[0]
        if y is None:
            own = tf.range(rows)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(own, self.scale * cosines)
        else:
            _check_targets(y, y_pred["vectors"])
            y = tf.reshape(tf.cast(y, "float32"), [-1])
            y = after(tf.debugging.assert_less_equal(tf.abs(y), 1.0, OUT_OF_RANGE), y)
            losses = tf.square(tf.linalg.diag_part(cosines) - y)
        if sample_weight is not None:
            losses *= tf.cast(tf.reshape(sample_weight, [-1]), "float32")
        return with_penalty(self, mean_of_rows(losses), rows, x)

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        cosines = _cosines(y_pred["vectors"])
        own = tf.range(tf.shape(cosines)[0])
        is_right = tf.equal(tf.argmax(cosines, axis=1, output_type="int32"), own)
        if sample_weight is not None:
            sample_weight = tf.cast(tf.reshape(sample_weight, [-1]) > 0, "float32")
        self.accuracy.update_state(is_right, sample_weight=sample_weight)
        return super().compute_metrics(x, y, y_pred, sample_weight)


def _kinds(pooling):
    return [pooling] if isinstance(pooling, str) else list(pooling)


def _are_pairs(features):
    """Returns True if the features are those of pairs or triples of texts."""
    return isinstance(features, Mapping) and isinstance(features.get("first"), Mapping)


def _cosines(vectors):
    """Returns the cosines of each first text with all C other texts of the batch, `[B, C]`.

    `vectors` is `[B, 2 or 3, D]`. The other texts are the second texts of all rows, followed by
    their third texts.
    """
    if vectors.shape.rank != 3:
        raise ValueError(
            "A batch for training must have pairs of texts: a dict with the features of the "
            f"`first` and `second` texts; got vectors of shape {vectors.shape}."
        )
    vectors = tf.math.l2_normalize(vectors, axis=-1)
    others = tf.concat(tf.unstack(vectors, axis=1)[1:], axis=0)  # [C, D]
    return tf.matmul(vectors[:, 0], others, transpose_b=True)


def _check_targets(y, vectors):
    if vectors.shape[1] != 2:
        raise ValueError(
            "`y` must be None for rows of three texts, because similarities belong to pairs of "
            f"texts; got shape {y.shape}. Omit `y`, or omit the `third` texts."
        )
    if tf.size(y).shape != () or not tf.TensorShape(y.shape).rank:
        raise ValueError(
            "`y` must have the shape [B], with one similarity for each pair of `first` and "
            f"`second` texts; got shape {y.shape}."
        )


def _check(model):
    check_masks(model.encoder)
    kinds = _kinds(model.pooling)
    if not kinds:
        raise ValueError("`pooling` must contain at least one kind of pooling; got [].")
    for kind in kinds:
        check_choice(POOLINGS, pooling=kind)
    check_positive(scale=model.scale)
    for options in model.dense:
        if "units" not in options or not set(options) <= DENSE:
            raise ValueError(
                "Each item of `dense` must be a dict with `units` and, optionally, `activation` "
                f"and `use_bias`; got {options}."
            )
    if width_of(model.encoder) is None:
        raise ValueError(
            f"`encoder` must have a `sequence_output`; {type(model.encoder).__name__} has none. A "
            "class of your own needs the attribute `output_dim`."
        )
