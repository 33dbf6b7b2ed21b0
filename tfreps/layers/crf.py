"""CRF: scores of neighbouring tags over the scores of tags, trained and decoded together."""

import keras
import numpy as np
import tensorflow as tf

from tfreps.layers.ops import chain, crf_loss
from tfreps.layers.ops.configurable import Configurable
from tfreps.layers.ops.crf_loss import checked_transitions, constrained
from tfreps.layers.ops.masks import check_shape

CONSTRAIN = ("both", "decode")


@keras.saving.register_keras_serializable(package="tfreps")
class CRF(Configurable, keras.layers.Layer):
    """A linear-chain conditional random field over the tags of a sentence.

        score(y)   = start[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_{t-1}, y_t]
                     + end[y_n]
        p(y)       = exp(score(y)) / Z,    Z = sum over all sequences y' of exp(score(y'))

    The sums run over real tokens; `tfreps.layers.ops.chain` tells how masked ones are passed over.

    With `allowed_transitions` a forbidden step has the score `-inf`: no such step ever comes out
    of `decode`, and `marginals` gives it no probability, whatever the emissions are. With
    `constrain="both"` the same holds for `Z` in the loss. A gold sequence that breaks the rules
    then costs 10,000 nats for each forbidden step: the loss stays finite but cannot be
    overlooked, and `tfreps.text` finds such sequences. A sentence for whose length no legal
    sequence exists at all decodes to a score of `-inf` (and tags that mean nothing), and its loss
    has no gradient.

    Args:
        num_tags: int, K, from 1.
        allowed_transitions: bool `[K + 2, K + 2]` [from, to], array or nested lists; row and
            column K are the start of a sentence, K + 1 its end (a scheme's table is made by
            `tfreps.text`). None to allow everything.
        constrain: "both" for loss and decoding, "decode" to leave forbidden steps in the loss,
            as if the constraints were not known there. Without `allowed_transitions` unused.
        transition_learning_rate: float. How much faster start, end and transition scores learn,
            under any optimiser: they are kept divided by it, and their gradient arrives as it is.
            Values of 10 to 1000 help beside an encoder fine-tuned at a rate near 1e-5.
        start_initializer, transition_initializer, end_initializer: name, config or instance of a
            Keras initializer, of the scores.
        l2: float. Adds `l2 * sum(score ** 2)` over start, end and transition scores to the losses.
        use_xla: bool or "auto". Whether XLA compiles what the layer calculates. "auto":
            losses always, also inside of `fit`; decoding, marginals and the other scores when
            they are called eagerly, and never in a graph, so that an export consists of plain
            operations. Results are the same; XLA takes a second or so for each new shape.

    Call arguments:
        emissions: float, shape `[B, T, K]`, any float dtype; calculation is in float32 or better.
        mask: bool, shape `[B, T]`, True on real tokens; None where all are. Any shape of holes.
        tags: int, shape `[B, T]`, 0 to K - 1 at real tokens. If given, `loss` is added to the
            losses of the model.
        sample_weight: float, shape `[B]` or `[B, T]`, see `loss`.

    Returns:
        As `decode`: tags int32 `[B, T]`, 0 where masked, and the score of the path, float32 `[B]`.

    Masking: padded positions, their NaN included, influence nothing. A NaN or `+inf` at a real
    token makes loss and score NaN; such a sentence is decoded as if all its emissions were 0.

    Raises:
        ValueError: an option is impossible, no legal sequence exists, or emissions have not K
            scores.

    Reference: Lafferty, McCallum and Pereira, 2001; as a layer on a BiLSTM: Huang, Xu and Yu,
    2015, "Bidirectional LSTM-CRF Models for Sequence Tagging".

    Example, trained by an ordinary `fit`, then cut to what is needed for use:
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
        num_tags,
        allowed_transitions=None,
        constrain="both",
        transition_learning_rate=1.0,
        start_initializer="zeros",
        transition_initializer="zeros",
        end_initializer="zeros",
        l2=0.0,
        use_xla=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        _check_options(num_tags, constrain, transition_learning_rate, use_xla)
        if allowed_transitions is not None:
            allowed_transitions = checked_transitions(allowed_transitions, num_tags)
        self.supports_masking = True
        self.num_tags = num_tags
        self.allowed_transitions = allowed_transitions
        self.constrain = constrain
        self.transition_learning_rate = transition_learning_rate
        self.start_initializer = start_initializer
        self.transition_initializer = transition_initializer
        self.end_initializer = end_initializer
        self.l2 = l2
        self.use_xla = use_xla

    def build(self, input_shape):
        if input_shape[-1] != self.num_tags:
            raise ValueError(
                f"Emissions need one score per tag: the layer has {self.num_tags} tags, the input "
                f"has shape {tuple(input_shape)}."
            )
        self.start_weights = self._add("start_weights", 1, self.start_initializer)
        self.transition_weights = self._add("transition_weights", 2, self.transition_initializer)
        self.end_weights = self._add("end_weights", 1, self.end_initializer)

    def _add(self, name, rank, initializer):
        rate = self.transition_learning_rate
        initializer = keras.initializers.get(initializer)
        return self.add_weight(
            name=name,
            shape=(self.num_tags,) * rank,
            initializer=lambda shape, dtype: initializer(shape, dtype) / rate,
            regularizer=_ScorePenalty(self.l2, rate) if self.l2 else None,
            autocast=False,
        )

    @property
    def start_scores(self):
        """float32, shape `[K]`: score of beginning with a tag."""
        return _times(self.start_weights, self.transition_learning_rate)

    @property
    def transitions(self):
        """float32, shape `[K, K]`, [from, to], as learned: without the constraints."""
        return _times(self.transition_weights, self.transition_learning_rate)

    @property
    def end_scores(self):
        """float32, shape `[K]`: score of ending with a tag."""
        return _times(self.end_weights, self.transition_learning_rate)

    def set_scores(self, transitions=None, start_scores=None, end_scores=None):
        """Gives a built layer these scores, `[K, K]`, `[K]` and `[K]`; None leaves them."""
        given = transitions, start_scores, end_scores
        weights = self.transition_weights, self.start_weights, self.end_weights
        for weight, scores in zip(weights, given, strict=True):
            if scores is not None:
                weight.assign(np.asarray(scores, "float32") / self.transition_learning_rate)

    def call(self, emissions, mask=None, tags=None, sample_weight=None):
        if tags is not None:
            self.add_loss(self.loss(emissions, tags, mask, sample_weight))
        return self.decode(emissions, mask)

    def loss(self, emissions, tags, mask=None, sample_weight=None):
        """Negative log-likelihood: the sum over tokens, the mean over the sentences of the batch.

            loss = -1/B * sum_b weight_b * log p(y_b)
            loss = -1/B * sum_b sum_t weight_bt * log p(y_bt | y_b1 .. y_b,t-1)

        Equal weights of tokens are a weight of the sentence, since the factors multiply to
        `p(y)`; with weight 0 a token's tag is a condition for its successors, but no target.
        Weights of tokens are calculated in log space alone, several times slower, and take
        `constrain` as "both". As for a Keras loss, the weights' sum divides nothing.

        Args:
            emissions, tags, mask: as in `call`.
            sample_weight: float, shape `[B]` or `[B, T]`; None for 1.

        Returns:
            float32 scalar, in nats. NaN if a tag is outside of 0 to K - 1 at a real token.
        """
        emissions, mask = self._given(emissions, mask)
        batch = tf.shape(emissions)[0]
        weights = tf.ones([batch]) if sample_weight is None else sample_weight
        weights = tf.cast(weights, "float32") / tf.cast(tf.maximum(batch, 1), "float32")
        if weights.shape.rank not in (1, 2):
            raise ValueError(f"`sample_weight` must be [B] or [B, T], got shape {weights.shape}.")
        axes = "[B] or [B, T]"
        rank = weights.shape.rank
        check_shape("sample_weight", weights, emissions.shape[:rank], axes)
        tags = chain.checked_tags(tags, emissions)
        compile_it = self._compiles(is_loss=True)
        run = crf_loss.compiled_weighted_loss if compile_it else crf_loss.weighted_loss
        return run(emissions, tags, mask, weights, *self._loss_scores())

    def log_likelihood(self, emissions, tags, mask=None):
        """`log p(y)` of given tags: float32 `[B]`, in nats; 0 for a sentence without a token."""
        emissions, mask = self._given(emissions, mask)
        run = self._function(crf_loss.log_likelihood, is_loss=True)
        tags = chain.checked_tags(tags, emissions)
        return run(emissions, tags, mask, *self._loss_scores())

    def partial_log_likelihood(self, emissions, allowed_tags, mask=None):
        """Log-likelihood of partly tagged sentences: one set of possible tags for each token.

            log of the sum of p(y) over all y with y_t in the set of t

        Args:
            emissions, mask: as in `call`.
            allowed_tags: bool, shape `[B, T, K]`: all True for an unknown tag.

        Returns:
            float32, shape `[B]`, at least -10,000: so much where no legal sequence fits the sets.
        """
        emissions, mask = self._given(emissions, mask)
        allowed_tags = tf.cast(allowed_tags, "bool")
        check_shape("allowed_tags", allowed_tags, emissions.shape, "[B, T, K]")
        run = self._function(crf_loss.partial_log_likelihood, is_loss=True)
        return run(emissions, allowed_tags, mask, self._loss_scores()[1])

    def path_score(self, emissions, tags, mask=None):
        """`score(y)` of given tags: float32 `[B]`; a forbidden step counts -10,000."""
        emissions, mask = self._given(emissions, mask)
        tags = chain.checked_tags(tags, emissions)
        run = self._function(chain.path_score)
        return run(emissions, tags, mask, *self._scores(-crf_loss.ILLEGAL_COST))

    def decode(self, emissions, mask=None, k=None, use_xla=None):
        """The best tags (Viterbi), or the k best sequences of tags.

        Args:
            emissions, mask: as in `call`.
            k: int or None. How many sequences.
            use_xla: bool, "auto" or None for the layer's own choice.

        Returns:
            Tags int32 `[B, T]`, 0 where masked, and their score float32 `[B]`. With `k` `[B, k, T]`
            and `[B, k]`, best first; `-inf` and tags 0 where there are fewer sequences.
        """
        emissions, mask = self._given(emissions, mask)
        scores = self._scores(float("-inf"))
        if k is None:
            return self._function(chain.viterbi, use_xla)(emissions, mask, *scores)
        return self._function(chain.k_best, use_xla)(emissions, mask, *scores, k=k)

    def marginals(self, emissions, mask=None, use_xla=None):
        """Probability of each tag at each token: float32 `[B, T, K]`, 0 where masked.

        Args:
            emissions, mask: as in `call`.
            use_xla: bool, "auto" or None for the layer's own choice.
        """
        emissions, mask = self._given(emissions, mask)
        run = self._function(chain.marginals, use_xla)
        return run(emissions, mask, *self._scores(float("-inf")))

    def log_normalizer(self, emissions, mask=None, use_xla=None):
        """`log Z` over the sequences that `decode` chooses from: float32 `[B]`.

        A path's score less this is its log probability. Arguments as of `marginals`.
        """
        emissions, mask = self._given(emissions, mask)
        run = self._function(chain.log_normalizer, use_xla)
        return run(emissions, mask, *self._scores(float("-inf")))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape[:2]), tuple(input_shape[:1])

    def compute_output_spec(self, emissions, mask=None, tags=None, sample_weight=None):
        tags_shape, score_shape = self.compute_output_shape(emissions.shape)
        return keras.KerasTensor(tags_shape, "int32"), keras.KerasTensor(score_shape, "float32")

    def compute_mask(self, emissions, mask=None):
        return mask, None

    def _given(self, emissions, mask):
        """As tensors, with a mask; builds the layer if no call has."""
        emissions = tf.cast(emissions, "float32")
        check_shape("emissions", emissions, [None, None, self.num_tags], "[B, T, K]")
        if not self.built:
            self.build(emissions.shape)
            self.built = True
        return emissions, chain.checked_mask(mask, emissions)

    def _scores(self, forbidden):
        """Transition, start and end scores with the constraints."""
        scores = self.transitions, self.start_scores, self.end_scores
        return constrained(scores, self.allowed_transitions, forbidden)

    def _loss_scores(self):
        """Scores for the gold path, and for all paths."""
        if self.constrain == "both":
            return self._scores(-crf_loss.ILLEGAL_COST), self._scores(float("-inf"))
        scores = self.transitions, self.start_scores, self.end_scores
        return scores, scores

    def _compiles(self, asked=None, is_loss=False):
        choice = self.use_xla if asked is None else asked
        return (is_loss or tf.executing_eagerly()) if choice == "auto" else choice

    def _function(self, function, asked=None, is_loss=False):
        if self._compiles(asked, is_loss):
            return crf_loss.compiled(function, self.num_tags)
        return function


class _ScorePenalty(keras.regularizers.Regularizer):
    """`l2 * sum of squared scores`. Keras 3.12 accepts no plain function as a regularizer."""

    def __init__(self, l2, rate):
        self.l2 = l2
        self.rate = rate

    def __call__(self, weights):
        return self.l2 * tf.reduce_sum(tf.square(_times(weights, self.rate)))


def _times(weights, rate):
    """`rate * weights`, whose gradient arrives at the weights undivided and unmultiplied."""

    @tf.custom_gradient
    def times(weights):
        return weights * rate, lambda d: d

    weights = tf.convert_to_tensor(weights)
    return weights if rate == 1.0 else times(weights)


def _check_options(num_tags, constrain, rate, use_xla):
    if not isinstance(num_tags, int) or num_tags < 1:
        raise ValueError(f"`num_tags` must be a whole number from 1, got {num_tags!r}.")
    if constrain not in CONSTRAIN:
        raise ValueError(f"`constrain` must be one of {CONSTRAIN}, got {constrain!r}.")
    if not rate > 0.0:
        raise ValueError(f"`transition_learning_rate` must be above 0, got {rate!r}.")
    if use_xla not in ("auto", True, False):
        raise ValueError(f'`use_xla` must be "auto", True or False, got {use_xla!r}.')
