"""BatchOptions, and functions that join the inputs of requests and split their outputs."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class BatchOptions:
    """Options for merging requests into batches.

    Args:
        max_rows: int. Maximum number of rows in a batch, where each text is a row. If 0 or 1,
            requests are not merged. Defaults to 64.
        timeout_ms: float. Milliseconds that a batch waits for more requests when a thread is free
            to run it. If 0, only requests that wait for a thread are merged, so that a single
            request is not delayed. Defaults to 0.0.
        threads: int. Maximum number of batches that run concurrently. Defaults to 1.
        max_queued: int. Maximum number of requests that wait to be merged. Further requests are
            rejected with UNAVAILABLE. Defaults to 1,000.

    Example:
    >>> BatchOptions(max_rows=16).timeout_ms
    0.0
    """

    max_rows: int = 64
    timeout_ms: float = 0.0
    threads: int = 1
    max_queued: int = 1_000


def joined(inputs: list[dict]) -> dict:
    """Joins the inputs of several calls along their first axis.

    Args:
        inputs: List of dicts from input names to NumPy arrays `[N, ...]`, with the same names.

    Returns:
        A dict from input names to arrays.

    Example:
    >>> joined([{"x": np.array([1, 2])}, {"x": np.array([3])}])
    {'x': array([1, 2, 3])}
    """
    return {name: np.concatenate([each[name] for each in inputs]) for name in inputs[0]}


def split(outputs: dict, rows: list[int]) -> list[dict]:
    """Splits the outputs of a batch into those of its calls.

    Args:
        outputs: dict from output names to NumPy arrays `[N, ...]`.
        rows: List of int. Number of rows of each call.

    Returns:
        A list with a dict from output names to arrays for each call.

    Raises:
        ValueError: If an output does not have one row per row of the batch.

    Example:
    >>> split({"y": np.array([1, 2, 3])}, [2, 1])
    [{'y': array([1, 2])}, {'y': array([3])}]
    """
    total = sum(rows)
    for name, value in outputs.items():
        if value.shape[:1] != (total,):
            raise ValueError(f"{name} must have {total} rows; got the shape {value.shape}.")
    ends = np.cumsum(rows)
    return [
        {name: value[end - count : end] for name, value in outputs.items()}
        for end, count in zip(ends, rows, strict=True)
    ]
