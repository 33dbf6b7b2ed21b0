"""BertPretrainer: masked-token and next-sentence tasks on a BertEncoder."""

import os
from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.attention import built_dense
from tfreps._src.layers.ops.annotations import Array, Outputs
from tfreps._src.layers.ops.masks import checked_ids
from tfreps._src.layers.ops.matmul import dense_of_tokens
from tfreps._src.layers.ops.replicas import sum_over_replicas
from tfreps._src.layers.transformer import activation_function, layer_norm
from tfreps._src.metrics.perplexity import Perplexity
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.features import feature
from tfreps._src.models.own_loss import TARGETS_IN_FEATURES, features_of
from tfreps._src.models.preset_methods import FILES, Model, read_files
from tfreps._src.models.whole_model import WholeModel


@keras.saving.register_keras_serializable(package="tfreps")
class BertPretrainer(WholeModel, keras.Model):
    """BERT's two pre-training tasks on one encoder: masked tokens and next sentences.

        h_m = sequence_output at the m-th masked position
        v_m = transform_norm(activation(h_m @ transform_kernel + transform_bias))
        token_logits_m = v_m @ token_table^T + token_bias
        next_sentence_logits = pooled_output @ next_sentence_kernel + next_sentence_bias

        loss = sum_m w_m NLL(masked_ids_m) / sum_m w_m  +  mean_b NLL(next_sentence_labels_b)

    NLL is the negative log-likelihood under the softmax of the logits, and the weights `w_m` are
    the `masked_weights`. `token_table` is the encoder's token table, and `v_m` is as wide as its
    rows. Logits are computed only at masked positions. The model is trained with Keras's `fit` on
    batches such as those of `tfreps.data.MaskedLMBatches`. The targets are part of the features, so
    `compile` needs only an optimizer.

    Args:
        encoder: `BertEncoder`. It must have a pooler if `next_sentence` is `True`.
        next_sentence: bool. Whether to train the next-sentence task. Defaults to `True`.

    Call arguments:
        features: dict with the features of the encoder (`token_ids` int `[B, T]` and, optionally,
            `segment_ids` and `mask`) and `masked_positions` int `[B, M]` in 0..T-1. The loss also
            needs `masked_ids` int `[B, M]`, the original token ids at these positions;
            `masked_weights` float `[B, M]`, 0 for unused positions (1 if absent); and, if
            `next_sentence` is `True`, `next_sentence_labels` int `[B]`, 0 or 1 (see
            `tfreps.data.MaskedLMBatches`).
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `token_logits` float32 `[B, M, V]`, where `V` is the vocabulary size, and, if
        `next_sentence` is `True`, `next_sentence_logits` float32 `[B, 2]`.

    Metrics: `loss`, the mean over batches; `masked_loss` and `masked_accuracy`, the weighted mean
    NLL and accuracy of the masked tokens; `masked_perplexity`, the exponential of the unweighted
    mean NLL of the masked tokens with a weight above 0; and, if `next_sentence` is `True`,
    `next_sentence_loss` and `next_sentence_accuracy`. All except `loss` are computed over all
    masked tokens or all texts of the epoch.

    Masking: the encoder handles padding. Masked positions with weight 0 do not contribute to the
    loss.

    Raises:
        ValueError: If `next_sentence` is `True` and the encoder has no pooler, or if a required
            feature is missing or has the wrong dtype or shape.
        tf.errors.InvalidArgumentError: If a masked position is outside 0..T-1.

    Reference: Devlin et al., 2019, "BERT"; google-research/bert, "run_pretraining.py".

    Example:
    >>> from tfreps.models import BertEncoder
    >>> encoder = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
    >>> model = BertPretrainer(encoder)
    >>> ids, positions = tf.constant([[2, 4, 7, 3]]), tf.constant([[1]])
    >>> features = {"token_ids": ids, "masked_positions": positions}
    >>> out = model(features)
    >>> out["token_logits"].shape, out["next_sentence_logits"].shape
    (TensorShape([1, 1, 9]), TensorShape([1, 2]))
    """

    _unused_arguments = TARGETS_IN_FEATURES

    def __init__(self, encoder: BertEncoder, next_sentence: bool = True, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        if next_sentence and encoder.pooler_dense is None:
            raise ValueError(
                "`next_sentence=True` needs the pooled output, but the encoder has none. Create "
                "the encoder with `pooler=True`, or pass `next_sentence=False`."
            )
        # Options.
        self.encoder = encoder
        self.next_sentence = next_sentence
        # Layers.
        self.activate = activation_function(encoder.activation)
        self.transform = built_dense(
            self, "transform", encoder.hidden_dim, encoder.table_dim, encoder
        )
        self.transform_norm = layer_norm(
            encoder.layer_norm_epsilon, encoder.table_dim, "transform_norm"
        )
        self.token_bias = self.add_weight(
            name="token_bias", shape=(encoder.vocabulary_size,), initializer="zeros", autocast=False
        )
        self.next_sentence_dense = None
        if next_sentence:
            self.next_sentence_dense = built_dense(
                self, "next_sentence_dense", encoder.hidden_dim, 2, encoder
            )
        # Metrics. They sum in float64, because a float32 count cannot exceed 2^24.
        self.masked_perplexity = Perplexity(name="masked_perplexity")
        names = ["masked_loss", "masked_accuracy"]
        if next_sentence:
            names += ["next_sentence_loss", "next_sentence_accuracy"]
        self.means = {name: keras.metrics.Mean(name=name, dtype="float64") for name in names}
        self.supports_jit = False  # the encoder does not support XLA either
        self.built = True

    def call(self, features: Mapping[str, Array], training: bool = False) -> Outputs:
        read = self.encoder(features, training=training)
        x = _at(read["sequence_output"], _get(features, "masked_positions"))  # [B, M, D]
        x = tf.cast(dense_of_tokens(self.transform, x), "float32")  # [B, M, E]
        x = self.transform_norm(self.activate(x))
        outputs = {"token_logits": self._token_logits(x)}
        if self.next_sentence_dense is not None:
            logits = self.next_sentence_dense(read["pooled_output"])  # [B, 2]
            outputs["next_sentence_logits"] = tf.cast(logits, "float32")
        return outputs

    def _input_signatures(self):
        """Returns the dicts of input specs of the encoder, each with `masked_positions` added."""
        positions = feature("masked_positions")
        read = [specs for specs in self.encoder._input_signatures() if isinstance(specs, dict)]
        return [{**specs, "masked_positions": positions} for specs in read]

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: tf.Tensor | None = None,
        training: bool = True,
    ) -> tf.Tensor:
        x = features_of((x, y, sample_weight), self)
        ids = tf.cast(_get(x, "masked_ids"), "int32")  # [B, M]
        weights = x.get("masked_weights")
        weights = tf.ones_like(ids, "float32") if weights is None else tf.cast(weights, "float32")
        nll, hits = _score(y_pred["token_logits"], ids)
        count = sum_over_replicas(tf.reduce_sum(weights))
        loss = tf.reduce_sum(nll * weights) / tf.maximum(count, 1e-5)
        self.masked_perplexity.update_state(nll, weights > 0)
        self._update("masked", nll, hits, weights)
        if self.next_sentence_dense is not None:
            labels = tf.cast(_get(x, "next_sentence_labels"), "int32")  # [B]
            nll, hits = _score(y_pred["next_sentence_logits"], labels)
            count = sum_over_replicas(tf.cast(tf.size(nll), "float32"))
            loss += tf.reduce_sum(nll) / tf.maximum(count, 1.0)
            self._update("next_sentence", nll, hits)
        return loss

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        next_sentence: bool | None = None,
        *,
        num_layers: int | None = None,
        max_sequence_length: int | None = None,
        dropout: float | None = None,
        attention_dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads the encoder and the heads of a published checkpoint.

        This method accepts the same checkpoints as `BertEncoder.from_pretrained`. If the second
        sentence follows the first, the next-sentence label is 0 in checkpoints from Google and
        Hugging Face, and 1 in those from aespresso.

        Args:
            source: str or path-like. Checkpoint with a masked-token head; see
                `BertEncoder.from_pretrained`.
            next_sentence: bool. Whether to load the next-sentence head. If `None` (the default), it
                is loaded if the checkpoint contains it.
            num_layers, max_sequence_length, dropout: As in `BertEncoder.from_pretrained`.
            attention_dropout, trainable, dtype: As in `BertEncoder.from_pretrained`.
            **options: Further options of the encoder that replace those of the checkpoint.

        Returns:
            `BertPretrainer` with the weights of the source.

        Raises:
            ValueError: If `BertEncoder.from_pretrained` rejects the checkpoint, if the masked-token
                head or a requested next-sentence head is missing, if `pooler=False` is passed and a
                next-sentence head is loaded, or if the masked-token head does not share the token
                table or the activation of the encoder.
        """
        return read_files("from_pretrained", locals())

    def save_pretrained(self, folder: str | os.PathLike[str], next_label: int = 0) -> None:
        """Writes a folder that `BertForPreTraining` of Hugging Face transformers can load.

        Without the next-sentence task, the folder is for `BertForMaskedLM`, or for
        `DistilBertForMaskedLM` or `ElectraForMaskedLM` (the generator of ELECTRA); see
        `BertEncoder.save_pretrained`. The latter two have no next-sentence head.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.
            next_label: int. Label, 0 or 1, that this model uses if the second sentence follows the
                first. In the folder, this label is always 0, as in transformers. Defaults to 0.

        Raises:
            ValueError: If `next_label` is not 0 or 1, if Hugging Face transformers does not support
                the encoder (see `BertEncoder.save_pretrained`), if the encoder is a DistilBERT or
                ELECTRA and the model has a next-sentence head or an `activation` that the family's
                masked-token head does not use, or if the folder contains
                `model.safetensors.index.json`.
        """
        FILES["save_pretrained"](self, folder, next_label)

    def _token_logits(self, x):
        dim = self.encoder.table_dim
        size = self.encoder.vocabulary_size
        flat = tf.ensure_shape(tf.reshape(x, [-1, dim]), [None, dim])  # [B*M, E]
        flat = tf.cast(flat, self.compute_dtype)
        logits = tf.cast(self.encoder.token_embedding(flat, reverse=True), "float32")  # [B*M, V]
        logits += tf.cast(self.token_bias, "float32")
        logits = tf.reshape(logits, [*tf.unstack(tf.shape(x)[:2]), size])
        return tf.ensure_shape(logits, [x.shape[0], x.shape[1], size])  # [B, M, V]

    def _update(self, task, nll, hits, weights=None):
        # Arguments are flattened, because Keras would average each row of a matrix separately.
        weights = None if weights is None else tf.reshape(weights, [-1])
        for figure, values in ("loss", nll), ("accuracy", hits):
            values = tf.reshape(values, [-1])
            self.means[f"{task}_{figure}"].update_state(values, sample_weight=weights)


def _get(features, name):
    if not isinstance(features, dict) or name not in features:
        found = sorted(features) if isinstance(features, dict) else type(features).__name__
        raise ValueError(
            f"`features` must be a dict with the key `{name}`; got {found}. "
            "`tfreps.data.MaskedLMBatches` creates such features."
        )
    return tf.convert_to_tensor(features[name])


def _at(x, positions):
    """Returns the vectors of `x` at the given positions.

    Args:
        x: float, shape `[B, T, D]`.
        positions: int, shape `[B, M]`. Positions in 0..T-1.

    Returns:
        float, shape `[B, M, D]`.

    Raises:
        ValueError: If the positions have the wrong dtype or shape.
        tf.errors.InvalidArgumentError: If a position is out of range.
    """
    if not positions.dtype.is_integer or positions.shape.rank not in (None, 2):
        raise ValueError(
            f"`masked_positions` must be integers of shape [B, M]; got {positions.dtype.name} of "
            f"shape {positions.shape}."
        )
    positions = tf.cast(positions, "int32")
    message = (
        "Masked positions must lie in 0..T-1 for texts of T tokens, padding included. Count "
        "positions from 0, and pad `masked_positions` with 0."
    )
    positions = checked_ids(positions, tf.shape(x)[1], message)
    return tf.gather(x, positions, batch_dims=1)


def _score(logits, targets):
    """Compares predictions with their targets.

    Args:
        logits: float32, shape `[..., N]`. A score for each of the N ids.
        targets: int32, shape `[...]`. The correct ids.

    Returns:
        Tuple of two float32 tensors of the shape of `targets`: the negative log-likelihood of each
        target, and 1.0 where the target has the highest logit, 0.0 elsewhere.
    """
    nll = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
    best = tf.argmax(logits, axis=-1, output_type="int32")
    return nll, tf.cast(best == targets, "float32")
