"""HMMTagger: a hidden Markov model that tags tokens, from counts and from unlabelled text."""

import keras
import numpy as np
import tensorflow as tf

from tfreps.layers.ops import chain
from tfreps.models import hmm_sentences
from tfreps.models.hmm_counts import HMMCounts
from tfreps.models.whole_model import WholeModel, feature, with_optional

UNKNOWN = "uniform", "hapax"


@keras.saving.register_keras_serializable(package="tfreps")
class HMMTagger(WholeModel, keras.Model):
    """A hidden Markov model: tags follow tags, tokens follow from tags.

        p(tokens, tags) = initial[y_1] emission[y_1, x_1]
                          prod over t > 1 of transition[y_{t-1}, y_t] emission[y_t, x_t]

    and, with `use_end`, times end[y_T]. A new model has uniform probabilities: `fit_counts`
    learns from tagged sentences, `baum_welch` from sentences without tags. `fit` is not used.

    Args:
        vocabulary_size: int. Tokens have the ids 1 to `vocabulary_size` (line of the vocabulary
            + 1); 0 is padding.
        tags: list of str. The tags in the order of their ids.
        scheme: None or str. The tag scheme, kept for what reads the tags.
        unknown_id: int. The id of all tokens outside the vocabulary, which is that of `<UNK>`.
        unknown: `"uniform"`, where an unknown token says nothing (probability 1/K under every
            tag), or `"hapax"`, where it counts like the tokens that were seen once.
        use_end: bool. Whether the probability that a sentence ends after a tag takes part.

    Call arguments:
        inputs: int `[B, T]` token ids, or a dict with `token_ids` and, if other than
            `token_ids != 0`, a bool `mask`.

    Returns:
        dict with `emissions` float32 `[B, T, K]`, log p(token | tag), 0 where masked; `mask`
        bool `[B, T]`; `log_likelihood` float32 `[B]`, log p(tokens), 0 without a token.
        `tag`, `decode` and `marginals` say what the tags are.

    Raises:
        ValueError: options that make no sense.

    Reference: Rabiner, 1989, "A tutorial on hidden Markov models".

    Example:
    >>> hmm = HMMTagger(vocabulary_size=3, tags=["N", "V"], unknown_id=3)
    >>> _ = hmm.fit_counts([[1, 2], [1, 2, 1], [1]], [[0, 1], [0, 1, 0], [0]])
    >>> tags, score = hmm.decode(np.array([[1, 2, 3], [1, 0, 0]]))
    >>> tags.numpy().tolist()
    [[0, 1, 0], [0, 0, 0]]
    >>> hmm.decode_sentences([[1, 2], [], [2]])
    [array([0, 1], dtype=int32), array([], dtype=int32), array([1], dtype=int32)]
    """

    def __init__(
        self,
        vocabulary_size,
        tags,
        scheme=None,
        unknown_id=3,
        unknown="uniform",
        use_end=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        check_options(vocabulary_size, tags, unknown_id, unknown)
        # Options.
        self.vocabulary_size = vocabulary_size
        self.tags = list(tags)
        self.scheme = scheme
        self.unknown_id = unknown_id
        self.unknown = unknown
        self.use_end = use_end
        # Logarithms of probabilities.
        num_tags = len(self.tags)
        rows = vocabulary_size + 1
        nothing = HMMCounts(
            *map(np.zeros, ([num_tags], [num_tags] * 2, [rows, num_tags], num_tags))
        )
        self.log_initial = self.add_table("log_initial", [num_tags])
        self.log_transitions = self.add_table("log_transitions", [num_tags, num_tags])
        self.log_emissions = self.add_table("log_emissions", [rows, num_tags])
        self.log_end = self.add_table("log_end", [num_tags]) if use_end else None
        self.built = True
        self.set_counts(nothing, smoothing=1.0, check=False)

    def add_table(self, name, shape):
        """A weight that is float32 under every policy."""
        kind = {"dtype": "float32", "autocast": False}
        return self.add_weight(name=name, shape=shape, initializer="zeros", **kind)

    def call(self, inputs):
        emissions, mask = self._emissions(inputs)  # [B, T, K], [B, T]
        log_likelihood = chain.log_normalizer(emissions, mask, *self.scores())  # [B]
        return {"emissions": emissions, "mask": mask, "log_likelihood": log_likelihood}

    def input_signatures(self):
        """See `WholeModel`: token ids, alone or in a dict."""
        ids = feature("token_ids")
        mask = feature("mask", dtype="bool")
        return [ids, *with_optional([ids], mask)]

    def tag(self, features):
        """Tags sentences; works in a graph and in an export.

        Args:
            features: as in a call.

        Returns:
            dict with `tags` int32 `[B, T]`, the best sequence, 0 where masked; `confidences`
            float32 `[B, T]`, the posterior probability of each of these tags, 0 where masked;
            `mask` bool `[B, T]`.
        """
        outputs = self(features)
        tags, _ = self.decode(outputs)
        confidences = tf.gather(self.marginals(outputs), tags, batch_dims=2)  # [B, T]
        return {"tags": tags, "confidences": confidences, "mask": outputs["mask"]}

    def decode(self, features, k=None):
        """The most probable sequences of tags.

        Args:
            features: as in a call, or the dict that a call returned.
            k: None, or int for the `k` best.

        Returns:
            tags int32 `[B, T]`, 0 where masked, and log p(tokens, tags) float32 `[B]`. With
            `k`: `[B, k, T]` and `[B, k]`, the best first.
        """
        given = *self._emissions(features), *self.scores()
        return chain.viterbi(*given) if k is None else chain.k_best(*given, k)

    def marginals(self, features):
        """p(tag | all tokens of the sentence), float32 `[B, T, K]`, 0 where masked.

        Args:
            features: as in a call, or the dict that a call returned.
        """
        return chain.marginals(*self._emissions(features), *self.scores())

    def log_normalizer(self, features):
        """log p(tokens), what the score of a path exceeds its log probability by: float32 `[B]`."""
        return chain.log_normalizer(*self._emissions(features), *self.scores())

    def predict_step(self, data):
        """What `predict` gives: see `tag`."""
        return self.tag(keras.utils.unpack_x_y_sample_weight(data)[0])

    def decode_sentences(self, token_ids, use_xla=False):
        """The most probable tags of many sentences, in batches of like length.

        Args:
            token_ids: list of lists of int, without padding.
            use_xla: bool. Whether XLA compiles it: some seconds for the first call, several
                times the speed from then on.

        Returns:
            list of int32 NumPy arrays, each as long as its sentence.
        """
        return hmm_sentences.decode(token_ids, self.log_emissions, self.scores(), use_xla)

    def fit_counts(self, token_ids, tag_ids, smoothing=None, floor=None, skip_single_tokens=False):
        """Learns from tagged sentences: relative frequencies, smoothed.

        Args:
            token_ids: list of lists of int from 1 to `vocabulary_size`; empty ones count for
                nothing.
            tag_ids: list of lists of int from 0 to K - 1, of the same lengths.
            smoothing: float, or dict with a float for each of `initial`, `transition`,
                `emission` and `end`: what is added to every count. None stands for 0.1, or for
                nothing with `floor`.
            floor: float or None. What counts of 0 are replaced with, in place of smoothing:
                1e-10 in luopeixiang's program, 1e-8 in the article's.
            skip_single_tokens: bool. Whether sentences of one token are left out of the initial
                counts, as in the article's program.

        Returns:
            HMMCounts, for `set_counts` with other smoothing and for `baum_welch`.

        Raises:
            ValueError: naming the sentence: lengths that differ, ids out of range; no token at
                all; a tag without tokens.
        """
        counts = HMMCounts.from_sentences(
            token_ids, tag_ids, self.vocabulary_size, len(self.tags), skip_single_tokens
        )
        self.set_counts(counts, smoothing, floor)
        return counts

    def set_counts(self, counts, smoothing=None, floor=None, check=True):
        """Sets the probabilities that counts give; arguments as in `fit_counts`."""
        if len(counts.emissions) != self.vocabulary_size + 1 or len(counts.end) != len(self.tags):
            raise ValueError(
                f"Expected counts of {self.vocabulary_size} tokens and {len(self.tags)} tags; "
                f"got {len(counts.emissions) - 1} and {len(counts.end)}."
            )
        if check:
            check_tags_occur(counts, self.tags)
        counts = counts.with_unknown(self.unknown_id) if self.unknown == "hapax" else counts
        self.set_tables(counts, smoothing, floor)

    def set_tables(self, counts, smoothing, floor=None):
        uniform = self.unknown == "uniform"
        left_out = [self.unknown_id] if uniform else []
        tables = counts.log_tables(smoothing, floor, self.use_end, left_out)
        if uniform:
            tables["emissions"][self.unknown_id] = -np.log(len(self.tags))
        self.log_initial.assign(tables["initial"])
        self.log_transitions.assign(tables["transitions"])
        self.log_emissions.assign(tables["emissions"])
        if self.use_end:
            self.log_end.assign(tables["end"])

    def baum_welch(
        self, token_ids, num_steps, counts=None, counts_weight=1.0, smoothing=0.0, progress=None
    ):
        """Learns from sentences without tags, from the present probabilities on.

        Each step counts what the model expects of every sentence (the gradients of its log
        likelihood) and sets the probabilities to the relative frequencies. With neither
        `counts` nor `smoothing` the likelihood rises with every step; with them, likelihood
        plus `counts_weight * log p(tagged text)` plus the smoothing's share does.

        Args:
            token_ids: list of lists of int from 1 to `vocabulary_size`.
            num_steps: int.
            counts: HMMCounts or None. Counts of tagged text, added to the expected ones.
            counts_weight: float. What one sentence of these weighs beside one without tags.
            smoothing: as in `fit_counts`.
            progress: function of (step, log likelihood), called after each step, or None.

        Returns:
            list of float, `num_steps + 1` of them: log likelihood of the sentences before the
            first step and after each. Unknown tokens under `"uniform"` stay as they are.

        Raises:
            ValueError: ids out of range, or no token at all.
        """
        batches = hmm_sentences.checked_batches(token_ids, self.vocabulary_size)
        if counts is not None and self.unknown == "hapax":
            counts = counts.with_unknown(self.unknown_id)
        likelihoods = []
        for step in range(num_steps + 1):
            likelihood, expected = hmm_sentences.expected_counts(
                batches, self.log_emissions, self.scores(), self.use_end
            )
            likelihoods.append(likelihood)
            if progress is not None and step:
                progress(step, likelihood)
            if step < num_steps:
                if counts is not None:
                    expected = expected.plus(counts, counts_weight)
                self.set_tables(expected, smoothing)
        return likelihoods

    def scores(self):
        """Log transitions `[K, K]`, initial `[K]` and end `[K]`, as `chain` takes them."""
        end = self.log_end if self.use_end else tf.zeros_like(self.log_initial)
        return tuple(map(tf.convert_to_tensor, (self.log_transitions, self.log_initial, end)))

    def _emissions(self, given):
        """Emissions and mask, from token ids or from what a call returned."""
        given = given if isinstance(given, dict) else {"token_ids": given}
        if "emissions" in given:
            return given["emissions"], given["mask"]
        token_ids = given["token_ids"]
        mask = given.get("mask")
        mask = token_ids != 0 if mask is None else mask  # [B, T]
        emissions = tf.gather(self.log_emissions, token_ids)  # [B, T, K]
        return tf.where(mask[..., None], emissions, 0.0), mask

    @property
    def classes(self):
        """The names of the tags: what taggers and classifiers tell apart."""
        return self.tags


def check_options(vocabulary_size, tags, unknown_id, unknown):
    if vocabulary_size < 1:
        raise ValueError(f"`vocabulary_size` must be at least 1; got {vocabulary_size}.")
    if not tags or len(set(tags)) < len(tags) or not all(isinstance(t, str) for t in tags):
        raise ValueError(f"`tags` must be different strings, at least one; got {tags!r}.")
    if not 1 <= unknown_id <= vocabulary_size:
        raise ValueError(
            f"`unknown_id` must be from 1 to `vocabulary_size` ({vocabulary_size}); "
            f"got {unknown_id}."
        )
    if unknown not in UNKNOWN:
        raise ValueError(f"`unknown` must be one of {UNKNOWN}; got {unknown!r}.")


def check_tags_occur(counts, tags):
    seen = counts.emissions.sum(0) > 0
    if not seen.all():
        missing = [tag for tag, there in zip(tags, seen, strict=True) if not there]
        raise ValueError(
            f"No token of the training text has the tag {', '.join(missing)}: leave it out of "
            "`tags`, or add sentences that have it."
        )
