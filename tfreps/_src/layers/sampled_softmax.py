"""SampledSoftmax: language model loss over a large vocabulary."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.annotations import Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.log_uniform import LogUniformSampler
from tfreps._src.layers.ops.matmul import matmul

MAX_LOGITS = 1 << 24  # maximum number of logits in memory during evaluation, which take 64 MiB


@keras.saving.register_keras_serializable(package="tfreps")
class SampledSoftmax(Configurable, keras.layers.Layer):
    """Negative log-likelihood of the next token, with a sampled softmax in training.

        full:     nll = logsumexp_v(z_v) - z_target,        z_v = x @ kernel[v] + bias[v]
        sampled:  nll = logsumexp_v(z'_v) - z'_target,      z'_v = z_v - log q(v),
                  where v is the target or a negative

    The negatives are distinct, drawn from a log-uniform distribution (which assumes that ids are
    sorted by decreasing count) and shared by all positions of a group. `q(v)` is the expected count
    of token `v` in the sample. A negative that equals the target of a position is not counted
    twice. The draws depend only on `seed` and on the weight `draws`, which counts the training
    steps.

    Args:
        vocabulary_size: int. Number of tokens in the vocabulary.
        num_sampled: int. Number of negatives, smaller than `vocabulary_size`. If `None` or 0, the
            full softmax is used in training as well. Defaults to `None`.
        seed: int. Random seed for the negatives. Defaults to 0.
        tie_embeddings: bool. If True, the kernel is a token embedding that is passed to each call,
            and this layer has no kernel of its own. Defaults to `False`.

    Call arguments:
        inputs: float, shape `[G, N, D]`. Features of `G` groups (directions) with `N`
            positions each.
        targets: int, shape `[G, N]`. Token ids in `0 .. vocabulary_size - 1`.
        kernel: float, shape `[vocabulary_size, D]`. Required with `tie_embeddings=True`.
            If `None`, the layer's own kernel is used.
        training: bool. Whether to use the sampled softmax. Defaults to `False`.

    Returns:
        float32, shape `[G, N]`. Negative log-likelihoods in nats.

    Masking: masks are not supported. The caller excludes padding from the sum.

    Raises:
        ValueError: If `num_sampled` is negative or not smaller than `vocabulary_size`, or if the
            number of groups is not known when a sampled softmax is traced.

    Reference: Jean et al., 2014, "On Using Very Large Target Vocabulary for Neural Machine
    Translation", section 3. The sampled loss agrees with `tf.nn.sampled_softmax_loss`.

    Example:
    >>> softmax = SampledSoftmax(vocabulary_size=10)
    >>> softmax(tf.zeros([1, 2, 4]), tf.constant([[3, 7]])).numpy().round(4)
    array([[2.3026, 2.3026]], dtype=float32)
    """

    def __init__(
        self,
        vocabulary_size: int,
        num_sampled: int | None = None,
        seed: int = 0,
        tie_embeddings: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.vocabulary_size = vocabulary_size
        self.num_sampled = num_sampled
        self.seed = seed
        self.tie_embeddings = tie_embeddings
        self.sampler = LogUniformSampler(num_sampled, vocabulary_size) if num_sampled else None
        self.supports_jit = False

    def build(self, input_shape: Shape, *_: Any) -> None:
        dim = input_shape[-1]
        if not self.tie_embeddings:
            normal = keras.initializers.RandomNormal(stddev=dim**-0.5)
            self.kernel = self._add("kernel", (self.vocabulary_size, dim), normal)
        self.bias = self._add("bias", (self.vocabulary_size,))
        self.draws = self.add_weight(
            name="draws", shape=(), dtype="int64", initializer="zeros", trainable=False
        )

    def call(
        self,
        inputs: tf.Tensor,
        targets: tf.Tensor,
        kernel: tf.Tensor | None = None,
        training: bool = False,
    ) -> tf.Tensor:
        features = tf.cast(inputs, "float32")
        kernel = tf.convert_to_tensor(self.kernel if kernel is None else kernel)
        bias = tf.convert_to_tensor(self.bias)
        if training and self.num_sampled:
            return self._sampled(features, targets, kernel, bias)
        flat = tf.reshape(features, [-1, features.shape[-1]])  # [G*N, D]
        nll = self._full(flat, tf.reshape(targets, [-1]), kernel, bias, training)
        return tf.reshape(nll, tf.shape(targets))

    def compute_output_shape(self, input_shape: Shape, *_: Any, **__: Any) -> Shape:
        return tuple(input_shape[:-1])

    def _full(self, features, targets, kernel, bias, training):
        def nll(features, targets):
            logits = matmul(features, kernel, self.compute_dtype, True)  # [N, V]
            logits += tf.cast(bias, "float32")
            return _logsumexp(logits) - tf.gather(logits, targets, batch_dims=1)  # [N]

        rows = max(1, MAX_LOGITS // self.vocabulary_size)
        if training:
            return nll(features, targets)

        def some(start, parts):
            part = nll(features[start : start + rows], targets[start : start + rows])
            return start + rows, tf.concat([parts, part], 0)

        _, result = tf.while_loop(
            lambda start, _: start < tf.size(targets),
            some,
            (0, tf.zeros([0])),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
        )
        return result

    def _sampled(self, features, targets, kernel, bias):
        targets = tf.cast(targets, "int64")
        groups = features.shape[0]
        if groups is None:
            raise ValueError(
                "`inputs` must have a known number of groups, because each group draws its own "
                f"negatives; got shape {features.shape}. Set the size of the first axis, for "
                "example with `tf.ensure_shape`."
            )
        step = self.draws.value
        seeds = [tf.stack([self.seed, step * groups + g]) for g in range(groups)]
        negatives, tries = zip(*(self.sampler.draw(seed) for seed in seeds), strict=True)
        self.draws.assign_add(1)
        negatives = tf.stack(negatives)  # [G, S]
        tries = tf.stack(tries)[:, None]  # [G, 1]

        # Each required row of the kernel is read once, so that the sparse gradient contains the
        # row once.
        wanted = tf.concat([tf.reshape(targets, [-1]), tf.reshape(negatives, [-1])], 0)
        distinct, which = tf.unique(wanted)
        rows = tf.gather(kernel, distinct)  # [U, D]
        row_bias = tf.cast(tf.gather(bias, distinct), "float32")  # [U]
        at_target = tf.reshape(which[: tf.size(targets)], tf.shape(targets))  # [G, N]
        at_negative = tf.reshape(which[tf.size(targets) :], tf.shape(negatives))  # [G, S]

        target_rows = tf.cast(tf.gather(rows, at_target), "float32")  # [G, N, D]
        z_target = tf.reduce_sum(features * target_rows, -1) + tf.gather(row_bias, at_target)
        z_target -= self.sampler.log_expected_count(targets, tries)  # [G, N]
        z = matmul(features, tf.gather(rows, at_negative), self.compute_dtype, True)
        offset = tf.gather(row_bias, at_negative)
        offset -= self.sampler.log_expected_count(negatives, tries)  # [G, S]
        z_negatives = _logsumexp(z + offset[:, None])  # [G, N]

        # If the target is a negative, the sum over the negatives already contains its logit.
        drawn = _among(at_target, at_negative, tf.size(distinct))  # [G, N]
        alone = tf.where(drawn, z_target.dtype.min, z_target)
        high = tf.stop_gradient(tf.maximum(z_negatives, alone))
        total = tf.exp(z_negatives - high) + tf.exp(alone - high)
        return high + tf.math.log(total) - z_target


@tf.custom_gradient
def _logsumexp(z):
    """Computes log(sum(exp(z))) over the last axis and stores the exponentials for the gradient."""
    highest = tf.reduce_max(z, axis=-1, keepdims=True)
    weights = tf.exp(z - highest)
    total = tf.reduce_sum(weights, axis=-1, keepdims=True)

    def gradient(d):
        return weights * (d[..., None] / total)

    return (highest + tf.math.log(total))[..., 0], gradient


def _among(at_target, at_negative, size):
    """Returns whether each target is among the negatives of its group, bool `[G, N]`.

    `at_target` `[G, N]` and `at_negative` `[G, S]` are row numbers below `size`.
    """
    groups = tf.shape(at_negative)[0]
    group = tf.broadcast_to(tf.range(groups)[:, None], tf.shape(at_negative))
    where = tf.stack([group, at_negative], axis=-1)  # [G, S, 2]
    drawn = tf.scatter_nd(where, tf.ones_like(at_negative), [groups, size])  # [G, U]
    return tf.gather(drawn, at_target, batch_dims=1) > 0
