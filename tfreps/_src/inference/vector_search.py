"""Similarities of vectors, and the vectors that are most similar to others, in bounded memory."""

from collections.abc import Iterable

import numpy as np

from tfreps._src.convert.similarity_names import Similarity

QUERIES = 256  # number of vectors that are compared with a block of others together


def similarities(first: np.ndarray, second: np.ndarray, kind: Similarity) -> np.ndarray:
    """Returns the similarities of vectors `[N, D]` and `[M, D]`, float32 `[N, M]`.

    `kind` is `"cosine"`, which is 0 if one of the vectors is zero, `"dot"` for the dot product, or
    `"euclidean"` or `"manhattan"` for the distance with the opposite sign. The result is computed
    in float64 and rounded, so that equal vectors have equal similarities wherever they are. Raises
    a ValueError if the vectors do not have the same width.
    """
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            "Vectors must have the same width to be compared; got the widths "
            f"{first.shape[1]} and {second.shape[1]}. Compute both with the same model."
        )
    first, second = np.asarray(first, "float64"), np.asarray(second, "float64")
    if kind == "cosine":
        first, second = of_length_one(first), of_length_one(second)
    if kind in ("cosine", "dot"):
        return (first @ second.T).astype("float32")
    order = 2 if kind == "euclidean" else 1
    rows = [-np.linalg.norm(second - row, order, axis=1) for row in first]
    return np.array(rows, "float32").reshape(len(first), len(second))


def of_length_one(vectors: np.ndarray) -> np.ndarray:
    """Returns vectors `[N, D]`, divided by their lengths; zero vectors stay zero."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def most_similar(
    queries: np.ndarray, blocks: Iterable[np.ndarray], top_k: int, kind: Similarity
) -> list[list[tuple[int, float]]]:
    """Finds the vectors that are most similar to each of N vectors.

    Only one of the `blocks`, arrays `[M, D]`, is in memory at a time. The result contains, for each
    row of `queries`, `[N, D]`, at most `top_k` tuples `(number, similarity)`, the most similar
    first. The number counts the rows of all blocks from 0. Among equal similarities, the row with
    the lowest number comes first.
    """
    parts = [queries[start : start + QUERIES] for start in range(0, len(queries), QUERIES)]
    found = [(np.zeros([len(q), 0], "float32"), np.zeros([len(q), 0], "int64")) for q in parts]
    first = 0
    for block in blocks:
        for number, part in enumerate(parts):
            new = similarities(part, block, kind)  # [Q, M]
            found[number] = _merged(*found[number], new, first, top_k)
        first += len(block)
    return [
        list(zip(row.tolist(), scores_of_row.tolist(), strict=True))
        for scores, numbers in found
        for row, scores_of_row in zip(numbers, scores, strict=True)
    ]


def _merged(scores, numbers, new, first, top_k):
    """Adds the scores `[Q, M]` of a block to the best scores and their numbers, each `[Q, K]`."""
    columns = np.arange(new.shape[1])
    if scores.shape[1] == top_k:  # leaves out the columns in which no score is among the best
        columns = np.flatnonzero((new > scores[:, -1:]).any(axis=0))
    both = np.concatenate([scores, new[:, columns]], axis=1)
    own = np.broadcast_to(first + columns, [len(new), len(columns)])
    order = np.argsort(-both, axis=1, kind="stable")[:, :top_k]
    numbers = np.concatenate([numbers, own], axis=1)
    return np.take_along_axis(both, order, 1), np.take_along_axis(numbers, order, 1)
