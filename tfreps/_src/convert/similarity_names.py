"""Names of the similarities of two vectors, as in sentence-transformers."""

from typing import Literal, get_args

Similarity = Literal["cosine", "dot", "euclidean", "manhattan"]
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
