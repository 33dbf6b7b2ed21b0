"""SentenceTagger: the methods that `Tagger` and `HMMTagger` share, for tags and spans."""

import functools
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops import chain, chain_spans, crf_loss
from tfreps._src.layers.ops.annotations import Array, Features, Outputs
from tfreps._src.layers.ops.masks import check_shape
from tfreps._src.layers.ops.portable import is_portable
from tfreps._src.text.tags.graph_spans import padded_spans, spans_by_row
from tfreps._src.text.tags.span_states import SpanStates, span_states
from tfreps._src.text.tags.tag_schemes import Scheme, SpanRules, span_rules

LOWEST_THRESHOLD = 0.001


class SentenceTagger:
    """Mixin for models that tag sentences by a linear chain.

    A subclass has the attributes `tags`, `scheme` and `temperature`, the methods `decode` and
    `marginals`, and `_chain`, which returns the arguments of the functions in `ops.chain`.
    """

    tags: list[str]
    scheme: Scheme | None
    temperature: float

    def tag(self, features: Features) -> Outputs:
        """Tags sentences. This method can be used inside a graph and in an exported model.

        Args:
            features: The features, as passed to `call`.

        Returns:
            dict with `tags` int32 `[B, T]`: the best sequence, 0 where masked; `confidences`
            float32 `[B, T]`: the posterior probability of each of these tags, 0 where masked; and
            `mask` bool `[B, T]`. With a `scheme`, it also contains the spans of the best
            sequence: `spans` int32 `[B, S, 3]`, from left to right, in the form of
            `span_log_probability`, and `span_confidences` float32 `[B, S]`: the posterior
            probability of each span, 0 on padding.
        """
        outputs: Any = self(features)  # pyright: ignore[reportCallIssue]
        found = self._best_sequence(outputs)
        marginals = self.marginals(outputs)  # pyright: ignore[reportAttributeAccessIssue]
        found["confidences"] = tf.gather(marginals, found["tags"], batch_dims=2)  # [B, T]
        if self.scheme is not None:
            log_probability = self.span_log_probability(outputs, found["spans"])
            found["span_confidences"] = tf.exp(log_probability)  # [B, S]
        return found

    def _best_sequence(self, outputs: Any) -> Outputs:
        """Returns the outputs of `tag` without the confidences, for an output of the model."""
        tags, _ = self.decode(outputs)  # pyright: ignore[reportAttributeAccessIssue]
        found: Outputs = {"tags": tags, "mask": outputs["mask"]}
        if self.scheme is not None:
            find = spans_by_row if is_portable() else padded_spans
            found["spans"] = find(tags, outputs["mask"], self._span_rules)
        return found

    def _served(self, *inputs):
        return self.tag(*inputs)

    def predict_step(self, data: Any) -> Outputs:
        """Returns the output of `tag` for a batch of `predict`."""
        return self.tag(keras.utils.unpack_x_y_sample_weight(data)[0])

    @property
    def span_types(self) -> list[str]:
        """Names of the span types in the order of their ids; empty without a `scheme`."""
        return [] if self.scheme is None else list(self._span_rules.type_names)

    def span_log_probability(self, features: Features, spans: Array) -> tf.Tensor:
        """Computes the log of the posterior probability of each of the given spans.

            log of the sum of p(y) over all tag sequences y that contain the span

        A sequence contains a span if `tfreps.tags.spans` finds it, with exactly this type,
        start and end. The sum is exact and computed by forward-backward.

        Args:
            features: As in `decode`.
            spans: int, shape `[B, N, 3]`. The type of each span, which is an index in
                `span_types`; its start; and its end, exclusive. Starts and ends count the real
                tokens of the sentence. Padding has the type -1 or the end 0.

        Returns:
            float32, shape `[B, N]`. It is `-inf` for padding, and for spans that no sequence
            contains. It has no gradient.

        Raises:
            ValueError: If the model has no `scheme`, or `spans` has another shape.
        """
        self._check_has_spans()
        spans = tf.cast(spans, "int32")
        emissions, mask, *scores = self._scaled_chain(features)
        check_shape("spans", spans, [emissions.shape[0], None, 3], "[B, N, 3]")
        batch = emissions, spans, mask
        return self._on_spans(chain_spans.span_log_probability, batch, scores)

    def likely_spans(
        self, features: Features, threshold: float = 0.1
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Finds all spans whose posterior probability is at least `threshold`.

        The spans may overlap, and they need not belong to the best sequence of tags. The search
        is exact; at each token, it keeps at most `1 / threshold` spans that have not ended.

        Args:
            features: As in `decode`.
            threshold: float from 0.001 to 1. Minimum probability of a returned span. Defaults to
                0.1.

        Returns:
            Tuple `(spans, log_probabilities)` with the most probable spans of each sentence first.
            `spans` is int32 `[B, N, 3]`, in the form of `span_log_probability`; padding has the
            type -1 and the start and end 0. `log_probabilities` is float32 `[B, N]`, `-inf` on
            padding.

        Raises:
            ValueError: If the model has no `scheme`, or `threshold` is out of range.
        """
        self._check_has_spans()
        if not LOWEST_THRESHOLD <= threshold <= 1.0:
            raise ValueError(
                f"`threshold` must be a probability from {LOWEST_THRESHOLD} to 1; got {threshold}. "
                "Lower values would keep thousands of spans at each token; use "
                "`span_log_probability` for the probabilities of given spans."
            )
        emissions, mask, *scores = self._scaled_chain(features)
        options = {"threshold": float(threshold)}
        return self._on_spans(chain_spans.likely_spans, (emissions, mask), scores, **options)

    @functools.cached_property
    def _span_rules(self) -> SpanRules:
        return span_rules(self.tags, self.scheme)  # pyright: ignore[reportArgumentType]

    @functools.cached_property
    def _span_states(self) -> SpanStates:
        return span_states(self.tags, self.scheme)  # pyright: ignore[reportArgumentType]

    def _check_has_spans(self):
        if self.scheme is None:
            raise ValueError(
                f"The tags of this {type(self).__name__} do not form spans, because its `scheme` "
                "is None. Create the model with the tag scheme of the data."
            )

    def _scaled_chain(self, features):
        """Returns the result of `_chain` with all scores divided by the temperature."""
        given = self._chain(features)  # pyright: ignore[reportAttributeAccessIssue]
        emissions, mask, *scores = chain.at_temperature(*given, self.temperature)
        return tf.cast(emissions, "float32"), tf.cast(mask, "bool"), *scores

    def _on_spans(self, function, batch, scores, **options):
        """Calls a function of `ops.chain_spans`, compiled as a `tf.function` in eager mode.

        Args:
            function: The function.
            batch: list of tensors with one row per sentence, the emissions first.
            scores: list of tensors. The scores of the chain, which all sentences share.
            **options: Further keyword arguments of the function.

        Returns:
            The result of the function.
        """
        states = self._span_states
        if tf.executing_eagerly():
            sizes = [array.shape for array in states]
            function = crf_loss.traced(function, False, batch[0].shape[-1], *sizes)
        return function(*batch, *scores, states=states, **options)
