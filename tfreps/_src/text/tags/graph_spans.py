"""Finds the spans of tag ids in a TensorFlow graph, without a loop."""

import tensorflow as tf

from tfreps._src.text.tags.tag_schemes import SpanRules


def ended_spans(tags: tf.Tensor, rules: SpanRules) -> tuple[tf.Tensor, tf.Tensor]:
    """Finds the same spans as `tfreps.tags.spans`, and where each of them ends.

    Args:
        tags: int32, shape `[N]`. The tag ids of consecutive sentences, each followed by K, the id
            of the sentence boundary.
        rules: `SpanRules` of the K tags.

    Returns:
        Tuple `(types, starts)` of two int32 tensors `[N]`. If a span ends just before a position,
        its type, an index in `rules.type_names`, and its start are at this position. Elsewhere, the
        type is -1, and the start has no meaning.
    """
    # A position is inside a span if the last start up to this position is at or after the last
    # position that does not continue a span.
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


def padded_spans(tags: tf.Tensor, mask: tf.Tensor, rules: SpanRules) -> tf.Tensor:
    """Returns the type, start and end (exclusive) of each sentence's spans, int32 `[B, S, 3]`.

    `tags` is int32 `[B, T]`, and `mask` bool `[B, T]`. Masked positions are removed, so that starts
    and ends count the real tokens. The types are indices in `rules.type_names`. After the last span
    of a sentence, the type is -1, and the start and end are 0.
    """
    rows, width = tf.unstack(tf.shape(tags) + [0, 1])
    types, starts = ended_spans(_consecutive(tags, mask, rules), rules)
    is_end = tf.reshape(tf.cast(types >= 0, "int32"), [rows, width])
    rank = tf.cumsum(is_end, 1, exclusive=True)  # [B, T + 1], rank of each span in its sentence
    positions = tf.cast(tf.where(types >= 0)[:, 0], "int32")  # [spans]
    row = positions // width
    parts = tf.gather(types, positions), tf.gather(starts, positions) - row * width
    found = tf.stack([*parts, positions % width], -1)  # [spans, 3]
    places = tf.stack([row, tf.gather(tf.reshape(rank, [-1]), positions)], -1)  # [spans, 2]
    # Largest number of spans in a row, 0 for a batch without rows.
    most = tf.maximum(tf.reduce_max(tf.reduce_sum(is_end, 1)), 0)
    nothing = tf.broadcast_to(tf.constant([-1, 0, 0]), [rows, most, 3])
    return tf.tensor_scatter_nd_update(nothing, places, found)


def spans_by_row(tags: tf.Tensor, mask: tf.Tensor, rules: SpanRules) -> tf.Tensor:
    """Returns the result of `padded_spans`, using only operations that ONNX and LiteRT support.

    The time is proportional to the square of `T`, and there is at least one column.
    """
    rows, width = tf.unstack(tf.shape(tags) + [0, 1])
    boundary = len(rules.types) - 1
    tags = tf.reshape(_consecutive(tags, mask, rules), [rows, width])
    before = _shifted(tags, boundary)
    tables = rules.starts, rules.continues, rules.closes
    pair = before * (boundary + 1) + tags  # [B, T + 1]
    starts, continues, closes = (tf.gather(table.ravel(), pair) for table in tables)
    index = tf.range(width)
    up_to = index <= tf.expand_dims(index, 1)  # [T + 1, T + 1]

    def last(flags: tf.Tensor) -> tf.Tensor:
        return tf.reduce_max(tf.where(up_to & tf.expand_dims(flags, 1), index, -1), axis=2)

    inside_before = _shifted(last(starts) >= last(~continues), False)
    start = _shifted(last(starts & ~(inside_before & continues)), -1)
    ends = inside_before & ~continues & closes
    most = tf.reduce_max(tf.reduce_sum(tf.cast(ends, "int32"), 1))
    order, at = tf.math.top_k(tf.where(ends, width - index, 0), tf.maximum(most, 1))  # [B, S]
    parts = tf.gather(rules.types, before), start
    found = [*(tf.gather(part, at, batch_dims=1) for part in parts), at]
    return tf.where(tf.expand_dims(order > 0, -1), tf.stack(found, -1), [-1, 0, 0])


def _consecutive(tags, mask, rules):
    """Returns the real tags of all sentences, padded with boundaries, int32 `[B * (T + 1)]`."""
    rows, num_tokens = tf.unstack(tf.shape(tags))
    boundary = len(rules.types) - 1
    place = tf.where(mask, tf.cumsum(tf.cast(mask, "int32"), 1) - 1, num_tokens)  # [B, T]
    rank = tf.expand_dims(tf.range(rows), 1) * (num_tokens + 1) + place
    flat = tf.fill([rows * (num_tokens + 1)], boundary)
    real = tf.where(mask, tags, boundary)
    return tf.tensor_scatter_nd_update(flat, tf.reshape(rank, [-1, 1]), tf.reshape(real, [-1]))


def _shifted(values, first):
    """Returns values `[B, W]` shifted right by one column; the new first column is `first`."""
    return tf.pad(values[:, :-1], [[0, 0], [1, 0]], constant_values=first)


def _last(flags: tf.Tensor) -> tf.Tensor:
    """Returns, for each position, the last position up to it with a True flag, or -1 if none."""
    # [N], number of the flag at or before each position.
    segment = tf.cumsum(tf.cast(flags, "int32"))
    positions = tf.range(tf.size(flags))
    first = tf.math.unsorted_segment_min(positions, segment, tf.size(flags) + 1)
    return tf.where(segment == 0, -1, tf.gather(first, segment))
