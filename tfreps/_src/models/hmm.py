"""HMMTagger: a hidden Markov model that tags tokens, trained with or without tags."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NoReturn

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.files.argument_checks import (
    check_choice,
    check_integers,
    check_names,
    check_temperature,
)
from tfreps._src.layers.ops import chain
from tfreps._src.layers.ops.annotations import Array, Features, Outputs
from tfreps._src.layers.ops.masks import checked_ids
from tfreps._src.models import hmm_sentences
from tfreps._src.models.features import feature, with_optional
from tfreps._src.models.hmm_counts import HMMCounts, flat_tokens
from tfreps._src.models.sentence_tagger import SentenceTagger
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.text.tags.tag_schemes import Scheme, allowed_transitions

UNKNOWN = "uniform", "hapax"


@keras.saving.register_keras_serializable(package="tfreps")
class HMMTagger(SentenceTagger, WholeModel, keras.Model):
    """Hidden Markov model that tags tokens.

        p(tokens, tags) = initial[y_1] emission[y_1, x_1]
                          prod over t > 1 of transition[y_{t-1}, y_t] emission[y_t, x_t]

    Here `x_t` and `y_t` are the token and the tag at position t. With `use_end`, the product also
    contains end[y_T]. A new model has uniform probabilities. `fit_counts` trains on tagged
    sentences, and `baum_welch` on sentences without tags. Keras's `fit` and `evaluate` raise a
    ValueError.

    Args:
        vocabulary_size: int. Vocabulary size. Token ids are vocabulary ids plus 1, and 0 is
            padding.
        tags: list of str. Tag names in the order of their ids.
        scheme: str. Tag scheme by which the tags form spans. It does not forbid any transitions.
            If `None` (the default), the tags do not form spans.
        unknown_id: int. Token id of tokens outside the vocabulary (`<UNK>`). Defaults to 3.
        unknown: `"uniform"` or `"hapax"`. With `"uniform"`, an unknown token has the probability
            1/K under each of the K tags. With `"hapax"`, the counts of all tokens that occur once
            are added to the counts of the unknown token. Defaults to `"uniform"`.
        use_end: bool. Whether to model the probability that a sentence ends after a tag.
            Defaults to `False`.
        temperature: float. Number by which log p(tokens, tags) is divided in `marginals`, in the
            confidences of `tag` and `predict`, and in the scores of `decode` and
            `log_normalizer`. It does not change the tags. `tfreps evaluate --fit-temperature`
            fits it to held-out data. Defaults to 1.0.

    Call arguments:
        inputs: Token ids int `[B, T]`, or a dict with `token_ids` and, optionally, `mask`
            bool `[B, T]` (`token_ids != 0` if absent).

    Returns:
        dict with `emissions` float32 `[B, T, K]`: log p(token | tag), 0 where masked; `mask`
        bool `[B, T]`; and `log_likelihood` float32 `[B]`: log p(tokens), which is 0 for a sentence
        without tokens. The methods `tag` and `decode` return tags.

    Raises:
        ValueError: If a tag does not belong to the scheme, or an option is invalid.
        tf.errors.InvalidArgumentError: If a token id is out of range.

    Reference: Rabiner, 1989, "A tutorial on hidden Markov models"; Guo et al., 2017, "On
    Calibration of Modern Neural Networks", for the temperature.

    Example:
    >>> hmm = HMMTagger(vocabulary_size=3, tags=["N", "V"], unknown_id=3)
    >>> _ = hmm.fit_counts([[1, 2], [1, 2, 1], [1]], [[0, 1], [0, 1, 0], [0]])
    >>> tags, score = hmm.decode(np.array([[1, 2, 3], [1, 0, 0]]))
    >>> tags.numpy().tolist()
    [[0, 1, 0], [0, 0, 0]]
    >>> hmm.decode_sentences([[1, 2], [], [2]])
    [array([0, 1], dtype=int32), array([], dtype=int32), array([1], dtype=int32)]
    """

    _window = 0, 0  # the emission scores of a token do not depend on other tokens

    def __init__(
        self,
        vocabulary_size: int,
        tags: Sequence[str],
        scheme: Scheme | None = None,
        unknown_id: int = 3,
        unknown: Literal["uniform", "hapax"] = "uniform",
        use_end: bool = False,
        temperature: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_options(vocabulary_size, tags, unknown_id, unknown)
        check_temperature(temperature)
        if scheme is not None:
            allowed_transitions(tags, scheme)  # raises an error for tags outside the scheme
        # Options.
        self.vocabulary_size = vocabulary_size
        self.tags = list(tags)
        self.scheme: Scheme | None = scheme
        self.unknown_id = unknown_id
        self.unknown = unknown
        self.use_end = use_end
        self.temperature = temperature
        # Logarithms of probabilities.
        num_tags = len(self.tags)
        rows = vocabulary_size + 1
        nothing = HMMCounts(
            *map(np.zeros, ([num_tags], [num_tags] * 2, [rows, num_tags], num_tags))
        )
        self.log_initial = self._add_table("log_initial", [num_tags])
        self.log_transitions = self._add_table("log_transitions", [num_tags, num_tags])
        self.log_emissions = self._add_table("log_emissions", [rows, num_tags])
        self.log_end = self._add_table("log_end", [num_tags]) if use_end else None
        self.built = True
        self.set_counts(nothing, smoothing=1.0, check=False)

    def _add_table(self, name, shape):
        """Returns a new weight of zeros, which is float32 under every dtype policy."""
        kind = {"dtype": "float32", "autocast": False}
        return self.add_weight(name=name, shape=shape, initializer="zeros", **kind)

    def call(self, inputs: Features) -> Outputs:
        emissions, mask = self._emissions(inputs)  # [B, T, K], [B, T]
        log_likelihood = chain.log_normalizer(emissions, mask, *self._scores())  # [B]
        return {"emissions": emissions, "mask": mask, "log_likelihood": log_likelihood}

    def _input_signatures(self):
        """Returns the input specs; see `WholeModel._input_signatures`."""
        ids = feature("token_ids")
        mask = feature("mask", dtype="bool")
        return [ids, *with_optional([ids], mask)]

    def decode(self, features: Features, k: int | None = None) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the most probable sequences of tags and their scores.

        Args:
            features: The inputs, as passed to `call`, or the dict that `call` returned.
            k: int. Number of sequences. If `None` (the default), only the best sequence is
                returned.

        Returns:
            Tuple `(tags, scores)`. `tags` is int32 `[B, T]`, 0 where masked. `scores` is
            float32 `[B]`: log p(tokens, tags), divided by `temperature`. If `k` is given, their
            shapes are `[B, k, T]` and `[B, k]`, with the best sequence first. If a sentence has
            fewer than `k` sequences, the remaining scores are `-inf` and their tags 0.

        Raises:
            ValueError: If `k` is below 1.
        """
        given = self._chain(features)
        tags, scores = chain.viterbi(*given) if k is None else chain.k_best(*given, k)
        return tags, scores / self.temperature

    def marginals(self, features: Features) -> tf.Tensor:
        """Computes the posterior p(tag | all tokens of the sentence) of each tag at each token.

        Args:
            features: As in `decode`.

        Returns:
            float32, shape `[B, T, K]`, 0 where masked.
        """
        return chain.marginals(*chain.at_temperature(*self._chain(features), self.temperature))

    def log_normalizer(self, features: Features) -> tf.Tensor:
        """Computes the log of the sum of exp(score) over all sequences.

        The score of a sequence is the score that `decode` returns for it. With a `temperature` of
        1, the result is log p(tokens), the log likelihood of each sentence.

        Args:
            features: As in `decode`.

        Returns:
            float32, shape `[B]`.
        """
        scaled = chain.at_temperature(*self._chain(features), self.temperature)
        return chain.log_normalizer(*scaled)

    def fit(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises a ValueError; `fit_counts` and `baum_welch` train the model."""
        self.compute_loss()

    def compute_loss(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises a ValueError, because the model has no loss."""
        raise ValueError(
            "An HMMTagger has no loss, so `fit` and `evaluate` do not apply to it. Train it with "
            "`fit_counts` on tagged sentences or `baum_welch` on sentences without tags, and "
            "compare the output of `predict` with the tags."
        )

    def decode_sentences(
        self, token_ids: Iterable[Sequence[int]], jit_compile: bool = False
    ) -> list[np.ndarray]:
        """Returns the most probable tags of many sentences, batched by similar length.

        Args:
            token_ids: list of lists of int from 1 to `vocabulary_size`, without padding.
            jit_compile: bool. Whether to compile with XLA. The first call then takes a few seconds
                longer, and later calls are several times faster. Defaults to `False`.

        Returns:
            list of int32 NumPy arrays, each as long as its sentence.

        Raises:
            ValueError: If ids are not integers or are out of range. The error message for an id out
                of range names the sentence.
        """
        return hmm_sentences.decode(token_ids, self.log_emissions, self._scores(), jit_compile)

    def fit_counts(
        self,
        token_ids: Iterable[Sequence[int]],
        tag_ids: Iterable[Sequence[int]],
        smoothing: float | Mapping[str, float] | None = None,
        floor: float | None = None,
        skip_single_tokens: bool = False,
    ) -> HMMCounts:
        """Sets the probabilities to the smoothed relative frequencies in tagged sentences.

        Args:
            token_ids: list of lists of int from 1 to `vocabulary_size`. Empty sentences are
                ignored.
            tag_ids: list of lists of int from 0 to K - 1, with the same lengths.
            smoothing: float, or dict with a float for each of `initial`, `transition`, `emission`
                and, with `use_end`, `end`. The value that is added to every count. If `None` (the
                default), it is 0.1, or 0 if `floor` is given.
            floor: float. The value that replaces counts of 0, instead of smoothing: 1e-10 in
                luopeixiang/named_entity_recognition and 1e-8 in
                aespresso/a_journey_into_math_of_ml. If `None` (the default), smoothing is used.
            skip_single_tokens: bool. Whether to exclude sentences of one token from the initial
                counts, as aespresso/a_journey_into_math_of_ml does. Defaults to `False`.

        Returns:
            `HMMCounts`, which can be passed to `baum_welch`, or to `set_counts` with a different
            smoothing.

        Raises:
            ValueError: If ids are not integers or are out of range, the lengths differ, there are
                no tokens, a tag does not occur, `smoothing` and `floor` are both given, or one of
                them is invalid. The error message for an id out of range names the sentence.
        """
        counts = HMMCounts.from_sentences(
            token_ids, tag_ids, self.vocabulary_size, len(self.tags), skip_single_tokens
        )
        self.set_counts(counts, smoothing, floor)
        return counts

    def set_counts(
        self,
        counts: HMMCounts,
        smoothing: float | Mapping[str, float] | None = None,
        floor: float | None = None,
        check: bool = True,
    ) -> None:
        """Sets the probabilities from counts.

        Args:
            counts: `HMMCounts`.
            smoothing, floor: As in `fit_counts`.
            check: bool. Whether to require that each tag occurs. Defaults to `True`.

        Raises:
            ValueError: If the model has another number of tokens or tags, `check` is
                `True` and a tag does not occur, `smoothing` and `floor` are both given, or one of
                them is invalid.
        """
        if len(counts.emissions) != self.vocabulary_size + 1 or len(counts.end) != len(self.tags):
            raise ValueError(
                f"`counts` must have {self.vocabulary_size} tokens and {len(self.tags)} tags; "
                f"got {len(counts.emissions) - 1} and {len(counts.end)}."
            )
        if check:
            check_tags_occur(counts, self.tags)
        counts = counts.with_unknown(self.unknown_id) if self.unknown == "hapax" else counts
        self._set_tables(counts, smoothing, floor)

    def set_log_probabilities(
        self, initial: Array, transitions: Array, emissions: Array, end: Array | None = None
    ) -> None:
        """Sets the probabilities of a model that another program has estimated.

        The values are logarithms of probabilities. They may be `-inf`, for the probability 0, and
        their probabilities need not sum to 1.

        Args:
            initial: float, shape `[K]`. log p(first tag).
            transitions: float, shape `[K, K]`, [from, to]. log p(tag | previous tag).
            emissions: float, shape `[vocabulary_size, K]`. log p(token | tag), for the tokens in
                the order of the vocabulary, including the unknown token.
            end: float, shape `[K]`. log p(end of the sentence | last tag). Required with `use_end`,
                and must be `None` without it. Defaults to `None`.

        Raises:
            ValueError: If an array has the wrong shape or contains NaN or infinity, or if `end` is
                missing or does not apply.

        Example:
        >>> hmm = HMMTagger(vocabulary_size=3, tags=["N", "V"])
        >>> initial, transitions = [0.0, -np.inf], [[-np.inf, 0.0], [-0.5, -0.9]]
        >>> emissions = np.log([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
        >>> hmm.set_log_probabilities(initial, transitions, emissions)
        >>> hmm.decode(np.array([[1, 2, 1]]))[0].numpy().tolist()
        [[0, 1, 0]]
        """
        if (end is not None) != self.use_end:
            raise ValueError(
                "`end` must be given if `use_end` is True, and must be None otherwise; got "
                f"`use_end={self.use_end}` and {'no' if end is None else 'an'} `end`."
            )
        given = {"initial": initial, "transitions": transitions, "emissions": emissions}
        given |= {} if end is None else {"end": end}
        tables = {name: np.asarray(values, "float32") for name, values in given.items()}
        num_tags = len(self.tags)
        rows = {"transitions": [num_tags], "emissions": [self.vocabulary_size]}
        for name, table in tables.items():
            shape = (*rows.get(name, []), num_tags)
            if table.shape != shape or not (table < np.inf).all():
                raise ValueError(
                    f"`{name}` must have the shape {shape}, and values below infinity; got the "
                    f"shape {table.shape} and the largest value {np.max(table, initial=-np.inf)}."
                )
        padding = np.asarray(self.log_emissions)[:1]
        tables["emissions"] = np.concatenate([padding, tables["emissions"]])
        for name, table in tables.items():
            getattr(self, f"log_{name}").assign(table)

    def _set_tables(self, counts, smoothing, floor=None):
        """Sets the probabilities from counts.

        With `unknown="hapax"`, `counts` must already include the counts of the unknown token.
        """
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
        self,
        token_ids: Iterable[Sequence[int]],
        num_steps: int,
        counts: HMMCounts | None = None,
        counts_weight: float = 1.0,
        smoothing: float | Mapping[str, float] | None = 0.0,
        progress: Callable[[int, float], object] | None = None,
        seed: int | None = None,
    ) -> list[float]:
        """Trains on sentences without tags by expectation maximization.

        Training starts from the current probabilities or, with a `seed`, from random ones. Tags
        with equal probabilities, as in a new model, would remain equal. Each step computes the
        expected counts of all sentences (the gradients of their log likelihood) and sets the
        probabilities to their relative frequencies. Without `counts` and `smoothing`, no step
        decreases the likelihood of the sentences. With `counts` or `smoothing`, no step decreases
        the sum of three terms: the log likelihood of the sentences; `counts_weight * log p(tagged
        text)`; and, summed over all tables, the smoothing of a table times the sum of its log
        probabilities. With `unknown="uniform"`, the probabilities of unknown tokens do not change.

        Args:
            token_ids: list of lists of int from 1 to `vocabulary_size`. Empty sentences are
                ignored.
            num_steps: int. Number of steps.
            counts: `HMMCounts` of tagged text, added to the expected counts. If `None` (the
                default), only the expected counts are used.
            counts_weight: float. Weight of a tagged sentence relative to one without tags.
                Defaults to 1.0.
            smoothing: float or dict. The values that are added to the counts, as in `fit_counts`.
                Defaults to 0.0.
            progress: function that is called after each step, with the number of the step and the
                log likelihood. Defaults to `None`.
            seed: int. Random seed of the initial probabilities, which replace the current ones. If
                `None` (the default), the current probabilities are used.

        Returns:
            list of `num_steps + 1` floats: the log likelihood of the sentences before the first
            step and after each step.

        Raises:
            ValueError: If ids are not integers or are out of range, there are no tokens, the
                smoothing is invalid, or all tags have the same probabilities and neither `counts`
                nor a `seed` is given.
        """
        flat_ids = flat_tokens(token_ids, self.vocabulary_size)
        batches = [ids for _, ids in hmm_sentences.batches(*flat_ids)]
        if seed is not None:
            self._draw_probabilities(seed)
        elif counts is None and len(self.tags) > 1 and num_steps and self._tags_are_alike():
            raise ValueError(
                "All tags of the model have the same probabilities, which no step would change. "
                "Pass a `seed` to start from random probabilities, pass the `counts` of tagged "
                "text, or call `fit_counts` first."
            )
        if counts is not None and self.unknown == "hapax":
            counts = counts.with_unknown(self.unknown_id)
        likelihoods = []
        for step in range(num_steps + 1):
            likelihood, expected = hmm_sentences.expected_counts(
                batches, self.log_emissions, self._scores(), self.use_end
            )
            likelihoods.append(likelihood)
            if progress is not None and step:
                progress(step, likelihood)
            if step < num_steps:
                if counts is not None:
                    expected = expected.plus(counts, counts_weight)
                self._set_tables(expected, smoothing)
        return likelihoods

    def _scores(self):
        """Returns the logs of the transition `[K, K]`, initial `[K]` and end `[K]` probabilities.

        Without `use_end`, zeros replace the logs of the end probabilities.
        """
        end = self.log_end if self.use_end else tf.zeros_like(self.log_initial)
        return tuple(map(tf.convert_to_tensor, (self.log_transitions, self.log_initial, end)))

    def _chain(self, features):
        """Returns the arguments of the functions in `ops.chain`, as a tuple of five tensors.

        These are the emissions `[B, T, K]`, the mask `[B, T]`, and the three results of `_scores`.
        """
        return *self._emissions(features), *self._scores()

    def _draw_probabilities(self, seed):
        rng = np.random.default_rng(seed)
        num_tags = len(self.tags)
        shapes = num_tags, (num_tags, num_tags), (self.vocabulary_size + 1, num_tags), num_tags
        counts = HMMCounts(*(rng.uniform(0.5, 1.5, shape) for shape in shapes))
        self._set_tables(counts, smoothing=0.0)

    def _tags_are_alike(self):
        """Returns True if all tags have the same probabilities.

        No step of `baum_welch` would change such probabilities.
        """
        tables = (
            self.log_initial[None],
            self.log_emissions,
            tf.reshape(self.log_transitions, [1, -1]),
        )
        return all(np.ptp(np.asarray(table), axis=-1).max() < 1e-6 for table in tables)

    def _emissions(self, given):
        """Returns emissions `[B, T, K]` and mask `[B, T]` for inputs or the output of `call`."""
        given = given if isinstance(given, dict) else {"token_ids": given}
        if "emissions" in given:
            return given["emissions"], given["mask"]
        token_ids = tf.convert_to_tensor(given["token_ids"])
        most = self.vocabulary_size
        message = f"Token ids must lie in 0..{most}. Create them with the vocabulary of this model."
        token_ids = checked_ids(token_ids, self.vocabulary_size + 1, message)
        mask = given.get("mask")
        mask = token_ids != 0 if mask is None else mask  # [B, T]
        emissions = tf.gather(self.log_emissions, token_ids)  # [B, T, K]
        return tf.where(tf.expand_dims(mask, -1), emissions, 0.0), mask

    @property
    def classes(self) -> list[str]:
        """Names of the tags. Taggers and classifiers both have this attribute."""
        return self.tags


def check_options(vocabulary_size, tags, unknown_id, unknown):
    check_integers(1, vocabulary_size=vocabulary_size)
    check_names(tags=tags)
    if not 1 <= unknown_id <= vocabulary_size:
        raise ValueError(
            f"`unknown_id` must be from 1 to `vocabulary_size` ({vocabulary_size}); "
            f"got {unknown_id}."
        )
    check_choice(UNKNOWN, unknown=unknown)


def check_tags_occur(counts, tags):
    seen = counts.emissions.sum(0) > 0
    if not seen.all():
        missing = [tag for tag, there in zip(tags, seen, strict=True) if not there]
        raise ValueError(
            "Every tag in `tags` must occur in the training text, but these do not: "
            f"{', '.join(missing)}. Remove these tags, or add sentences that contain them."
        )
