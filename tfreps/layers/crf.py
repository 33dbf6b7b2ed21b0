"""CRF: scores of neighbouring tags over the scores of tags, trained and decoded together."""

import keras
import numpy as np
import tensorflow as tf

from tfreps.layers import chain

CONSTRAIN = ("both", "decode")
# What a forbidden transition in a gold path costs: in nats, and finite.
ILLEGAL_COST = 1e4


@keras.saving.register_keras_serializable(package="tfreps")
class CRF(keras.layers.Layer):
    def __init__(
        self,
        num_tags,
        allowed_transitions=None,
        constrain="both",
        transition_learning_rate=1.0,
        start_initializer="zeros",
        transition_initializer="zeros",
        end_initializer="zeros",
        l2=0.0,
        jit_compile="auto",
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        _check_options(num_tags, constrain, transition_learning_rate, jit_compile)
        if allowed_transitions is not None:
            allowed_transitions = _checked_transitions(allowed_transitions, num_tags)
        self.supports_masking = True
        self.num_tags = num_tags
        self.allowed_transitions = allowed_transitions
        self.constrain = constrain
        self.transition_learning_rate = transition_learning_rate
        self.start_initializer = start_initializer
        self.transition_initializer = transition_initializer
        self.end_initializer = end_initializer
        self.l2 = l2
        self.jit_compile = jit_compile

    def build(self, input_shape):
        if input_shape[-1] != self.num_tags:
            raise ValueError(
                f"Emissions need one score per tag: the layer has {self.num_tags} tags, the input "
                f"has shape {tuple(input_shape)}."
            )
        self.start_weights = self._add("start_scores", 1, self.start_initializer)
        self.transition_weights = self._add("transitions", 2, self.transition_initializer)
        self.end_weights = self._add("end_scores", 1, self.end_initializer)

    def _add(self, name, rank, initializer):
        rate, initializer = self.transition_learning_rate, keras.initializers.get(initializer)
        return self.add_weight(
            name=name,
            shape=(self.num_tags,) * rank,
            initializer=lambda shape, dtype: initializer(shape, dtype) / rate,
            regularizer=keras.regularizers.L2(self.l2 * rate**2) if self.l2 else None,
            autocast=False,
        )

    @property
    def start_scores(self):
        return _times(self.start_weights, self.transition_learning_rate)

    @property
    def transitions(self):
        return _times(self.transition_weights, self.transition_learning_rate)

    @property
    def end_scores(self):
        return _times(self.end_weights, self.transition_learning_rate)

    def set_scores(self, transitions=None, start_scores=None, end_scores=None):
        rate = self.transition_learning_rate
        given = transitions, start_scores, end_scores
        weights = self.transition_weights, self.start_weights, self.end_weights
        for weight, scores in zip(weights, given, strict=True):
            if scores is not None:
                weight.assign(np.asarray(scores, "float32") / rate)

    def call(self, emissions, mask=None, tags=None, sample_weight=None):
        if tags is not None:
            self.add_loss(self.loss(emissions, tags, mask, sample_weight))
        return self.decode(emissions, mask)

    def log_likelihood(self, emissions, tags, mask=None):
        emissions, mask = _as_tensors(emissions, mask)
        constrained = self.constrain == "both"
        run = self._compiled(_log_likelihood, is_loss=True)
        return run(
            emissions,
            tags,
            mask,
            self._scores(ILLEGAL_COST, constrained),
            self._scores(np.inf, constrained),
        )

    def path_score(self, emissions, tags, mask=None):
        return chain.path_score(emissions, tags, mask, *self._scores(ILLEGAL_COST))

    def loss(self, emissions, tags, mask=None, sample_weight=None):
        """Mean."""
        nll = -self.log_likelihood(emissions, tags, mask)
        if sample_weight is not None:
            nll *= tf.cast(sample_weight, "float32")
        return tf.reduce_mean(nll)

    def decode(self, emissions, mask=None, k=None, jit_compile=None):
        emissions, mask = _as_tensors(emissions, mask)
        run = self._compiled(chain.viterbi, asked=jit_compile)
        return run(emissions, mask, *self._scores(np.inf))

    def marginals(self, emissions, mask=None, jit_compile=None):
        emissions, mask = _as_tensors(emissions, mask)
        run = self._compiled(chain.marginals, asked=jit_compile)
        return run(emissions, mask, *self._scores(np.inf))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape[:2]), tuple(input_shape[:1])

    def compute_output_spec(self, emissions, mask=None, tags=None, sample_weight=None):
        tags, score = self.compute_output_shape(emissions.shape)
        return keras.KerasTensor(tags, "int32"), keras.KerasTensor(score, "float32")

    def compute_mask(self, inputs, mask=None):
        return mask, None

    def get_config(self):
        return {
            **super().get_config(),
            "num_tags": self.num_tags,
            "allowed_transitions": self.allowed_transitions,
            "constrain": self.constrain,
            "transition_learning_rate": self.transition_learning_rate,
            "start_initializer": self.start_initializer,
            "transition_initializer": self.transition_initializer,
            "end_initializer": self.end_initializer,
            "l2": self.l2,
            "jit_compile": self.jit_compile,
        }

    def _scores(self, cost, constrained=True):
        scores = self.transitions, self.start_scores, self.end_scores
        if self.allowed_transitions is None or not constrained:
            return scores
        n, allowed = self.num_tags, np.array(self.allowed_transitions)
        parts = allowed[:n, :n], allowed[n, :n], allowed[:n, n + 1]
        return tuple(tf.where(a, s, -cost) for a, s in zip(parts, scores, strict=True))

    def _compiled(self, function, is_loss=False, asked=None):
        jit = self.jit_compile if asked is None else asked
        if jit == "auto":
            jit = is_loss or tf.executing_eagerly()
        if not jit:
            return function
        if function not in _COMPILED:
            _COMPILED[function] = tf.function(function, jit_compile=True, reduce_retracing=True)
        return _COMPILED[function]


_COMPILED = {}


def _log_likelihood(emissions, tags, mask, gold_scores, scores):
    score = chain.path_score(emissions, tags, mask, *gold_scores)
    total = chain.log_normalizer(emissions, mask, *scores)
    impossible = total == float("-inf")  # false for NaN, which stays NaN
    score = tf.where(impossible, tf.stop_gradient(score), score)
    return score - tf.where(impossible, 0.0, total)


def _as_tensors(emissions, mask):
    emissions = tf.cast(emissions, "float32")
    mask = tf.ones(tf.shape(emissions)[:2], "bool") if mask is None else tf.cast(mask, "bool")
    return emissions, mask


def _times(weights, rate):
    @tf.custom_gradient
    def times(weights):
        return weights * rate, lambda d: d

    weights = tf.convert_to_tensor(weights)
    return weights if rate == 1.0 else times(weights)


def _check_options(num_tags, constrain, rate, jit_compile):
    if num_tags < 1:
        raise ValueError(f"`num_tags` must be at least 1, got {num_tags}.")
    if constrain not in CONSTRAIN:
        raise ValueError(f"`constrain` must be one of {CONSTRAIN}, got {constrain!r}.")
    if rate <= 0.0:
        raise ValueError(f"`transition_learning_rate` must be positive, got {rate}.")
    if jit_compile not in ("auto", True, False):
        raise ValueError(f'`jit_compile` must be "auto", True or False, got {jit_compile!r}.')


def _checked_transitions(allowed, num_tags):
    """Nested lists of bool, `[K + 2, K + 2]`, with which one sentence at least is legal."""
    allowed, size = np.asarray(allowed, "bool"), num_tags + 2
    if allowed.shape != (size, size):
        raise ValueError(
            f"`allowed_transitions` must have shape [K + 2, K + 2] = {[size, size]}, its last row "
            f"and column but one the start and the last the end; got {list(allowed.shape)}."
        )
    reached = allowed[num_tags, :num_tags]
    for _ in range(num_tags):
        reached = reached | (reached @ allowed[:num_tags, :num_tags])
    if not (reached & allowed[:num_tags, num_tags + 1]).any():
        raise ValueError(
            "`allowed_transitions` leaves no legal sequence: no way leads from the start (row "
            f"{num_tags}) over any tag to the end (column {num_tags + 1})."
        )
    return allowed.tolist()
