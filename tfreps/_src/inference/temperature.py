"""Temperature scaling: fits the temperature of a tagger or classifier to held-out data."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from tfreps._src.inference.text_model import TextModel
from tfreps._src.layers.ops import chain, crf_loss

LOWEST, HIGHEST = 0.01, 100.0
HALVINGS = 30  # steps that halve the interval of log T, to a relative error of 1e-8


class FittedTemperature(NamedTuple):
    """Temperature with the lowest negative log-likelihood (NLL) of held-out data.

    Attributes:
        temperature: float. The temperature.
        nll_before, nll_after: float. Mean NLL at the previous temperature of the model, and at
            `temperature`, in nats per token for a tagger and in nats per text for a classifier.
        left_out: int. Number of sentences that are excluded from the NLL, because their tags have
            the probability 0, for example if the tag scheme forbids them.
    """

    temperature: float
    nll_before: float
    nll_after: float
    left_out: int


class Scored(NamedTuple):
    """Batch of sentences, with the scores of a linear chain of tags and with the target tags.

    A text of a classifier is represented as a sentence of one token, whose emissions are the logits
    of the labels. `counts` is False for sentences whose targets have the probability 0; the NLL
    does not include these sentences.
    """

    emissions: tf.Tensor  # [B, T, K]
    mask: tf.Tensor  # [B, T]
    transitions: tf.Tensor  # [K, K]
    start: tf.Tensor  # [K]
    end: tf.Tensor  # [K]
    targets: tf.Tensor  # [B, T]
    counts: tf.Tensor  # [B]


def fit_temperature(
    trained: TextModel, tokens: Sequence[Sequence[str]], targets: Sequence[Any], **options: Any
) -> FittedTemperature:
    """Finds the temperature T with the lowest NLL of the targets (Guo et al., 2017).

        NLL(T) = sum over sentences of log Z(T) - score(tags) / T
        Z(T)   = sum over all sequences of exp(score(sequence) / T)

    For a classifier, the sequences are the labels and the scores are the logits. For a tagger with
    neither a CRF nor a scheme, NLL(T) is the sum of the NLL of all tokens. NLL(T) is convex in 1/T,
    so the zero of its derivative is found by bisection. The model is not changed.

    Args:
        trained: `TextTagger` or `TextClassifier`.
        tokens: list of lists of str. The tokens of each sentence or text.
        targets: list. For a tagger, the list of tags of each sentence; for a classifier, the label
            of each text.
        **options: Options of `SequenceBatches`, such as `vectors`.

    Returns:
        `FittedTemperature`, with the temperature, the mean NLL before and after, and the number of
        sentences that are excluded.

    Raises:
        ValueError: If the NLL has no minimum between the temperatures 0.01 and 100, for example
            because all predictions are right, or because the scores are unrelated to the targets.
    """
    batches = list(_scored(trained, tokens, targets, options))
    if not any(map(_has_mistakes, batches)):
        raise ValueError(
            "No temperature can be fitted: all predictions for the data are right, so lower "
            "temperatures are always better. Use more data that the model was not trained on."
        )
    before = float(trained.model.temperature)
    temperature = _zero(lambda value: _nll(batches, value)[1])
    nll_before, nll_after = _nll(batches, before)[0], _nll(batches, temperature)[0]
    left_out = sum(int(tf.math.count_nonzero(tf.logical_not(batch.counts))) for batch in batches)
    return FittedTemperature(temperature, nll_before, nll_after, left_out)


def _scored(
    trained: TextModel,
    tokens: Sequence[Sequence[str]],
    targets: Sequence[Any],
    options: dict[str, Any],
) -> Iterator[Scored]:
    """Yields a `Scored` for each batch of the data, with the model's scores at temperature 1.

    The arguments are the same as in `fit_temperature`.
    """
    number = {name: index for index, name in enumerate(trained.model.classes)}
    if trained.is_tagger:
        ids: list[Any] = [[number[tag] for tag in tags] for tags in targets]
        if trained.tokenizer is not None:
            # `TextTagger.tag` does not limit the number of tokens of such models either.
            options = {"max_length": None, **options}
    else:
        ids = [number[label] for label in targets]
    batches = trained.batches(tokens, ids, **options)
    function = trained.model._chain if trained.is_tagger else _label_chain(trained.model)
    features_spec: Any = batches.element_spec
    score = tf.function(function, input_signature=features_spec[:1])
    for features, given, _ in batches.dataset():
        emissions, mask, transitions, start, end = score(features)
        given = tf.reshape(given, tf.shape(mask))  # [B, T]
        target_score = chain.path_score(emissions, given, mask, transitions, start, end)
        counts = tf.math.is_finite(target_score)  # [B]
        yield Scored(emissions, mask, transitions, start, end, given, counts)


def _label_chain(model: Any) -> Callable[[Any], Any]:
    """Returns a function that represents the scores of a classifier as a chain of one token.

    The tags of this token are the labels, and its emissions are the logits. The function takes a
    batch of features, and returns the first five fields of `Scored`.
    """

    def label_chain(features: Any) -> Any:
        logits = model(features)["logits"]  # [B, N]
        mask = tf.ones([tf.shape(logits)[0], 1], "bool")
        zeros = tf.zeros([len(model.labels)])
        return logits[:, None], mask, zeros[:, None] * zeros, zeros, zeros

    return label_chain


def _has_mistakes(batch: Scored) -> bool:
    best, _ = chain.viterbi(*batch[:5])
    wrong = batch.mask & batch.counts[:, None] & (best != batch.targets)  # [B, T]
    return bool(tf.reduce_any(wrong))


def _nll(batches: Sequence[Scored], temperature: float) -> tuple[float, float]:
    """Returns the mean NLL per token at a temperature T, and its derivative with respect to 1/T."""
    inverse = tf.constant(1 / temperature, "float32")
    run = crf_loss.traced(_nll_of_batch, False, batches[0].emissions.shape[-1])
    found = [[float(value) for value in run(inverse, batch)] for batch in batches]
    nll, slope, count = map(math.fsum, zip(*found, strict=True))
    return nll / count, slope / count


def _nll_of_batch(inverse: tf.Tensor, batch: Scored) -> Any:
    """Computes the NLL of a batch, given `inverse`, which is 1/T.

    Returns three scalar tensors: the sum of the NLL over the sentences that count, the derivative
    of this sum with respect to 1/T, and the number of tokens in these sentences.
    """
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(inverse)
        emissions, *scores = (
            _times(score, inverse)
            for score in (batch.emissions, batch.transitions, batch.start, batch.end)
        )
        total: Any = chain.log_normalizer(emissions, batch.mask, *scores)  # [B]
        nll = total - chain.path_score(emissions, batch.targets, batch.mask, *scores)
        nll = tf.reduce_sum(tf.where(batch.counts, nll, 0.0))
    counted = batch.mask & batch.counts[:, None]  # [B, T]
    return nll, tape.gradient(nll, inverse), tf.reduce_sum(tf.cast(counted, "float32"))


def _times(score: tf.Tensor, inverse: tf.Tensor) -> tf.Tensor:
    """Divides scores by the temperature, given `inverse`, which is 1/T.

    Scores of `-inf` are not changed, and contribute nothing to the gradient, which would otherwise
    be NaN.
    """
    is_finite = score > float("-inf")
    return tf.where(is_finite, tf.where(is_finite, score, 0.0) * inverse, float("-inf"))


def _zero(slope: Callable[[float], float]) -> float:
    """Returns the temperature with the lowest NLL.

    `slope` is a function from a temperature T to the derivative of the NLL with respect to 1/T.
    Raises a ValueError if this derivative is not 0 anywhere between `LOWEST` and `HIGHEST`.
    """
    low, high = math.log(LOWEST), math.log(HIGHEST)
    if not slope(LOWEST) > 0 or not slope(HIGHEST) < 0:
        raise ValueError(
            f"No temperature between {LOWEST} and {HIGHEST} minimizes the negative "
            "log-likelihood of the data; the minimum lies outside of this range. Check that "
            "the data belong to the model, or use more data."
        )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if slope(math.exp(middle)) > 0:  # the NLL decreases as the temperature rises
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)
