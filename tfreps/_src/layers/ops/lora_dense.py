"""LoraDense: a Keras `Dense` layer whose low-rank adapters have the options of PEFT."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.layers.ops.matmul import matmul


class LoraDense(keras.layers.Dense):
    """Keras's `Dense`, with dropout in the adapters, and adapters of parts of the output.

        y = x @ kernel + bias + lora_alpha / rank * dropout(x) @ lora_kernel_a @ lora_kernel_b

    A fused kernel consists of parts of equal width, such as query, key and value. If `parts` are
    given, each of them has an adapter of its own. `lora_kernel_a` then contains the columns of the
    first adapter, followed by those of the next, and `lora_kernel_b` is zero except in the block of
    each adapter, so that Keras merges and stores the kernel as usual. These zeros are not trained.
    """

    lora_parts: tuple[int, ...] = ()
    lora_drop: keras.layers.Dropout | None = None
    _lora_blocks: np.ndarray | None = None

    def enable_lora(
        self,
        rank: int,
        lora_alpha: float | None = None,
        *args: Any,
        lora_dropout: float = 0.0,
        parts: Sequence[int] = (),
        num_parts: int = 1,
        **kwargs: Any,
    ) -> None:
        """Adds adapters; `parts` are the numbers of the parts of the output that have one each.

        Without `parts`, there is one adapter for the whole output.
        """
        alpha, count = rank if lora_alpha is None else lora_alpha, max(len(parts), 1)
        super().enable_lora(rank * count, alpha * count, *args, **kwargs)
        self.lora_parts = tuple(parts)
        if parts:
            width = self.units // num_parts
            blocks = np.zeros([rank * count, self.units], "float32")
            for number, part in enumerate(parts):
                rows = slice(number * rank, (number + 1) * rank)
                blocks[rows, part * width : (part + 1) * width] = 1.0
            self._lora_blocks = blocks
        if lora_dropout:
            self._tracker.unlock()  # as Keras does in `enable_lora`
            self.lora_drop = keras.layers.Dropout(lora_dropout, dtype="float32", name="lora_drop")
            self._tracker.lock()

    def call(self, inputs: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        if self._lora_blocks is None and self.lora_drop is None:
            return super().call(inputs, training=training)
        dtype = self.compute_dtype
        x, b = inputs, self.lora_kernel_b
        if self.lora_drop is not None:
            x = self.lora_drop(x, training=training)
        if self._lora_blocks is not None:  # gives the zeros no gradient
            b = tf.cast(b, "float32") * self._lora_blocks
        low = matmul(matmul(x, self.lora_kernel_a, dtype), b, dtype)
        y = matmul(inputs, self._kernel, dtype) + self.lora_alpha / self.lora_rank * low
        if self.bias is not None:
            y += tf.cast(self.bias, "float32")
        return tf.cast(y, dtype)

    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        super().quantize(mode, type_check=False, config=config)

    def adapter(self, part: int, num_parts: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Returns the kernels of the adapter of a part, `[D, r]` and `[r, E]`, or `None`."""
        if not self.lora_enabled or self.lora_parts and part not in self.lora_parts:
            return None
        a, b = np.asarray(self.lora_kernel_a), np.asarray(self.lora_kernel_b)
        rows = self._rows(part)
        return a[:, rows], np.split(b, num_parts, axis=1)[part][rows]

    def set_adapter(self, part: int, num_parts: int, a: np.ndarray, b: np.ndarray) -> None:
        """Assigns the kernels of the adapter of a part, `[D, r]` and `[r, E]`."""
        rows, width = self._rows(part), self.units // num_parts
        whole_a, whole_b = np.array(self.lora_kernel_a), np.array(self.lora_kernel_b)
        whole_a[:, rows] = a
        whole_b[rows, part * width : (part + 1) * width] = b
        self.lora_kernel_a.assign(whole_a)
        self.lora_kernel_b.assign(whole_b)

    def _rows(self, part: int) -> slice:
        """Returns the rows of `lora_kernel_b` that belong to the adapter of a part."""
        if not self.lora_parts:
            return slice(None)
        rank = self.lora_rank // len(self.lora_parts)
        first = self.lora_parts.index(part) * rank
        return slice(first, first + rank)
