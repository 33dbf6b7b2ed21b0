"""Hard constraints of a CRF: which tag may follow which."""

import numpy as np
import tensorflow as tf


def checked_transitions(allowed, num_tags):
    """Checks a table of allowed transitions and returns it as plain lists.

    Args:
        allowed: bool, `[K + 2, K + 2]` [from, to]; row and column K are the start of a
            sentence, K + 1 its end.
        num_tags: int, K.

    Returns:
        List of `K + 2` lists of bool.

    Raises:
        ValueError: another shape or dtype, or no sentence of any length is legal.

    Example:
    >>> checked_transitions(np.ones([3, 3], bool), 1)[0]
    [True, True, True]
    """
    allowed, size = np.asarray(allowed), num_tags + 2
    if allowed.shape != (size, size) or allowed.dtype != bool:
        raise ValueError(
            f"`allowed_transitions` must be booleans of shape [K + 2, K + 2] = [{size}, {size}], "
            f"row and column {num_tags} for the start of a sentence and {num_tags + 1} for its "
            f"end; got {allowed.dtype} of shape {list(allowed.shape)}."
        )
    reached = allowed[num_tags, :num_tags]
    for _ in range(num_tags):
        reached = reached | (reached @ allowed[:num_tags, :num_tags])
    if not (reached & allowed[:num_tags, num_tags + 1]).any():
        raise ValueError(
            "`allowed_transitions` leaves no legal sequence: no way leads from the start (row "
            f"{num_tags}) over tags to the end (column {num_tags + 1}). Was it transposed?"
        )
    return allowed.tolist()


def constrained(scores, allowed, forbidden):
    """Scores with another value wherever a step is not allowed.

    Args:
        scores: (transitions `[K, K]`, start `[K]`, end `[K]`), float.
        allowed: as from `checked_transitions`; None for everything.
        forbidden: float, the score of what is not allowed.

    Returns:
        Transitions, start and end scores.

    Example:
    >>> scores = tf.zeros([1, 1]), tf.zeros([1]), tf.zeros([1])
    >>> allowed = [[False, True, True], [True, True, True], [True, True, True]]
    >>> [x.numpy().tolist() for x in constrained(scores, allowed, -5.0)]
    [[[-5.0]], [0.0], [0.0]]
    """
    if allowed is None:
        return scores
    allowed, n = np.array(allowed), len(allowed) - 2
    parts = allowed[:n, :n], allowed[n, :n], allowed[:n, n + 1]
    return tuple(tf.where(a, s, forbidden) for a, s in zip(parts, scores, strict=True))
