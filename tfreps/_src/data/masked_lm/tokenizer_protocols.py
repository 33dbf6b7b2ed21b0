"""Protocols of the tokenizers that data of masked language models need."""

from collections.abc import Sequence
from typing import Any, Protocol

import tensorflow as tf


class DocumentTokenizer(Protocol):
    """Tokenizer that maps a str tensor `[B]` to ragged token ids `[B, None]`."""

    unknown_id: int

    @property
    def vocabulary(self) -> Sequence[Any]: ...

    def __call__(self, texts: tf.Tensor, /) -> tf.RaggedTensor: ...


class SpecialIds(Protocol):
    """Vocabulary of a tokenizer and the ids of its special tokens."""

    padding_id: int
    start_id: int
    separator_id: int
    mask_id: int

    @property
    def vocabulary(self) -> Sequence[Any]: ...

    @property
    def special_ids(self) -> Sequence[int]: ...
