"""Classifier: any encoder with pooling and a softmax over labels."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import (
    check_choice,
    check_dropout,
    check_integers,
    check_names,
    check_temperature,
)
from tfreps._src.layers.ops.annotations import Features, Outputs, PoolingKind
from tfreps._src.layers.ops.matmul import matmul
from tfreps._src.layers.pooling import POOLINGS as LAYER_POOLINGS
from tfreps._src.layers.pooling import Pooling
from tfreps._src.metrics.auc import AUC
from tfreps._src.metrics.sentence_loss import SentenceLoss
from tfreps._src.models.given_metrics import GivenMetrics
from tfreps._src.models.keras_encoder import check_masks, encoded, width_of
from tfreps._src.models.linear_encoder import LinearEncoder
from tfreps._src.models.own_loss import METRICS, OWN_LOSS, checked_y, mean_of_rows, with_penalty
from tfreps._src.models.preset_methods import FILES, Model, read_files
from tfreps._src.models.whole_model import WholeModel

POOLINGS = *LAYER_POOLINGS, "pooled_output"


@keras.saving.register_keras_serializable(package="tfreps")
class Classifier(GivenMetrics, WholeModel, keras.Model):
    """Text classifier: an encoder, pooling and a softmax over labels.

        v = pool(sequence_output)       (or the encoder's own `pooled_output`)
        v = tanh(dropout(v) @ hidden_kernel + hidden_bias)       (with `hidden_units`)
        logits = dropout(v) @ kernel + bias  [+ sum_t linear_t / sqrt(n), over the n tokens]
        probabilities = softmax(logits / temperature)
        loss = 1/B * sum over texts of weight * class_weight[label] * -log softmax(logits)[label]

    The model computes the loss itself, so training needs only `model.compile(optimizer)` and
    `model.fit(x, y)`, with the label ids as `y`.

    Args:
        encoder: Any encoder of tfreps, or a functional or Sequential Keras model as for `Tagger`.
            With `pooling="pooled_output"`, it must have a `pooled_output` of shape `[B, D]`.
        labels: list of str. Label names in the order of their ids.
        pooling: `"mean"`, `"max"`, `"mean_max"`, `"mean_sqrt"`, `"attention"` or `"first"` (see
            `Pooling`), or `"pooled_output"` for the pooled output of the encoder, such as the
            maxima of a TextCNN, the sentence node of an S-LSTM or the final states of a BiLSTM.
            Defaults to `"mean"`.
        hidden_units: int. Width of a hidden layer. If `None` (the default), there is no hidden
            layer.
        dropout: float in [0, 1). Dropout rate of the input of each dense layer. Defaults to 0.5.
        class_weights: list of float, one per label. Factors by which the loss of each label is
            multiplied. If `None` (the default), all factors are 1.
        attention_units: int. Width of the hidden layer of the attention with
            `pooling="attention"`. If `None` (the default), it is the width of the encoder's output.
            Has no effect with other values of `pooling`.
        linear: `LinearEncoder` with one unit per label: a linear model of the tokens and token
            pairs, trained together with the encoder. Its scores, summed over the tokens and divided
            by the square root of their number, are added to the logits. If `None` (the default),
            there is no linear model.
        temperature: float. Number by which the logits are divided in `probabilities`. It changes
            neither the labels nor the loss. `tfreps evaluate --fit-temperature` fits it to held-out
            data. Fit it again after further training. Defaults to 1.0.

    Call arguments:
        features: The features that the encoder reads, usually a dict.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `logits` and `probabilities`, float32 `[B, N]` for `N` labels. `predict` returns a
        dict with `labels` int32 `[B]`, the ids of the most probable labels, and `probabilities`.

    Training: each batch is `(features, labels)` with labels int `[B]`, optionally with weights
    `[B]` as a third item. The logs contain `loss` (the mean loss of the texts; see `SentenceLoss`),
    `accuracy` and, with two labels, `auc`, for which the second label is the positive one. As in
    Keras, weighted losses are divided by the number of texts. Accuracy and AUC exclude texts of
    weight 0 and count all others equally. So do the Keras metrics of `compile(metrics=[...])`,
    which are called with the labels `[B]` and the probabilities `[B, N]`. A dict, such as
    `{"logits": "accuracy"}`, has metrics of the outputs of a call.

    Masking: padding has no influence. For a text without tokens, the pooled vector is zero; with
    `pooling="pooled_output"`, it is the pooled output that the encoder returns for such a text.

    Raises:
        ValueError: If `labels` is empty or contains an empty or repeated name, an option is
            invalid, or the encoder lacks the output that `pooling` requires.
        tf.errors.InvalidArgumentError: During training or evaluation, if a label id is outside
            `0..N-1`.

    Reference: Cheng et al., 2016, "Wide & Deep Learning", which also trains a linear model together
    with a deep one, as `linear` does; Guo et al., 2017, "On Calibration of Modern Neural Networks",
    for the temperature.

    Example:
    >>> from tfreps.models import TextCNN, TokenEmbedder
    >>> encoder = TextCNN(TokenEmbedder(vocabulary_size=9), num_filters=4)
    >>> classifier = Classifier(encoder, ["bad", "good"], pooling="pooled_output")
    >>> classifier({"token_ids": tf.constant([[3, 9, 0]])})["probabilities"].shape
    TensorShape([1, 2])
    """

    _unused_arguments = OWN_LOSS

    def __init__(
        self,
        encoder: keras.Model,
        labels: Sequence[str],
        pooling: PoolingKind | Literal["pooled_output"] = "mean",
        hidden_units: int | None = None,
        dropout: float = 0.5,
        class_weights: Sequence[float] | None = None,
        attention_units: int | None = None,
        linear: LinearEncoder | None = None,
        temperature: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.encoder = encoder
        self.labels = list(labels)
        self.pooling = pooling
        self.hidden_units = hidden_units
        self.dropout = dropout
        self.class_weights = class_weights
        self.attention_units = attention_units
        self.linear = linear
        self.temperature = temperature
        _check(self)
        # Layers.
        if pooling == "pooled_output":
            width = width_of(encoder, "pooled_output")
        else:
            self.pool = Pooling(pooling, attention_units, dtype=self.dtype_policy, name="pool")
            shape = None, None, width_of(encoder)
            self.pool.build(shape)
            width = self.pool.compute_output_shape(shape)[-1]
        if hidden_units:
            self.hidden_kernel = self._add("hidden_kernel", (width, hidden_units), "glorot_uniform")
            self.hidden_bias = self._add("hidden_bias", (hidden_units,), "zeros")
            width = hidden_units
        self.kernel = self._add("kernel", (width, len(self.labels)), "glorot_uniform")
        self.bias = self._add("bias", (len(self.labels),), "zeros")
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.supports_jit = False  # XLA drops the checks of targets and recompiles for each shape
        self.built = True
        # Metrics.
        self.sentence_loss = SentenceLoss(name="loss")
        self.accuracy = keras.metrics.Mean(name="accuracy")
        self.auc = AUC(name="auc") if len(self.labels) == 2 else None

    def call(self, features: Features, training: bool = False) -> Outputs:
        outputs = encoded(self.encoder, features, training)
        if self.pooling == "pooled_output":
            v = tf.cast(outputs["pooled_output"], "float32")
        else:
            v = self.pool(outputs["sequence_output"], mask=outputs["mask"])  # [B, D]
        v = self.drop(v, training=training)
        if self.hidden_units:
            v = matmul(v, self.hidden_kernel, self.compute_dtype)
            v = tf.tanh(v + tf.cast(self.hidden_bias, "float32"))
            v = self.drop(v, training=training)
        logits = matmul(v, self.kernel, self.compute_dtype)  # [B, N]
        logits += tf.cast(self.bias, "float32")
        if self.linear is not None:
            linear = self.linear(features, training=training)
            length = tf.reduce_sum(tf.cast(linear["mask"], "float32"), 1, keepdims=True)  # [B, 1]
            # [B, N], sums of the scores of real tokens.
            scores = tf.reduce_sum(linear["sequence_output"], 1)
            logits += scores / tf.sqrt(tf.maximum(length, 1.0))
        return {"logits": logits, "probabilities": tf.nn.softmax(logits / self.temperature)}

    def transition_scores(self) -> tf.Tensor | None:
        """Returns `None`, because a classifier has no CRF; see `Tagger.transition_scores`."""
        return None

    def token_weights(self, features: Features) -> tf.Tensor:
        """Computes the weight of each token in the pooled vector. Requires `pooling="attention"`.

        Args:
            features: The features, as passed to `call`.

        Returns:
            float32, shape `[B, T]`, 0 on padding. The weights of each text sum to 1, unless it has
            no tokens.

        Raises:
            ValueError: If `pooling` is not `"attention"`.
        """
        if self.pooling != "attention":
            raise ValueError(
                '`token_weights` needs a model with `pooling="attention"`; this model has '
                f"{self.pooling!r}. Create the model with this pooling."
            )
        outputs = encoded(self.encoder, features)
        return self.pool._attention(tf.cast(outputs["sequence_output"], "float32"), outputs["mask"])

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        labels: Sequence[str] | None = None,
        encoder_options: Mapping[str, Any] | None = None,
        next_sentence: bool = False,
        *,
        dropout: float | None = None,
        class_weights: Sequence[float] | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a published BERT classifier: the encoder and its head.

        To put a new head on an encoder instead, use
        `Classifier(BertEncoder.from_pretrained(source), labels)`.

        Args:
            source: str or path-like. Checkpoint with a classification head, written by
                `BertForSequenceClassification`, `DistilBertForSequenceClassification` or
                `ElectraForSequenceClassification` of Hugging Face transformers or by Google's
                `run_classifier.py`; with `next_sentence`, any checkpoint with a next-sentence head.
                `BertEncoder.from_pretrained` describes the files.
            labels: sequence of str. Label names. If `None` (the default), the checkpoint's names
                are used, or `LABEL_0`, `LABEL_1` and so on if it has none.
            encoder_options: dict. Options of the encoder that replace those of the checkpoint.
                Defaults to `None`.
            next_sentence: bool. Whether to load the next-sentence head of pre-training, as in
                `BertForNextSentencePrediction`, instead of a classification head. Unless `labels`
                is given, the labels are `"next"` and `"other"`, in the order of the checkpoint.
                Defaults to `False`.
            dropout: float in [0, 1). Dropout rate of the head's input. If `None` (the default), it
                is the checkpoint's rate.
            class_weights: sequence of float. Factors of the losses, as in `Classifier`. Defaults to
                `None`.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the head. If `None` (the default), it is
                Keras's default.
            **options: Further options of `Classifier`, except `pooling`, `hidden_units` and
                `linear`: the head is a single dense layer over the pooled output.

        Returns:
            `Classifier` with the weights of the source.

        Raises:
            ValueError: If `BertEncoder.from_pretrained` rejects the checkpoint, the head is missing
                or does not choose one of several labels, or an option does not match the head.
        """
        return read_files("from_pretrained", locals())

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes a folder for Hugging Face transformers.

        `BertForSequenceClassification` can load the folder, or the class of DistilBERT or ELECTRA
        if `BertEncoder.save_pretrained` would write the encoder for that family. The pooler of the
        encoder is then the first dense layer of the head.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Raises:
            ValueError: If the encoder is neither a `BertEncoder` nor a `PieceEncoder` around one,
                `BertEncoder.save_pretrained` rejects it for a reason other than its pooler, the
                pooling is not `"pooled_output"`, the model has a hidden layer, a linear model or a
                temperature other than 1, or the folder contains `model.safetensors.index.json`.
        """
        FILES["save_pretrained"](self, folder)

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: tf.Tensor | None = None,
        training: bool = True,
    ) -> tf.Tensor:
        y = _checked(y, len(self.labels))
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=y_pred["logits"])
        if sample_weight is not None:
            nll *= tf.cast(tf.reshape(sample_weight, [-1]), "float32")
        if self.class_weights is not None:
            nll *= tf.gather(tf.constant(self.class_weights, "float32"), y)
        return with_penalty(self, mean_of_rows(nll), tf.size(y), x)

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        y = _checked(y, len(self.labels))
        right = tf.equal(_likeliest(y_pred), y)
        if sample_weight is not None:
            sample_weight = tf.cast(tf.reshape(sample_weight, [-1]) > 0, "float32")
        self.accuracy.update_state(right, sample_weight=sample_weight)
        if self.auc is not None:
            scores = y_pred["logits"][:, 1] - y_pred["logits"][:, 0]
            self.auc.update_state(y, scores, sample_weight=sample_weight)
        for metric in self._given_metrics:
            if metric.name not in self._own_metrics:
                metric.update_state(y, y_pred["probabilities"], sample_weight=sample_weight)
        return super().compute_metrics(x, y, y_pred, sample_weight)

    @property
    def _own_metrics(self) -> dict[str, keras.Metric]:
        """Metrics of the model itself, by name: `accuracy` and, with two labels, `auc`."""
        own = [self.accuracy] if self.auc is None else [self.accuracy, self.auc]
        return {metric.name: metric for metric in own}

    def predict_step(self, data: Any) -> Outputs:
        outputs = self(keras.utils.unpack_x_y_sample_weight(data)[0])
        return {"labels": _likeliest(outputs), "probabilities": outputs["probabilities"]}

    @property
    def classes(self) -> list[str]:
        """Names of the labels. Taggers and classifiers both have this attribute."""
        return self.labels

    def fit(self, x: Any = None, *args: Any, **kwargs: Any) -> keras.callbacks.History:
        """Trains the model; arguments and result are those of `keras.Model.fit`.

        Raises:
            ValueError: If an argument does not apply to the model, `x` consists of texts, tokens or
                lists or is a `SequenceBatches`, `y` is a list or contains names, or `class_weight`
                is combined with batches that already have weights.
        """
        spec = getattr(x, "element_spec", None)
        if kwargs.get("class_weight") and isinstance(spec, tuple) and len(spec) == 3:
            raise ValueError(
                "`class_weight` does not apply to batches that already have weights, such as those "
                "of SequenceBatches. Create the model with one factor per label, "
                f"`Classifier(..., class_weights=[...])`; got {kwargs['class_weight']}."
            )
        return super().fit(x, *args, **kwargs)

    def _check_unused(self, given):
        is_used = {n: n in METRICS and isinstance(value, dict) for n, value in given.items()}
        super()._check_unused({n: value for n, value in given.items() if not is_used[n]})


def _likeliest(outputs):
    return tf.argmax(outputs["logits"], axis=-1, output_type="int32")  # [B]


def _checked(y, num_labels):
    """Returns the labels, `[B]` or `[B, 1]`, as int32 `[B]` after checking them."""
    if y is not None and tf.TensorShape(y.shape)[1:] == [1]:
        y = y[:, 0]
    return checked_y(y, tf.TensorShape([None]), "[B]", num_labels)


def _check(model):
    labels = model.labels
    weights = model.class_weights
    check_names(labels=labels)
    check_choice(POOLINGS, pooling=model.pooling)
    check_dropout(dropout=model.dropout)
    check_integers(1, hidden_units=model.hidden_units, or_none=True)
    check_temperature(model.temperature)
    check_masks(model.encoder)
    if weights is not None and (len(weights) != len(labels) or min(weights) < 0):
        raise ValueError(
            f"`class_weights` must have one non-negative factor for each of the labels {labels}; "
            f"got {weights}."
        )
    output = "pooled_output" if model.pooling == "pooled_output" else "sequence_output"
    if width_of(model.encoder, output) is None:
        raise ValueError(
            f"`encoder` must have a `{output}` if `pooling` is {model.pooling!r}; "
            f"{type(model.encoder).__name__} has none. Use a different `pooling` or encoder; a "
            "class of your own needs the attribute `output_dim` or `pooled_dim`."
        )
    if model.linear is not None and model.linear.output_dim != len(labels):
        raise ValueError(
            f"`linear` must have one unit per label ({len(labels)}); got {model.linear.output_dim}."
        )
