"""Tagger: any encoder with a softmax or a CRF on top, trained by `fit`, legal tags out."""

import keras
import numpy as np
import tensorflow as tf

from tfreps.layers.crf import CRF
from tfreps.layers.ops.products import product
from tfreps.metrics import SentenceLoss, SpanF1, TokenAccuracy
from tfreps.models.registry import converter
from tfreps.models.whole_model import WholeModel
from tfreps.text.tags.tag_sequences import allowed_transitions

CONSTRAIN = "both", "decode", "none"


@keras.saving.register_keras_serializable(package="tfreps")
class Tagger(WholeModel, keras.Model):
    """Gives each token a tag: scores from an encoder's vectors, then a CRF or a softmax.

        emissions_t = dropout(sequence_output_t) @ kernel + bias [+ linear_t]
        loss = 1/B * sum over sentences of weight * NLL(tags of the sentence)

    The NLL is the CRF's, or with `use_crf=False` the sum of the tokens' cross-entropies. So
    `model.compile(optimizer)` and `model.fit(dataset)` are all that training takes: the loss is
    here. The best sequence is found by Viterbi under both heads; with a `scheme` it is a legal
    one, unless `constrain` is `"none"`.

    Args:
        encoder: any encoder of tfreps: its output has `sequence_output` and `mask`, its attribute
            `output_dim` tells the width.
        tags: list of str. Names in the order of their ids.
        scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"`, `"bmes"`; None for tags without spans.
        use_crf: bool. Whether neighbouring tags have scores; else each token is for itself.
        constrain: where only the scheme's transitions are allowed: `"both"` in the CRF's loss
            and in decoding, `"decode"`, or `"none"`.
        dropout: float in [0, 1). Of the encoder's output, in training.
        transition_learning_rate: float. Factor on the learning rate of the CRF's scores.
        use_projection: bool. False where the encoder's output has one score per tag already.
        linear: `LinearEncoder` with one unit per tag; None for none. A linear model of the
            tokens and pairs around each token, whose scores are added to the encoder's: what
            a neural tagger forgets of rare, telling pairs on little data.
        use_xla: bool. Whether XLA compiles the CRF's loss. A step of training then takes
            some 5 ms less, but each new shape of a batch seconds: for long runs of few shapes.

    Call arguments:
        features: what the encoder reads, mostly a dict.
        training: bool. Whether dropout is active.

    Returns:
        dict with `emissions` float32 `[B, T, K]`, zero on padding, and `mask` bool `[B, T]`.
        `predict` and `tag` return what was decoded, see there.

    Training: elements are `(features, tags int [B, T])`, or with weights `[B]` or `[B, T]` as
    a third. What stands under padding is ignored. Training logs `loss`; evaluation decodes, and
    logs `accuracy` over tokens and, with a scheme, `span_f1` too.

    Raises:
        ValueError: for tags outside the scheme, doubled tags, or options that make no sense.
        tf.errors.InvalidArgumentError: in training, for tag ids outside `0..K-1`.

    Reference: Huang, Xu and Yu, 2015, "Bidirectional LSTM-CRF Models for Sequence Tagging", which
    also connects context features to the output directly, as `linear` does.

    Example:
    >>> from tfreps.models import BiLSTMEncoder, TokenEmbedder
    >>> encoder = BiLSTMEncoder(TokenEmbedder(vocabulary_size=9), units=4)
    >>> tagger = Tagger(encoder, ["O", "B-PER", "I-PER"], scheme="bio")
    >>> sorted(tagger.tag({"token_ids": tf.constant([[3, 9, 0]])}))
    ['confidences', 'mask', 'tags']
    """

    def __init__(
        self,
        encoder,
        tags,
        scheme=None,
        use_crf=True,
        constrain="both",
        dropout=0.5,
        transition_learning_rate=1.0,
        use_projection=True,
        use_xla=False,
        linear=None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.encoder = encoder
        self.tags = list(tags)
        self.scheme = scheme
        self.use_crf = use_crf
        self.constrain = constrain
        self.dropout = dropout
        self.transition_learning_rate = transition_learning_rate
        self.use_projection = use_projection
        self.use_xla = use_xla
        self.linear = linear
        _check(self)
        # Layers.
        shape = encoder.output_dim, len(self.tags)
        if use_projection:
            self.kernel = self._add("kernel", shape, "glorot_uniform")
        self.bias = self._add("bias", shape[1:], "zeros")
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        is_free = scheme is None or constrain == "none"
        self.crf = CRF(
            len(self.tags),
            allowed_transitions=None if is_free else allowed_transitions(self.tags, scheme),
            constrain="both" if constrain == "both" else "decode",
            transition_learning_rate=transition_learning_rate,
            use_xla=use_xla,
            trainable=use_crf and self.trainable,  # zeros for ever: a softmax, decoded as a CRF
            dtype="float32",
            name="crf",
        )
        self.crf.build((None, None, len(self.tags)))
        self.built = True
        # Metrics.
        self.sentence_loss = SentenceLoss()
        self.test_metrics = [TokenAccuracy(name="accuracy")]
        if scheme is not None:
            self.test_metrics.append(SpanF1(self.tags, scheme, name="span_f1"))

    def call(self, features, training=False):
        encoded = self.encoder(features, training=training)
        x = encoded["sequence_output"]  # [B, T, D]
        mask = encoded["mask"]  # [B, T]
        x = self.drop(tf.cast(x, "float32"), training=training)
        if self.use_projection:
            flat = tf.reshape(x, [-1, self.kernel.shape[0]])
            x = product(flat, self.kernel, self.compute_dtype)
            x = tf.reshape(x, [*tf.unstack(tf.shape(mask)), len(self.tags)])
        x += tf.cast(self.bias, "float32")
        if self.linear is not None:
            x += self.linear(features, training=training)["sequence_output"]
        return {"emissions": tf.where(mask[..., None], x, 0.0), "mask": mask}

    def tag(self, features):
        """Tags sentences; works in a graph and in an export.

        Args:
            features: dict, as in a call.

        Returns:
            dict with `tags` int32 `[B, T]`, the best sequence, 0 on padding;
            `confidences` float32 `[B, T]`, the marginal probability of each of these tags, 0
            on padding; `mask` bool `[B, T]`.
        """
        outputs = self(features)
        tags, _ = self.decode(outputs)
        confidences = tf.gather(self.marginals(outputs), tags, batch_dims=2)  # [B, T]
        confidences = tf.where(outputs["mask"], confidences, 0.0)
        return {"tags": tags, "confidences": confidences, "mask": outputs["mask"]}

    def decode(self, features, k=None):
        """The best sequences of tags, and their scores.

        Args:
            features: dict, as in a call; or the dict that a call returned.
            k: int. How many sequences; None for one.

        Returns:
            `tags` int32 `[B, T]` and `score` float32 `[B]`; with `k`, `[B, k, T]` and `[B, k]`,
            best first.
        """
        return self.crf.decode(*self._scores(features), k=k, use_xla=False)

    def marginals(self, features):
        """Probability of each tag at each token, float32 `[B, T, K]`; `features` as of `decode`."""
        return self.crf.marginals(*self._scores(features), use_xla=False)

    def transition_scores(self):
        """Scores of a tag (row) before another: float32 `[K, K]`, NaN where that is forbidden.

        None without a CRF.
        """
        if not self.use_crf:
            return None
        scores = tf.cast(self.crf.transitions, "float32")
        allowed = self.crf.allowed_transitions
        if allowed is None:
            return scores
        return tf.where(tf.constant(allowed)[: len(self.tags), : len(self.tags)], scores, np.nan)

    def log_normalizer(self, features):
        """What the score of a path exceeds its log probability by: float32 `[B]`."""
        return self.crf.log_normalizer(*self._scores(features), use_xla=False)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        emissions = y_pred["emissions"]
        mask = y_pred["mask"]
        y = _checked(y, mask, len(self.tags))
        if not training:
            tags, _ = self.decode(y_pred)
            for metric in self.test_metrics:
                metric.update_state(y, tags, sample_weight=mask)
        if self.use_crf:
            loss = self.crf.loss(emissions, y, mask, sample_weight)
        else:
            loss = _cross_entropy(emissions, y, mask, sample_weight)
        penalty = sum(tf.cast(term, "float32") for term in self.losses)
        self.sentence_loss.update_state(loss, tf.shape(y)[0], sample_weight, penalty)
        return loss + penalty

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        results = super().compute_metrics(x, y, y_pred, sample_weight)
        for metric in self.test_metrics:  # `test_step` adds them: training does not decode
            results.pop(metric.name)
        results["loss"] = results.pop(self.sentence_loss.name)
        return results

    def test_step(self, data):
        logs = super().test_step(data)
        return {**logs, **{metric.name: metric.result() for metric in self.test_metrics}}

    def predict_step(self, data):
        return self.tag(keras.utils.unpack_x_y_sample_weight(data)[0])

    def predict(self, x, *args, **kwargs):
        """As `keras.Model.predict`, of what `tag` returns, in NumPy.

        Batches of a `tf.data.Dataset` may have different lengths: all are padded to the longest.
        """
        if not isinstance(x, tf.data.Dataset):
            return super().predict(x, *args, **kwargs)
        elements = (keras.utils.unpack_x_y_sample_weight(element)[0] for element in x)
        batches = [self.predict_on_batch(features) for features in elements]
        if not batches:
            raise ValueError("There is no batch to predict: the data set is empty.")
        longest = max(batch["mask"].shape[1] for batch in batches)
        return {name: np.concatenate([_pad(b[name], longest) for b in batches]) for name in OUTPUTS}

    def _frozen_by_options(self):
        """See `WholeModel`: without a CRF the transitions stay zeros, for plain decoding."""
        return [] if self.use_crf else [self.crf]

    @classmethod
    def from_pretrained(cls, path, tags=None, encoder_options=None, **options):
        """Loads a published tagger: BERT and its head, see `BertEncoder.from_pretrained`.

        For a new head: `Tagger(BertEncoder.from_pretrained(path), tags)`.

        Args:
            path: as there; with a head over tags, as transformers'
                `BertForTokenClassification` has it.
            tags: list of str. Names to use; None for those of the checkpoint.
            encoder_options: dict. Options of the encoder in place of the checkpoint's.
            **options: options of `Tagger`. By default it has a softmax, as theirs has; with
                `use_crf=True` the scores of the CRF are new.

        Raises:
            ValueError: as there; also for a checkpoint without such a head.
        """
        return converter(cls, "pretrained").read(path, tags, encoder_options or {}, **options)

    def save_pretrained(self, path):
        """Writes a folder that transformers' `BertForTokenClassification` loads.

        Args:
            path: folder; made if it is not there.

        Raises:
            ValueError: for another encoder than `BertEncoder`, a CRF, no projection or a `linear`.
        """
        converter(type(self), "pretrained").write(self, path)

    @property
    def classes(self):
        """The names of the tags: what taggers and classifiers tell apart."""
        return self.tags

    def _scores(self, given):
        """Emissions and mask, from features or from what a call returned."""
        is_output = isinstance(given, dict) and "emissions" in given
        outputs = given if is_output else self(given)
        emissions = outputs["emissions"]
        emissions = emissions if self.use_crf else tf.nn.log_softmax(emissions)
        return emissions, outputs["mask"]

    def _add(self, name, shape, initializer):
        return self.add_weight(name=name, shape=shape, initializer=initializer, autocast=False)


OUTPUTS = "tags", "confidences", "mask"


def _cross_entropy(logits, y, mask, sample_weight):
    """Mean over sentences of the sum over tokens."""
    nll = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)  # [B, T]
    nll = tf.where(mask, nll, 0.0)
    if sample_weight is not None:
        weight = tf.cast(sample_weight, "float32")
        nll *= weight[:, None] if weight.shape.rank == 1 else weight
    return tf.reduce_mean(tf.reduce_sum(nll, axis=1))


def _checked(y, mask, num_tags):
    """The tags, 0 under padding, once it is sure that the others are in range."""
    y = tf.where(mask, tf.cast(y, "int32"), 0)
    in_range = tf.reduce_all(tf.logical_and(y >= 0, y < num_tags))
    check = tf.debugging.assert_equal(in_range, True, f"tag ids must lie in 0..{num_tags - 1}")
    with tf.control_dependencies([] if check is None else [check]):
        return tf.identity(y)


def _pad(array, columns):
    return np.pad(array, [(0, 0), (0, columns - array.shape[1])])


def _check(model):
    tags = model.tags
    are_names = all(isinstance(tag, str) and tag for tag in model.tags)
    if not tags or not are_names or len(set(tags)) < len(tags):
        raise ValueError(f"`tags` must be names, one at least and no two alike; got {tags}.")
    if model.constrain not in CONSTRAIN:
        raise ValueError(f"`constrain` must be one of {CONSTRAIN}; got {model.constrain!r}.")
    if not 0 <= model.dropout < 1:
        raise ValueError(f"`dropout` must be at least 0 and below 1; got {model.dropout}.")
    if not hasattr(model.encoder, "output_dim"):
        raise ValueError(
            "`encoder` must tell the width of its `sequence_output` in `output_dim`; "
            f"{type(model.encoder).__name__} has none."
        )
    if not model.use_projection and model.encoder.output_dim != len(model.tags):
        raise ValueError(
            "Without a projection the encoder's output must have one score per tag, "
            f"{len(model.tags)}; it has {model.encoder.output_dim}."
        )
    if model.linear is not None and model.linear.output_dim != len(model.tags):
        raise ValueError(
            f"`linear` must have one unit per tag, {len(model.tags)}; "
            f"it has {model.linear.output_dim}."
        )
