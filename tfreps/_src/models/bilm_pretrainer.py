"""BiLMPretrainer: a BiLM with its softmax, trained and evaluated as a language model."""

from collections.abc import Mapping
from typing import Any, NoReturn

import keras
import tensorflow as tf

from tfreps._src.layers.elmo_bilstm import LSTMState, flatten_states, unflatten_states
from tfreps._src.layers.ops.annotations import Array
from tfreps._src.layers.ops.replicas import SEEDS_APART, num_replicas, own_rows, replica_number
from tfreps._src.layers.sampled_softmax import SampledSoftmax
from tfreps._src.metrics.perplexity import Perplexity
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.features import feature
from tfreps._src.models.own_loss import TARGETS_IN_FEATURES, features_of
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.optimizers.summed_gradients import apply_once, sum_gradients


@keras.saving.register_keras_serializable(package="tfreps")
class BiLMPretrainer(WholeModel, keras.Model):
    """Forward and backward language models that share a token encoder and a softmax.

        objective = 1/G * sum over the G directions of (sum of NLL / batch size)

    NLL is the negative log-likelihood of a token. As in bilm-tf, the objective is the mean loss of
    the directions times the number of tokens per row (unroll steps). Training carries the LSTM
    state from batch to batch; evaluation starts each row from the biLM's fixed state (zeros or the
    warm state) and uses the full softmax. A model trained only on carried states can perform poorly
    when a sentence starts from the fixed state; with `reset_probability`, some rows start from the
    fixed state in training, too.

    Args:
        bilm: `BiLM` with `initial_state` `"zero"` or `"warm"`.
        vocabulary_size: int. Number of tokens that can be predicted. With `num_sampled`, the
            vocabulary must be in decreasing order of frequency.
        num_sampled: int. Number of negative samples of the sampled softmax. If `None` (the
            default), training uses the full softmax.
        batch_size: int. Number of rows of the training batches, whose states are carried.
            Defaults to 128.
        clip_norm: float. Bound on the global norm of the gradient. If `None`, gradients are not
            clipped. Defaults to 10.0.
        tie_embeddings: bool. Whether the word embedding also serves as the softmax kernel. Requires
            a biLM that reads token ids and has the same `vocabulary_size`. Defaults to `False`.
        seed: int. Random seed for negative samples, resets and the dropout before the softmax. It
            does not determine the dropout inside the biLM. Defaults to 0.
        reset_probability: float in [0, 1]. Probability that a row starts a training batch from the
            fixed state instead of its carried state. The rows are drawn separately for each
            direction. 0 corresponds to bilm-tf's training. Defaults to 0.0.

    Call arguments:
        features: dict, such as an element of `tfreps.data.LMBatches`, with the targets
            `next_token_id` int `[B, T]` and the inputs. A biLM that reads token ids needs
            `token_ids` int `[B, T]`. A biLM that reads characters needs `tokens_characters`
            int `[B, T, C]`, or `character_rows` int `[B, T]` and `unknown_characters`
            int `[U, C]`, which `LMBatches` yields with `characters="table"`; call
            `set_character_table` before using them. Training and evaluation also need `mask`
            bool `[B, T]`. For the backward direction, all of these except `unknown_characters` are
            also needed with the suffix `_reverse`. `token_ids` and `next_token_id` are vocabulary
            ids, without the 1 that is added to the ids of a `BiLM`.
        initial_state: tuple of one `LSTMState` per direction. If `None` (the default), the biLM's
            fixed state is used.
        training: bool. Whether to use the sampled softmax and dropout. Defaults to `False`.

    Returns:
        Tuple `(nll, states)`. `nll` is float32 `[G, B, T]`: the negative log-likelihood of each
        token in nats for the `G` directions, forward first; its values on padding are meaningless.
        `states` are the final states, a tuple of one `LSTMState` per direction.

    Metrics: training logs `training_perplexity`, or `sampled_perplexity` if it uses the sampled
    softmax, and `gradient_norm`, the mean global norm of the gradients before clipping. Evaluation
    logs `perplexity` over all directions and, for each direction that the biLM has,
    `forward_perplexity` or `backward_perplexity`.

    Raises:
        ValueError: If `reset_probability` is outside [0, 1], `num_sampled` is negative or not
            smaller than `vocabulary_size`, `tie_embeddings` is `True` for a biLM that reads
            characters or has a different `vocabulary_size`, or the biLM carries its own states.
        tf.errors.InvalidArgumentError: If an input id is out of range, or a batch has
            `character_rows` and `set_character_table` was not called.

    Reference: Peters et al., 2018; bilm-tf, `training.py`. Melis et al., 2017, "On the
    State of the Art of Evaluation in Neural Language Models", use a `reset_probability` of 0.01.

    Example:
    >>> from tfreps.models import BiLM
    >>> bilm = BiLM(units=8, projection_dim=4, vocabulary_size=10, bidirectional=False)
    >>> model = BiLMPretrainer(bilm, vocabulary_size=10, batch_size=2)
    >>> ids = tf.constant([[1, 2, 3], [4, 5, 6]])
    >>> batch = {"token_ids": ids, "next_token_id": ids + 1, "mask": ids > 0}
    >>> nll, states = model(batch)
    >>> nll.shape
    TensorShape([1, 2, 3])
    """

    _shared_features = ("unknown_characters",)
    _unused_arguments = TARGETS_IN_FEATURES

    def __init__(
        self,
        bilm: BiLM,
        vocabulary_size: int,
        num_sampled: int | None = None,
        batch_size: int = 128,
        clip_norm: float | None = 10.0,
        tie_embeddings: bool = False,
        seed: int = 0,
        reset_probability: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)  # keeps states in float32
        if tie_embeddings and bilm.vocabulary_size is None:
            raise ValueError(
                "`tie_embeddings` shares the word embedding with the softmax, but a biLM that "
                "reads characters has no word embedding. Omit `tie_embeddings`."
            )
        if tie_embeddings and bilm.vocabulary_size != vocabulary_size:
            raise ValueError(
                "With `tie_embeddings`, `vocabulary_size` must be that of the biLM, "
                f"{bilm.vocabulary_size}; got {vocabulary_size}."
            )
        if bilm.initial_state == "carry":
            raise ValueError(
                '`bilm` must have `initial_state` "zero" or "warm"; got "carry". The pretrainer '
                'carries the states itself: pass `bilm.with_initial_state("zero")`.'
            )
        if not 0 <= reset_probability <= 1:
            raise ValueError(f"`reset_probability` must be in [0, 1]; got {reset_probability}.")
        # Options.
        self.bilm = bilm
        self.vocabulary_size = vocabulary_size
        self.num_sampled = num_sampled
        self.batch_size = batch_size
        self.clip_norm = clip_norm
        self.tie_embeddings = tie_embeddings
        self.seed = seed
        self.reset_probability = reset_probability
        # Layers.
        self.softmax = SampledSoftmax(
            vocabulary_size,
            num_sampled,
            seed,
            tie_embeddings,
            dtype=self.dtype_policy,
            name="softmax",
        )
        self.softmax.build((None, None, bilm.projection_dim))
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.character_table = None
        if bilm.vocabulary_size is None:
            self.character_table = self.add_weight(
                (vocabulary_size, bilm.max_characters),
                "zeros",
                dtype="int32",
                trainable=False,
                autocast=False,
                name="character_table",
            )
        self.carried = self._add_carried()
        # Metrics.
        kind = "sampled_" if num_sampled else "training_"
        self.training_perplexity = Perplexity(name=f"{kind}perplexity")
        self.gradient_norm = keras.metrics.Mean(name="gradient_norm")
        names = ["forward_perplexity", "backward_perplexity", "perplexity"]
        self.test_perplexities = [Perplexity(name=name) for name in names]
        self.built = True

    def call(
        self,
        features: Mapping[str, Array],
        initial_state: tuple[LSTMState, ...] | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, tuple[LSTMState, ...]]:
        vectors, positions = self._distinct_tokens(features)  # [D, P], [G, B, T]
        if initial_state is None:
            initial_state = self._fixed_state(tf.shape(positions)[1])
        outputs = []
        states = []
        for direction, which, state in zip(
            self.bilm.bilstm.directions, tf.unstack(positions), initial_state, strict=True
        ):
            layers, state = direction(
                tf.gather(vectors, which),
                initial_state=state,
                training=training,
                distinct=(vectors, which),
            )
            outputs.append(layers[:, -1])  # [B, T, P]
            states.append(state)
        outputs = tf.stack(outputs)  # [G, B, T, P]
        if training and self.bilm.dropout:
            outputs = self._drop(outputs)
        shape = tf.shape(outputs)
        groups = outputs.shape[0]
        dim = outputs.shape[-1]
        nll = self.softmax(
            tf.ensure_shape(tf.reshape(outputs, [groups, -1, dim]), [groups, None, dim]),
            tf.reshape(self._of_directions(features, "next_token_id"), [groups, -1]),
            kernel=self.bilm.token_encoder.embeddings[1:] if self.tie_embeddings else None,
            training=training,
        )  # [G, B*T]
        return tf.reshape(nll, shape[:3]), tuple(states)

    def _input_signatures(self):
        """Returns the input specs; see `WholeModel._input_signatures`.

        Each dict contains `next_token_id` and the input of the biLM: `token_ids`,
        `tokens_characters`, or `character_rows` with `unknown_characters`. The dicts in the second
        half of the list also contain the optional `mask` and, for a biLM that reads characters,
        `token_ids`. For a bidirectional biLM, the dicts also contain all of these features except
        `unknown_characters` with the suffix `_reverse`.
        """
        ids = feature("token_ids")
        mask = feature("mask", dtype="bool")
        if self.bilm.vocabulary_size is not None:
            kinds = [[ids], [ids, mask]]
        else:
            characters = feature("tokens_characters", self.bilm.max_characters)
            kinds = [[characters], [feature("character_rows")]]
            kinds += [[*kind, ids, mask] for kind in kinds]
        return [self._specs([*kind, feature("next_token_id")]) for kind in kinds]

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        batch = features_of(data, self)
        initial_state = self._some_reset(self._carried_state())
        with tf.GradientTape() as tape:
            nll, states = self(batch, initial_state=initial_state, training=True)
            mask = self._of_directions(batch, "mask")  # [G, B, T]
            rows = mask.shape[0] * self.batch_size  # G * B, with the rows of all replicas
            objective = tf.reduce_sum(tf.where(mask, nll, 0.0)) / rows
            scaled = self.optimizer.scale_loss(objective)
        gradients = sum_gradients(tape.gradient(scaled, self.trainable_variables))
        norm = tf.linalg.global_norm(gradients)
        # The scale is 1 except with float16.
        scale = self.optimizer.scale_loss(tf.ones([], norm.dtype))
        if self.clip_norm:
            gradients, _ = tf.clip_by_global_norm(gradients, self.clip_norm * scale, norm)
        apply_once(self.optimizer, gradients, self.trainable_variables)
        self._carry(states)
        self.training_perplexity.update_state(nll, mask)
        # The optimizer skips steps whose gradient overflows float16; they are not counted.
        counts = tf.logical_or(tf.math.is_finite(norm), scale == 1.0)
        # The norm is the same on all replicas, so only the first one counts it.
        counts = tf.logical_and(counts, tf.equal(replica_number(), 0))
        self.gradient_norm.update_state(
            tf.where(counts, norm / scale, 0.0), sample_weight=tf.cast(counts, "float32")
        )
        metrics = self.training_perplexity, self.gradient_norm
        return {metric.name: metric.result() for metric in metrics}

    def test_step(self, data: Any) -> dict[str, tf.Tensor]:
        batch = features_of(data, self)
        nll, _ = self(batch)
        mask = self._of_directions(batch, "mask")
        return self._update_perplexities(nll, mask)

    def predict(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises a ValueError, because Keras would join the batches on the axis of directions."""
        raise ValueError(
            f"`predict` does not apply to a {type(self).__name__}, whose first output has the "
            "directions, not the texts, on its first axis. Call the model on each batch, or use "
            "`evaluate` for the perplexity."
        )

    def _update_perplexities(self, nll, mask):
        """Updates the test perplexities with a batch.

        Args:
            nll: float, shape `[G, B, T]`. Negative log-likelihood of each token.
            mask: bool, shape `[G, B, T]`. True on tokens that count.

        Returns:
            dict from the name of each perplexity to its value so far.
        """
        directions = slice(0, 1), slice(1, 2), slice(None)
        for metric, some in zip(self.test_perplexities, directions, strict=True):
            metric.update_state(nll[some], mask[some])
        if len(self.bilm.bilstm.directions) == 2:
            used = self.test_perplexities
        else:
            used = [self.test_perplexities[0], self.test_perplexities[2]]
        return {metric.name: metric.result() for metric in used}

    def _carried_state(self):
        """Returns the states that training continues from, as one `LSTMState` per direction.

        On a replica of a strategy, these are the states of the rows that the replica computes.
        """
        first, end = own_rows(self.batch_size)
        return unflatten_states([tf.convert_to_tensor(kept)[first:end] for kept in self.carried])

    @property
    def _common_seeds(self):
        """Seed variables that are equal on all replicas: each draw is for a whole global batch."""
        return [self.seed_generator.state]

    @property
    def _row_variables(self):
        """List of the variables of the carried LSTM states, with one row per row of the batch."""
        return self.carried

    def _fixed_state(self, batch_size):
        """Returns the biLM's fixed state (zeros or warm): one `LSTMState` per direction."""
        return self.bilm._fixed_state(batch_size)

    def set_character_table(self, table: Array) -> None:
        """Sets the character ids of all tokens in the vocabulary.

        Requires a biLM that reads characters. `Vocabulary.character_table` returns such a table.

        Args:
            table: int, shape `[vocabulary_size, max_characters]`. The character ids of each token,
                in the order of the vocabulary ids.
        """
        self.character_table.assign(table)

    def _some_reset(self, states):
        """Returns a copy of the states in which randomly drawn rows have the fixed state.

        Rows are drawn with `reset_probability`, separately for each direction.
        """
        if not self.reset_probability:
            return states
        shape = len(states), self.batch_size, 1, 1
        drawn = keras.random.uniform(shape, seed=self.seed_generator) < self.reset_probability
        first, end = own_rows(self.batch_size)
        drawn = drawn[:, first:end]
        fixed = self._fixed_state(tf.shape(drawn)[1])
        return tuple(
            LSTMState(*(tf.where(reset, new, old) for new, old in zip(*pair, strict=True)))
            for reset, *pair in zip(tf.unstack(drawn), fixed, states, strict=True)
        )

    def _drop(self, features):
        """Returns `features` after dropout.

        All replicas have the same seed. Each replica adds an offset of its own to the seed, so
        that the replicas draw different numbers.
        """
        if num_replicas() == 1:
            return keras.random.dropout(features, self.bilm.dropout, seed=self.seed_generator)
        seed = tf.cast(self.seed_generator.next(), "int32") + [0, replica_number() * SEEDS_APART]
        return tf.nn.experimental.stateless_dropout(features, self.bilm.dropout, seed)

    def _carry(self, states):
        """Stores the final states of the rows that this replica computes.

        With several replicas, each has a copy of the states, in which the rows of the other
        replicas become zero. The sum of the copies then contains all rows.
        """
        first, end = own_rows(self.batch_size)
        for kept, new in zip(self.carried, flatten_states(states), strict=True):
            if num_replicas() > 1:
                new = tf.pad(new, [[first, self.batch_size - end], [0, 0], [0, 0]])
            kept.assign(new)

    def _distinct_tokens(self, batch):
        """Computes the vectors of the D distinct tokens of all directions, each of them once.

        Returns:
            Tuple `(vectors, which)`. `vectors` is float32 `[D, P]`. `which` is int32 `[G, B, T]`:
            the row of `vectors` that belongs to each token.
        """
        if self.bilm.vocabulary_size is not None:
            return self.bilm._encode_distinct(self._of_directions(batch, "token_ids") + 1)
        if "tokens_characters" in batch:
            return self.bilm._encode_distinct(self._of_directions(batch, "tokens_characters"))
        rows = self._of_directions(batch, "character_rows")  # [G, B, T]
        distinct, which = tf.unique(tf.reshape(rows, [-1]))
        vectors = self.bilm.token_encoder._encode(self._characters(distinct, batch))  # [D, P]
        return vectors, tf.ensure_shape(tf.reshape(which, tf.shape(rows)), rows.shape)

    def _characters(self, rows, batch):
        """Returns the character ids of words, int32 `[R, C]`.

        `rows`, int32 `[R]`, selects the words. A number below `vocabulary_size` is a row of the
        character table. Any other number is `vocabulary_size` plus a row of the feature
        `unknown_characters` of the batch.
        """
        tf.debugging.assert_positive(  # the table is 0 until it is set
            self.character_table[0, 0],
            "`character_rows` needs the character ids of the vocabulary. Call "
            "`set_character_table` first.",
        )
        own = batch["unknown_characters"]  # [U, C]
        # `tf.gather` needs at least one row.
        own = tf.concat([own, tf.zeros_like(self.character_table[:1])], 0)
        known = tf.gather(self.character_table, tf.minimum(rows, self.vocabulary_size - 1))
        own = tf.gather(own, tf.maximum(rows - self.vocabulary_size, 0))
        return tf.where(rows[:, None] < self.vocabulary_size, known, own)

    def _specs(self, of_a_direction):
        """Returns a dict from the names of the features of all directions to their specs.

        `of_a_direction` is a list of the specs of the features of one direction.
        """
        ends = ["", "_reverse"] if self.bilm.bidirectional else [""]
        specs = {
            spec.name + end: tf.TensorSpec(spec.shape, spec.dtype, spec.name + end)
            for end in ends
            for spec in of_a_direction
        }
        if "character_rows" in specs:
            specs["unknown_characters"] = feature("unknown_characters")
        return specs

    def _of_directions(self, batch, key):
        keys = [key, f"{key}_reverse"] if self.bilm.bidirectional else [key]
        return tf.stack([batch[key] for key in keys])

    def _add_carried(self):
        # Each replica has zeros in the rows of other replicas, so the sum contains all rows.
        summed = {"synchronization": "on_read", "aggregation": "sum"}
        kind = {"dtype": "float32", "trainable": False, "autocast": False, **summed}
        return [
            keras.Variable("zeros", (self.batch_size, *shape), name=f"carried_{name}", **kind)
            for name, shape in self.bilm._state_shapes.items()
        ]
