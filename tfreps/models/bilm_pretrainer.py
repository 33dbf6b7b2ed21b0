"""BiLMPretrainer: a BiLM with its softmax, trained and measured as a language model."""

import keras
import tensorflow as tf

from tfreps.layers.elmo_bilstm import LSTMState, flatten_states, unflatten_states
from tfreps.layers.sampled_softmax import SampledSoftmax
from tfreps.metrics import Perplexity
from tfreps.models.whole_model import WholeModel, feature


@keras.saving.register_keras_serializable(package="tfreps")
class BiLMPretrainer(WholeModel, keras.Model):
    """A forward and a backward language model over one token encoder and one softmax.

        objective = 1/2 * sum over directions of (sum of NLL / batch size)

    which is bilm-tf's: the mean loss of both directions times the unroll steps. Training
    carries the LSTM state from batch to batch; evaluation starts each row from the biLM's
    fixed state and takes the full softmax. Where states are carried on for ever, training may
    drift away from that one, and forget it; with `reset_probability` it sees it now and then.

    Args:
        bilm: `BiLM`, with `initial_state` `"zero"` or `"warm"`.
        vocabulary_size: int. Tokens that can be predicted, falling in count.
        num_sampled: int or None. Negatives of the sampled softmax; None for the full one.
        batch_size: int. Rows of the training batches, whose state is carried.
        clip_norm: float or None. Bound of the gradient's global norm.
        tied: bool. Whether the softmax kernel is the word embedding (token models only).
        seed: int. Seed of negatives, dropout and resets.
        reset_probability: float in [0, 1]. Of a row and direction starting a training batch from
            the fixed state instead of its carried one; 0 is bilm-tf's training.

    Call arguments:
        batch: dict as from `tfreps.data.lm.lm_batches`: `token_ids`, `next_token_id`, `mask`
            `[B, T]` with, for characters, either `character_rows` and
            `unknown_characters` (`characters="table"`) or `tokens_characters`; and the
            `_reverse` twins for the backward direction.
        initial_state: tuple of one `LSTMState` per direction; None for the biLM's fixed state.
        training: bool. Whether to sample and to drop out.

    Returns:
        `nll` float32 `[G, B, T]` in nats, for the forward and the backward direction (padded
        positions hold numbers without meaning), and the last states.

    Raises:
        ValueError: if `reset_probability` is no probability, `tied` is given for a biLM of
            characters, or the biLM carries its own states.

    Reference: Peters et al., 2018; bilm-tf, `training.py`; resets: Melis et al., 2017, "On the
    State of the Art of Evaluation in Neural Language Models" (0.01 there).

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

    def __init__(
        self,
        bilm,
        vocabulary_size,
        num_sampled=None,
        batch_size=128,
        clip_norm=10.0,
        tied=False,
        seed=0,
        reset_probability=0.0,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)  # states stay float32
        if tied and bilm.vocabulary_size is None:
            raise ValueError(
                "`tied` shares the word embedding with the softmax; a biLM that reads characters "
                "has none. Leave it out."
            )
        if bilm.initial_state == "carry":
            raise ValueError('A pretrainer carries states itself: give it a "zero" or "warm" BiLM.')
        if not 0 <= reset_probability <= 1:
            raise ValueError(f"`reset_probability` must lie in [0, 1]; got {reset_probability}.")
        # Options.
        self.bilm = bilm
        self.vocabulary_size = vocabulary_size
        self.num_sampled = num_sampled
        self.batch_size = batch_size
        self.clip_norm = clip_norm
        self.tied = tied
        self.seed = seed
        self.reset_probability = reset_probability
        # Layers.
        self.softmax = SampledSoftmax(
            vocabulary_size, num_sampled, seed, tied, dtype=self.dtype_policy, name="softmax"
        )
        self.softmax.build((None, None, bilm.projection_dim))
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.character_table = self._add_table() if bilm.vocabulary_size is None else None
        self.carried = self._add_carried()
        # Metrics.
        kind = "sampled_" if num_sampled else "training_"
        self.training_perplexity = Perplexity(name=f"{kind}perplexity")
        self.gradient_norm = keras.metrics.Mean(name="gradient_norm")
        names = ["forward_perplexity", "backward_perplexity", "perplexity"]
        self.test_perplexities = [Perplexity(name=name) for name in names]
        self.built = True

    def call(self, batch, initial_state=None, training=False):
        inputs = self._token_vectors(batch)  # one [B, T, P] per direction
        if initial_state is None:
            initial_state = self.fixed_state(tf.shape(inputs[0])[0])
        features = []
        states = []
        for direction, x, state in zip(
            self.bilm.bilstm.directions, inputs, initial_state, strict=True
        ):
            layers, state = direction(x, initial_state=state, training=training)
            features.append(layers[:, -1])  # [B, T, P]
            states.append(state)
        features = tf.stack(features)  # [G, B, T, P]
        if training and self.bilm.dropout:
            features = keras.random.dropout(features, self.bilm.dropout, seed=self.seed_generator)
        shape = tf.shape(features)
        groups = features.shape[0]
        dim = features.shape[-1]
        nll = self.softmax(
            tf.ensure_shape(tf.reshape(features, [groups, -1, dim]), [groups, None, dim]),
            tf.reshape(self._of_directions(batch, "next_token_id"), [groups, -1]),
            kernel=self.bilm.token_encoder.embeddings[1:] if self.tied else None,
            training=training,
        )  # [G, B*T]
        return tf.reshape(nll, shape[:3]), tuple(states)

    def input_signatures(self):
        """See `WholeModel`: token ids or, in two ways, their characters; and what follows them."""
        ids = feature("token_ids")
        mask = feature("mask", dtype="bool")
        if self.bilm.vocabulary_size is not None:
            kinds = [[ids], [ids, mask]]
        else:
            characters = feature("tokens_characters", self.bilm.max_characters)
            kinds = [[characters], [feature("character_rows")]]
            kinds += [[*kind, ids, mask] for kind in kinds]
        return [self._specs([*kind, feature("next_token_id")]) for kind in kinds]

    def train_step(self, batch):
        initial_state = self._some_reset(self.carried_state())
        with tf.GradientTape() as tape:
            nll, states = self(batch, initial_state=initial_state, training=True)
            mask = self._of_directions(batch, "mask")  # [G, B, T]
            rows = tf.cast(tf.size(mask) / tf.shape(mask)[-1], "float32")  # G * B
            objective = tf.reduce_sum(tf.where(mask, nll, 0.0)) / rows
            scaled = self.optimizer.scale_loss(objective)
        gradients = tape.gradient(scaled, self.trainable_variables)
        scale = self.optimizer.scale_loss(tf.ones([]))  # 1, but for float16
        norm = tf.linalg.global_norm(gradients)
        if self.clip_norm:
            gradients, _ = tf.clip_by_global_norm(gradients, self.clip_norm * scale, norm)
        self.optimizer.apply(gradients, self.trainable_variables)
        for kept, new in zip(self.carried, flatten_states(states), strict=True):
            kept.assign(new)
        self.training_perplexity.update_state(nll, mask)
        # A step whose gradient float16 cannot hold is skipped by the optimizer: it does not count.
        counts = tf.logical_or(tf.math.is_finite(norm), scale == 1.0)
        self.gradient_norm.update_state(
            tf.where(counts, norm / scale, 0.0), sample_weight=tf.cast(counts, "float32")
        )
        metrics = self.training_perplexity, self.gradient_norm
        return {metric.name: metric.result() for metric in metrics}

    def test_step(self, batch):
        nll, _ = self(batch)
        mask = self._of_directions(batch, "mask")
        return self.update_perplexities(nll, mask)

    def update_perplexities(self, nll, mask):
        """Adds `nll` and `mask` `[G, B, T]` to the test perplexities; returns them by name."""
        directions = slice(0, 1), slice(1, 2), slice(None)
        for metric, some in zip(self.test_perplexities, directions, strict=True):
            metric.update_state(nll[some], mask[some])
        if len(self.bilm.bilstm.directions) == 2:
            used = self.test_perplexities
        else:
            used = [self.test_perplexities[0], self.test_perplexities[2]]
        return {metric.name: metric.result() for metric in used}

    def carried_state(self):
        """The state that training goes on from, as a tuple of `LSTMState`."""
        return unflatten_states([tf.convert_to_tensor(kept) for kept in self.carried])

    def fixed_state(self, batch_size):
        """The state that a sentence starts from by default: zeros, or the biLM's warm state."""
        return self.bilm.fixed_state(batch_size)

    def set_character_table(self, table):
        """Sets the character ids of the vocabulary, int32 `[V, C]`."""
        self.character_table.assign(table)

    def _some_reset(self, states):
        """The states with the fixed one in rows drawn at random, each direction for itself."""
        if not self.reset_probability:
            return states
        shape = len(states), self.batch_size, 1, 1
        drawn = keras.random.uniform(shape, seed=self.seed_generator) < self.reset_probability
        fixed = self.fixed_state(self.batch_size)
        return tuple(
            LSTMState(*(tf.where(reset, new, old) for new, old in zip(*pair, strict=True)))
            for reset, *pair in zip(tf.unstack(drawn), fixed, states, strict=True)
        )

    def _token_vectors(self, batch):
        """Token vectors of each direction, each distinct token encoded once."""
        if self.bilm.vocabulary_size is not None:
            ids = self._of_directions(batch, "token_ids") + 1
            return tf.unstack(self.bilm.encode_tokens(ids))
        if "tokens_characters" in batch:
            characters = self._of_directions(batch, "tokens_characters")
            return tf.unstack(self.bilm.encode_tokens(characters))
        rows = self._of_directions(batch, "character_rows")  # [G, B, T]
        distinct, which = tf.unique(tf.reshape(rows, [-1]))
        vectors = self.bilm.token_encoder.encode(self._characters(distinct, batch))  # [U, P]
        dim = self.bilm.projection_dim
        vectors = tf.reshape(tf.gather(vectors, which), tf.concat([tf.shape(rows), [dim]], 0))
        return tf.unstack(vectors, num=rows.shape[0])

    def _characters(self, rows, batch):
        """Character ids of rows: below V of the vocabulary, above of the batch's own table."""
        own = batch["unknown_characters"]  # [U, C]
        own = tf.concat([own, tf.zeros_like(self.character_table[:1])], 0)  # never empty
        known = tf.gather(self.character_table, tf.minimum(rows, self.vocabulary_size - 1))
        own = tf.gather(own, tf.maximum(rows - self.vocabulary_size, 0))
        return tf.where(rows[:, None] < self.vocabulary_size, known, own)

    def _specs(self, of_a_direction):
        """The specs by name, for all directions."""
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

    def _add_table(self):
        shape = self.vocabulary_size, self.bilm.max_characters
        return self._add_constant("character_table", shape, "int32")

    def _add_carried(self):
        widths = {"hidden": self.bilm.projection_dim, "cell": self.bilm.units}
        rows = self.batch_size, self.bilm.num_layers
        return [
            self._add_constant(f"carried_{name}", (*rows, widths[name.split("_")[1]]), "float32")
            for name in self.bilm.state_names
        ]

    def _add_constant(self, name, shape, dtype):
        kind = {"dtype": dtype, "initializer": "zeros", "trainable": False, "autocast": False}
        return self.add_weight(name=name, shape=shape, **kind)
