"""Finds the spans of tag ids in a TensorFlow graph, without a loop."""

import tensorflow as tf


def ended_spans(tags, rules):
    """Returns, for every position, the type and the start of the span that ends just before it.

    The spans are those of `tfreps.text.tags.spans`. A position is inside a span if the last start
    up to this position is at or after the last position that does not continue a span.

    Args:
        tags: int32 tensor, shape `[N]`. Tag ids of consecutive sentences. Each sentence is
            followed by the boundary, whose id is K, the number of tags.
        rules: `tfreps.text.tags.tag_schemes.SpanRules` of the K tags.

    Returns:
        Tuple `(types, starts)` of int32 tensors, shape `[N]`. `types` contains the index of the
        span's type in `rules.type_names`, or -1 where no span ends. `starts` contains the position
        where the span starts, and is meaningful only where a span ends.

    Example:
        >>> from tfreps.text.tags.graph_spans import ended_spans
        >>> from tfreps.text.tags.tag_schemes import span_rules
        >>> rules = span_rules(["O", "B-PER", "I-PER"], "bio")
        >>> types, starts = ended_spans(tf.constant([1, 2, 0, 3]), rules)
        >>> types.numpy().tolist(), int(starts[2])
        ([-1, -1, 0, -1], 0)
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


def padded_spans(tags, lengths, rules):
    """Returns the spans of each sentence in a batch, from left to right.

    Args:
        tags: int32 tensor, shape `[B, T]`. Tag ids.
        lengths: int32 tensor, shape `[B]`. Number of tokens of each sentence; tags after them
            are ignored.
        rules: `tfreps.text.tags.tag_schemes.SpanRules` of the K tags.

    Returns:
        Tuple `(types, starts, ends)` of int32 tensors, shape `[B, S]`, where S is the largest
        number of spans in a sentence. `types` contains the indices of the types in
        `rules.type_names`, and -1 after the last span of a sentence. `starts` and `ends`
        (exclusive) contain token positions, and 0 after the last span.

    Example:
        >>> from tfreps.text.tags.graph_spans import padded_spans
        >>> from tfreps.text.tags.tag_schemes import span_rules
        >>> rules = span_rules(["O", "B-PER", "I-PER"], "bio")
        >>> spans = padded_spans(tf.constant([[0, 1, 2], [0, 0, 0]]), tf.constant([3, 1]), rules)
        >>> [part.numpy().tolist() for part in spans]
        [[[0], [-1]], [[1], [0]], [[3], [0]]]
    """
    rows = tf.shape(tags)[0]
    width = tf.shape(tags)[1] + 1
    inside = tf.sequence_mask(lengths, width)  # [B, T+1]
    padded = tf.where(inside, tf.pad(tags, [[0, 0], [0, 1]]), len(rules.types) - 1)
    types, starts = ended_spans(tf.reshape(padded, [-1]), rules)
    places = tf.cast(tf.where(types >= 0)[:, 0], "int32")  # [spans]
    row = places // width

    def of_rows(values, default):
        ragged = tf.RaggedTensor.from_value_rowids(values, row, nrows=rows)
        return ragged.to_tensor(default)

    types = of_rows(tf.gather(types, places), -1)
    return types, of_rows(tf.gather(starts, places) - row * width, 0), of_rows(places % width, 0)


def _last(flags):
    """Returns the last true position at or before each position, or -1 if there is none."""
    segment = tf.cumsum(tf.cast(flags, "int32"))  # [N], 0 before the first flag
    places = tf.range(tf.size(flags))
    first = tf.math.unsorted_segment_min(places, segment, tf.size(flags) + 1)
    return tf.where(segment == 0, -1, tf.gather(first, segment))
