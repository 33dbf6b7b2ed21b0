"""Finds the spans of tag ids inside a TensorFlow graph, without a loop."""

import tensorflow as tf


def ended_spans(tags, rules):
    """Returns, for every place, the type and the start of the span that ends before it.

    The same as `tfreps.text.tags.spans`: a place is inside a span if the last start is not
    before the last place that continues nothing.

    Args:
        tags: int32, shape `[N]`. Tag ids of sentences one after the other, each followed by the
            boundary, whose id is K, the number of tags.
        rules: `tfreps.text.tags.tag_schemes.SpanRules` of the K tags.

    Returns:
        int32 `[N]` the place of the type in `rules.type_names`, -1 where no span ends; and int32
        `[N]` where it starts.

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
    """Returns the spans of each sentence of a batch, in their order.

    Args:
        tags: int32, shape `[B, T]`.
        lengths: int32, shape `[B]`. Tokens of each sentence; what is beyond is ignored.
        rules: as in `ended_spans`.

    Returns:
        types int32 `[B, S]`, places in `rules.type_names`, -1 beyond a sentence's last span;
        starts int32 `[B, S]`; ends int32 `[B, S]`, one after the last token.

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
    """For every place the nearest place at or before it where the flag is set, -1 for none."""
    segment = tf.cumsum(tf.cast(flags, "int32"))  # [N], 0 before the first flag
    places = tf.range(tf.size(flags))
    first = tf.math.unsorted_segment_min(places, segment, tf.size(flags) + 1)
    return tf.where(segment == 0, -1, tf.gather(first, segment))
