"""Measures the speed of a large float32 matrix multiplication, by which other speeds are divided.

python -m benchmarks.gemm
"""

import time

import numpy as np
import tensorflow as tf

from benchmarks.peer_loop import seconds
from benchmarks.topics_text import peak_megabytes

SIZE = 2048
WARM_UP_SECONDS = 3.0
TIMES = 20


def gemm(warm_up=WARM_UP_SECONDS, dtype="float32"):
    """Returns the GFLOP/s of a 2048 x 2048 x 2048 matrix multiplication, the median of 20 calls."""
    a = tf.cast(tf.random.stateless_normal([SIZE, SIZE], [1, 2]), dtype)
    b = tf.cast(tf.random.stateless_normal([SIZE, SIZE], [3, 4]), dtype)
    multiply = tf.function(tf.matmul)
    begin = time.perf_counter()
    while time.perf_counter() - begin < warm_up:
        multiply(a, b).numpy()
    return 2 * SIZE**3 / np.median(timed(lambda: multiply(a, b).numpy(), TIMES)) / 1e9


def timed(function, times):
    """Calls a function a number of times and returns the seconds of each call."""
    return [seconds(function) for _ in range(times)]


def normalized(calls, tokens):
    """Measures the tokens per second of calls, and GEMM before, between and after the calls.

    "normalized" is the median speed divided by the median GFLOP/s of GEMM.
    """
    rates, times = [gemm()], []
    for part in np.array_split(np.arange(len(calls)), 4):
        times += [seconds(calls[i]) for i in part]
        rates.append(gemm(warm_up=0.5))
    speed, rate = tokens / np.median(times), np.median(rates)
    return {
        "tokens_per_second": round(speed, 1),
        "gemm_gflops": round(float(rate)),
        "gemm_range": [round(min(rates)), round(max(rates))],
        "normalized": round(speed / rate, 3),
        "peak_memory_GiB": round(peak_megabytes() / 1024, 2),
    }


if __name__ == "__main__":
    print(f"{gemm():.0f} GFLOP/s")
