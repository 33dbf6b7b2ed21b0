"""Finds the spans of tag ids in a TensorFlow graph, without a loop."""

import tensorflow as tf

from tfreps._src.text.tags.tag_schemes import SpanRules


def ended_spans(tags: tf.Tensor, rules: SpanRules) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns, for every position, the type and the start of the span that ends just before it.

    The spans are those of `tfreps.text.tags.spans`. A position is inside a span if the last start
    up to this position is at or after the last position that does not continue a span. `tags`,
    int32 `[N]`, are consecutive sentences, each followed by the boundary, whose id is K. The types
    are indices in `rules.type_names`, or -1 where no span ends; both results are int32 `[N]`.
    """
    boundary = len(rules.types) - 1
    before = tf.concat([[boundary], tags], axis=0)[:-1]
    pair = before * (boundary + 1) + tags  # [N]
    tables = rules.starts, rules.continues, rules.closes
    starts, continues, closes = (tf.gather(table.ravel(), pair) for table in tables)
    inside = _last(starts) >= _last(~continues)
    inside_before = tf.concat([[False], inside], axis=0)[:-1]
    begins = starts & ~(inside_before & continues)
    start = tf.concat([[-1], _last(begins)], axis=0)[:-1]
    ends = inside_before & ~continues & closes
    return tf.where(ends, tf.gather(rules.types, before), -1), start


def padded_spans(
    tags: tf.Tensor, lengths: tf.Tensor, rules: SpanRules
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the types, starts and ends (exclusive) of each sentence's spans, int32 `[B, S]`.

    `tags` is int32 `[B, T]`, and `lengths` is `[B]`. The types are indices in `rules.type_names`.
    After the last span of a sentence, the type is -1, and the start and end are 0.
    """
    rows = tf.shape(tags)[0]
    width = tf.shape(tags)[1] + 1
    inside = tf.sequence_mask(lengths, width)  # [B, T+1]
    padded = tf.where(inside, tf.pad(tags, [[0, 0], [0, 1]]), len(rules.types) - 1)
    types, starts = ended_spans(tf.reshape(padded, [-1]), rules)
    positions = tf.cast(tf.where(types >= 0)[:, 0], "int32")  # [spans]
    row = positions // width

    def of_rows(values: tf.Tensor, default: int) -> tf.Tensor:
        ragged = tf.RaggedTensor.from_value_rowids(values, row, nrows=rows)  # pyright: ignore[reportAttributeAccessIssue]
        return ragged.to_tensor(default)

    types = of_rows(tf.gather(types, positions), -1)
    return (
        types,
        of_rows(tf.gather(starts, positions) - row * width, 0),
        of_rows(positions % width, 0),  # pyright: ignore[reportOperatorIssue]
    )


def _last(flags: tf.Tensor) -> tf.Tensor:
    """Returns the last true position at or before each position, or -1 if there is none."""
    segment = tf.cumsum(tf.cast(flags, "int32"))  # [N], 0 before the first flag
    positions = tf.range(tf.size(flags))
    first = tf.math.unsorted_segment_min(positions, segment, tf.size(flags) + 1)
    return tf.where(segment == 0, -1, tf.gather(first, segment))
