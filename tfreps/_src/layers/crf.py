"""CRF: a linear-chain conditional random field with learned tag transitions."""

from collections.abc import Sequence
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_integers, check_positive
from tfreps._src.layers.ops import chain, crf_loss
from tfreps._src.layers.ops.annotations import Array, Initializer, JitCompile, Regularizer, Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.crf_loss import check_weights_of_soft, checked_transitions, constrained
from tfreps._src.layers.ops.hidden_masks import check_mask_of, hidden_mask
from tfreps._src.layers.ops.learning_rates import ScoreRegularizer, times
from tfreps._src.layers.ops.masks import (
    check_shape,
    checked_tag_values,
    checked_targets,
    full_mask,
    has_tag_values,
    unpadded,
)
from tfreps._src.layers.ops.portable import check_not_exported_by_keras

CONSTRAIN = ("both", "decode")
REDUCTIONS = "mean", "sum", "token_mean", "none"


@keras.saving.register_keras_serializable(package="tfreps")
class CRF(Configurable, keras.layers.Layer):
    """Linear-chain conditional random field over the tags of a sentence.

        score(y)   = start[y_1] + sum_t emissions[t, y_t] + sum_{t>1} transitions[y_{t-1}, y_t]
                     + end[y_n]
        p(y)       = exp(score(y)) / Z,    Z = sum over all sequences y' of exp(score(y'))

    The sums run over the real tokens, and masked positions are skipped.

    To train a model whose only output is the tags, use `tfreps.models.Tagger`, which has this layer
    inside and takes the tags as `y` of `fit`. In a model with other heads, pass the tags to the
    layer as an input; it adds its loss to the model.

    With `allowed_transitions`, each step from the start to a tag, from a tag to the next, or from
    a tag to the end is either allowed or forbidden. A forbidden step has the score `-inf`:
    `decode` never returns a sequence that contains one, and `marginals` gives such sequences
    probability 0, whatever the emissions are. With `constrain="both"`, `Z` in the loss excludes
    these sequences as well. Each forbidden step in a target sequence then costs 10,000 nats, so
    that the loss stays finite and such targets are easy to notice. If a sentence has a length for
    which no legal sequence exists, `decode` returns the score `-inf` and meaningless tags, and with
    `constrain="both"` the loss of the sentence has no gradient.

    Args:
        num_tags: int. Number of tags `K`, at least 1.
        allowed_transitions: bool, array or nested lists of shape `[K + 2, K + 2]`, [from, to]. Row
            and column `K` are the start of a sentence, and row and column `K + 1` are its end.
            `tfreps.tags.TagSet` creates the table of a tag scheme. If `None`, all transitions are
            allowed. Defaults to `None`.
        constrain: str. `"both"` applies the constraints to the loss and to decoding, `"decode"` to
            decoding only. Has no effect without `allowed_transitions`. Defaults to `"both"`.
        transition_learning_rate_factor: float. Factor that multiplies the learning rate of the
            start, end and transition scores, with any optimizer. The weights store the scores
            divided by it, and the gradient of the scores is passed to the weights unscaled. Values
            of 10 to 1000 help with an encoder that is fine-tuned at a learning rate near 1e-5.
            Defaults to 1.0.
        start_initializer: str, config or Keras initializer of the start scores. Defaults to
            `"zeros"`.
        transition_initializer: str, config or Keras initializer of the transition scores.
            Defaults to `"zeros"`.
        end_initializer: str, config or Keras initializer of the end scores. Defaults to
            `"zeros"`.
        score_regularizer: str, config or Keras regularizer of the start, transition and end
            scores, such as `keras.regularizers.L2(0.01)`. It is called with the scores themselves,
            whatever `transition_learning_rate_factor` is. If `None`, there is no penalty. Defaults
            to `None`.
        jit_compile: bool or `"auto"`. Whether to compile the computations of the layer with XLA.
            `"auto"` always compiles the losses, including inside `fit`. It compiles decoding,
            marginals and the other scores only in eager calls, so that an export consists of
            plain operations. The results are equal up to rounding. XLA takes about a second to
            compile each new batch shape. Use it if batches have few different shapes.
            Defaults to `False`.

    Call arguments:
        inputs: float, shape `[B, T, K]`: the emissions. The computation uses float32 or better.
        mask: bool, shape `[B, T]`. True on real tokens, which may be at any position. If `None`,
            the mask that Keras computes is used, for example with `Embedding(mask_zero=True)`;
            without one, all tokens are real. Pass it if tensors with and without a mask are merged.
            `loss`, `decode` and the other methods use only the mask that is passed to them.
        tags: int, shape `[B, T]`, 0 to K - 1 at real tokens, or float, shape `[B, T, K]`, for soft
            labels, or bool, shape `[B, T, K]`, for sets of possible tags (see `loss`). If given,
            `loss` is added to the losses of the model. Defaults to `None`.
        sample_weight: float, shape `[B]` or `[B, T]`. Weights of the sentences or tokens in
            `loss`. Has no effect without `tags`. If `None`, all weights are 1.

    Returns:
        Tuple `(tags, score)`. `tags` is int32 `[B, T]`: the best sequence of tags, 0 where masked.
        `score` is float32 `[B]`: `score(y)` of this sequence.

    Masking: emissions at masked positions, including NaN, are ignored. A NaN or `+inf` at a real
    token makes the score of its sentence and the loss of the batch NaN; the sentence is decoded as
    if all its emissions were 0.

    Raises:
        ValueError: If an option is invalid, `allowed_transitions` permits no sequence, or a call
            argument has the wrong shape.
        tf.errors.InvalidArgumentError: If a tag at a real token is outside 0 to K - 1, or soft
            labels are not probabilities. XLA ignores this check: in a model with
            `jit_compile=True`, the loss for such a tag is NaN.

    Reference: Lafferty, McCallum and Pereira, 2001, "Conditional Random Fields"; Huang, Xu and
    Yu, 2015, "Bidirectional LSTM-CRF Models for Sequence Tagging", for a CRF on a BiLSTM.

    Example, with a model that takes the tags as an input and a tagger that shares its layers:
    >>> ids, tags = keras.Input([None], dtype="int32"), keras.Input([None], dtype="int32")
    >>> emissions = keras.layers.Embedding(10, 3)(ids)  # the encoder
    >>> crf = CRF(3)
    >>> model = keras.Model([ids, tags], crf(emissions, mask=ids > 0, tags=tags)[0])
    >>> model.compile("adam")
    >>> x = np.array([[1, 2, 3, 0], [3, 1, 0, 0]])
    >>> history = model.fit([x, x % 3], epochs=1, verbose=0)
    >>> tagger = keras.Model(ids, crf(emissions, mask=ids > 0))
    >>> best, score = tagger.predict(x, verbose=0)
    >>> best.shape, score.shape
    ((2, 4), (2,))
    """

    def __init__(
        self,
        num_tags: int,
        allowed_transitions: np.ndarray | Sequence[Sequence[bool]] | None = None,
        constrain: Literal["both", "decode"] = "both",
        transition_learning_rate_factor: float = 1.0,
        start_initializer: Initializer = "zeros",
        transition_initializer: Initializer = "zeros",
        end_initializer: Initializer = "zeros",
        score_regularizer: Regularizer | None = None,
        jit_compile: JitCompile = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, num_tags=num_tags)
        check_choice(CONSTRAIN, constrain=constrain)
        check_positive(transition_learning_rate_factor=transition_learning_rate_factor)
        if jit_compile not in ("auto", True, False):
            raise ValueError(f'`jit_compile` must be "auto", True or False; got {jit_compile!r}.')
        if allowed_transitions is not None:
            allowed_transitions = checked_transitions(allowed_transitions, num_tags)
        self.supports_masking = True
        self.num_tags = num_tags
        self.allowed_transitions = allowed_transitions
        self.constrain = constrain
        self.transition_learning_rate_factor = transition_learning_rate_factor
        self.start_initializer = start_initializer
        self.transition_initializer = transition_initializer
        self.end_initializer = end_initializer
        self.score_regularizer = score_regularizer
        self.jit_compile = jit_compile

    def build(self, input_shape: Shape) -> None:
        if input_shape[-1] != self.num_tags:
            raise ValueError(
                f"`emissions` must have one score for each of the {self.num_tags} tags; got shape "
                f"{tuple(input_shape)}. Change `num_tags` or the last axis."
            )
        self.start_weights = self._add_of("start_weights", 1, self.start_initializer)
        self.transition_weights = self._add_of("transition_weights", 2, self.transition_initializer)
        self.end_weights = self._add_of("end_weights", 1, self.end_initializer)

    def _add_of(self, name, rank, initializer):
        rate = self.transition_learning_rate_factor
        initializer = keras.initializers.get(initializer)
        regularizer = keras.regularizers.get(self.score_regularizer)
        return self.add_weight(
            name=name,
            shape=(self.num_tags,) * rank,
            initializer=lambda shape, dtype: initializer(shape, dtype) / rate,
            regularizer=None if regularizer is None else ScoreRegularizer(regularizer, rate),
            autocast=False,
        )

    @property
    def start_scores(self) -> tf.Tensor:
        """Score of each tag as the first tag: float32 `[K]`. The layer must have been built."""
        return times(self._scores_in("start_weights"), self.transition_learning_rate_factor)

    @property
    def transitions(self) -> tf.Tensor:
        """Learned transition scores without the constraints: float32 `[K, K]`, [from, to]."""
        return times(self._scores_in("transition_weights"), self.transition_learning_rate_factor)

    @property
    def end_scores(self) -> tf.Tensor:
        """Score of each tag as the last tag: float32 `[K]`. The layer must have been built."""
        return times(self._scores_in("end_weights"), self.transition_learning_rate_factor)

    def set_scores(
        self,
        transitions: Array | None = None,
        start_scores: Array | None = None,
        end_scores: Array | None = None,
    ) -> None:
        """Sets the scores of a built layer. Scores that are `None` stay unchanged.

        Args:
            transitions: float, shape `[K, K]`, [from, to]. Transition scores. Defaults to `None`.
            start_scores: float, shape `[K]`. Score of each tag as the first tag. Defaults to
                `None`.
            end_scores: float, shape `[K]`. Score of each tag as the last tag. Defaults to `None`.

        Raises:
            ValueError: If the layer is not built, or scores have the wrong shape.
        """
        given = {"transitions": transitions, "start_scores": start_scores, "end_scores": end_scores}
        weights = map(self._scores_in, ("transition_weights", "start_weights", "end_weights"))
        for weight, (name, scores) in zip(weights, given.items(), strict=True):
            if scores is not None:
                scores = np.asarray(scores, "float32")
                if scores.shape != tuple(weight.shape):
                    raise ValueError(
                        f"`{name}` must have the shape {tuple(weight.shape)}, because the layer "
                        f"has {self.num_tags} tags; got shape {scores.shape}."
                    )
                weight.assign(scores / self.transition_learning_rate_factor)

    def _scores_in(self, name):
        """Returns the weight with the given name; raises a ValueError if the layer is not built."""
        if not self.built:
            raise ValueError(
                f"The layer {self.name!r} must be built before its scores are read or set; got a "
                f"layer that is not built. Call `build([None, None, {self.num_tags}])` first."
            )
        return getattr(self, name)

    def call(
        self,
        inputs: tf.Tensor,
        mask: tf.Tensor | None = None,
        tags: tf.Tensor | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        check_not_exported_by_keras()
        if mask is None:  # Keras passes its own mask only if a call has a single tensor
            mask = hidden_mask(inputs)
        if tags is not None:
            loss = self.loss(inputs, tags, mask, sample_weight)
            self.add_loss(tf.cast(loss, self.variable_dtype))  # Keras adds losses in this dtype
        return self.decode(inputs, mask)

    def loss(
        self,
        emissions: Array,
        tags: Array,
        mask: Array | None = None,
        sample_weight: Array | None = None,
        reduction: Literal["mean", "sum", "token_mean", "none"] = "mean",
    ) -> tf.Tensor:
        """Computes the negative log-likelihood, averaged over the sentences of the batch.

            loss = -1/B * sum_b weight_b * log p(y_b)                             weights [B]
            loss = -1/B * sum_b sum_t weight_bt * log p(y_bt | y_b1 .. y_b,t-1)   weights [B, T]

        Equal weights for all tokens of a sentence are equivalent to one weight for the sentence,
        because the product of the conditional probabilities of its tags is `p(y)`. A token with
        weight 0 does not contribute to the loss, but later tags are still conditioned on its tag.
        The loss with token weights is computed in log space, which is several times slower. As in
        Keras losses, the result is not divided by the sum of the weights.

        Soft labels are probabilities q of the tags of each token, float `[B, T, K]`. The loss is
        the cross-entropy between the distribution of tags that are drawn independently and p:

            -log p(y_b) becomes log Z_b - sum_t q_bt . emissions_bt - q_b1 . start
                                - sum_{t>1} q_b,t-1 . transitions q_bt - q_bn . end

        If each q is 0 or 1, the loss equals that of tag ids. Weights must have the shape `[B]`. A
        forbidden step costs 10,000 nats times its probability, a constant without a gradient.

        Partly tagged sentences have a set of possible tags for each token, bool `[B, T, K]`. The
        loss is then that of `partial_log_likelihood`, and weights must have the shape `[B]`.

        Args:
            emissions: The `inputs` of a call of the layer.
            tags, mask, sample_weight: As in a call of the layer.
            reduction: str. `"mean"` divides the sum over the sentences by their number B,
                `"token_mean"` by the number of real tokens, and `"sum"` by nothing; `"none"`
                returns the loss of each sentence. Weights do not change the divisor. Defaults to
                `"mean"`.

        Returns:
            float32 scalar, in nats; `[B]` for `"none"`.
        """
        check_choice(REDUCTIONS, reduction=reduction)
        emissions, mask = self._given(emissions, mask)
        batch = tf.shape(emissions)[0]
        weights = tf.cast(tf.ones([batch]) if sample_weight is None else sample_weight, "float32")
        if reduction in ("mean", "token_mean"):
            count = batch if reduction == "mean" else tf.math.count_nonzero(mask, dtype="int32")
            weights /= tf.cast(tf.maximum(count, 1), "float32")
        if weights.shape.rank not in (1, 2):
            raise ValueError(
                f"`sample_weight` must have the shape [B] or [B, T]; got shape {weights.shape}."
            )
        axes = "[B] or [B, T]"
        rank = weights.shape.rank
        check_shape("sample_weight", weights, emissions.shape[:rank], axes)
        if has_tag_values(tags):
            check_weights_of_soft(weights)
            tags = checked_tag_values("tags", tags, emissions.shape, mask)
        else:
            tags = self._checked_tags(tags, emissions, mask)
        compile_it = self._compiles(is_loss=True)
        if reduction == "none":
            inputs = emissions, tags, mask, weights
            return crf_loss.run(crf_loss.sentence_losses, compile_it, inputs, self._loss_scores())
        run = crf_loss.compiled_weighted_loss if compile_it else crf_loss.weighted_loss
        return run(emissions, tags, mask, weights, *self._loss_scores())

    def log_likelihood(self, emissions: Array, tags: Array, mask: Array | None = None) -> tf.Tensor:
        """Computes `log p(y)` of the given tags.

        Args:
            emissions: The `inputs` of a call of the layer.
            tags: int, shape `[B, T]`, 0 to K - 1 at real tokens. Soft labels are not accepted.
            mask: As in a call of the layer.

        Returns:
            float32, shape `[B]`, in nats. It is 0 for a sentence without tokens. With
            `constrain="both"`, each forbidden step contributes -10,000.
        """
        emissions, mask = self._given(emissions, mask)
        batch = emissions, self._checked_tags(tags, emissions, mask), mask
        return self._loss_of(crf_loss.log_likelihood, batch, self._loss_scores())

    def partial_log_likelihood(
        self, emissions: Array, allowed_tags: Array, mask: Array | None = None
    ) -> tf.Tensor:
        """Computes the log-likelihood of partly tagged sentences.

            log of the sum of p(y) over all y with y_t in the set of tags allowed at token t

        Args:
            emissions: The `inputs` of a call of the layer.
            allowed_tags: bool, shape `[B, T, K]`. True for the tags that a token may have; all
                True if its tag is unknown.
            mask: As in a call of the layer.

        Returns:
            float32, shape `[B]`, in nats, at least -10,000. It is -10,000 if no legal sequence
            matches the sets.
        """
        emissions, mask = self._given(emissions, mask)
        allowed_tags = tf.cast(allowed_tags, "bool")
        check_shape("allowed_tags", allowed_tags, emissions.shape, "[B, T, K]")
        batch = emissions, allowed_tags, mask
        return self._loss_of(crf_loss.partial_log_likelihood, batch, self._loss_scores()[1:])

    def path_score(self, emissions: Array, tags: Array, mask: Array | None = None) -> tf.Tensor:
        """Computes `score(y)` of the given tags.

        Args:
            emissions: The `inputs` of a call of the layer.
            tags: int, shape `[B, T]`, 0 to K - 1 at real tokens. Soft labels are not accepted.
            mask: As in a call of the layer.

        Returns:
            float32, shape `[B]`. Each forbidden step contributes -10,000.
        """
        emissions, mask = self._given(emissions, mask)
        batch = emissions, self._checked_tags(tags, emissions, mask), mask
        scores = self._scores(-crf_loss.ILLEGAL_COST)
        return crf_loss.run(chain.path_score, self._compiles(), batch, scores)

    def decode(
        self,
        emissions: Array,
        mask: Array | None = None,
        k: int | None = None,
        jit_compile: JitCompile | None = None,
        padded: bool = True,
    ) -> tuple[tf.Tensor | list, tf.Tensor]:
        """Returns the best sequence of tags (Viterbi), or the `k` best sequences.

        Args:
            emissions: The `inputs` of a call of the layer.
            mask: As in a call of the layer.
            k: int. Number of sequences to return. If `None`, only the best sequence is returned,
                without the axis `k`. Defaults to `None`.
            jit_compile: bool or `"auto"`. Whether to compile with XLA. If `None`, the option of the
                layer is used. Defaults to `None`.
            padded: bool. If `False`, `tags` is a list of lists of int with the tags of the real
                tokens only; with `k`, it has `k` such lists for each sentence. Only eager calls can
                return lists. Defaults to `True`.

        Returns:
            Tuple `(tags, score)`. `tags` is int32 `[B, T]`: the best sequence, 0 where masked.
            `score` is float32 `[B]`: `score(y)` of this sequence. With `k`, the shapes are
            `[B, k, T]` and `[B, k]`, with the best sequence first. If a sentence has fewer than
            `k` legal sequences, the remaining tags are 0 and their scores `-inf`.

        Raises:
            ValueError: If `k` is below 1.
        """
        if k is None:
            tags, score = self._inferred(chain.viterbi, emissions, mask, jit_compile)
        else:
            tags, score = self._inferred(chain.k_best, emissions, mask, jit_compile, k=int(k))
        if not padded:
            tags = unpadded(tags, full_mask(mask, tf.convert_to_tensor(emissions)))
        return tags, score

    def marginals(
        self, emissions: Array, mask: Array | None = None, jit_compile: JitCompile | None = None
    ) -> tf.Tensor:
        """Computes the probability of each tag at each token.

        Args:
            emissions: The `inputs` of a call of the layer.
            mask: As in a call of the layer.
            jit_compile: As in `decode`.

        Returns:
            float32, shape `[B, T, K]`, 0 where masked and for sentences without a legal sequence.
        """
        return self._inferred(chain.marginals, emissions, mask, jit_compile)

    def log_normalizer(
        self, emissions: Array, mask: Array | None = None, jit_compile: JitCompile | None = None
    ) -> tf.Tensor:
        """Computes `log Z` over the sequences that `decode` chooses from.

        The log probability of a legal sequence is its `path_score` minus this value.

        Args:
            emissions: The `inputs` of a call of the layer.
            mask: As in a call of the layer.
            jit_compile: As in `decode`.

        Returns:
            float32, shape `[B]`. It is `-inf` for a sentence without a legal sequence.
        """
        return self._inferred(chain.log_normalizer, emissions, mask, jit_compile)

    def compute_output_shape(self, input_shape: Shape) -> tuple[Shape, Shape]:
        return tuple(input_shape[:2]), tuple(input_shape[:1])

    def compute_output_spec(
        self,
        inputs: keras.KerasTensor,
        mask: Array | None = None,
        tags: tf.Tensor | None = None,
        sample_weight: Array | None = None,
    ) -> tuple[keras.KerasTensor, keras.KerasTensor]:
        check_mask_of(inputs, mask, "pass it to the CRF, as in `crf(emissions, mask=mask)`")
        tags_shape, score_shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(tags_shape, "int32"), keras.KerasTensor(score_shape, "float32")

    def compute_mask(
        self, inputs: tf.Tensor, mask: Array | None = None
    ) -> tuple[tf.Tensor | None, None]:
        return mask, None

    def _given(self, emissions, mask):
        """Returns the emissions and the mask as tensors, and builds the layer if needed."""
        emissions = tf.cast(emissions, "float32")
        check_shape("emissions", emissions, [None, None, self.num_tags], "[B, T, K]")
        if not self.built:
            self.build(emissions.shape)
            self.built = True
        return emissions, full_mask(mask, emissions)

    def _checked_tags(self, tags, emissions, mask):
        tags = chain.checked_tags(tags, emissions)
        return checked_targets("tags", tags, self.num_tags, mask)

    def _scores(self, forbidden):
        """Returns the transition, start and end scores with the constraints applied."""
        scores = self.transitions, self.start_scores, self.end_scores
        return constrained(scores, self.allowed_transitions, forbidden)

    def _loss_scores(self):
        """Returns two tuples `(transitions, start, end)`: for given paths, and for `log Z`."""
        if self.constrain == "both":
            return self._scores(-crf_loss.ILLEGAL_COST), self._scores(float("-inf"))
        scores = self.transitions, self.start_scores, self.end_scores
        return scores, scores

    def _compiles(self, asked=None, is_loss=False):
        choice = self.jit_compile if asked is None else asked
        return (is_loss or tf.executing_eagerly()) if choice == "auto" else choice

    def _loss_of(self, function, batch, scores):
        return crf_loss.run(function, self._compiles(is_loss=True), batch, scores)

    def _inferred(self, function, emissions, mask, jit_compile, **options):
        """Returns the result of `function` for the emissions, mask and constrained scores."""
        batch = self._given(emissions, mask)
        scores = self._scores(float("-inf"))
        return crf_loss.run(function, self._compiles(jit_compile), batch, scores, **options)
