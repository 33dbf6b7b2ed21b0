"""Measures the speed of a large float32 matrix multiplication, by which other speeds are divided.

python -m benchmarks.gemm
"""

import time

import numpy as np
import tensorflow as tf

from benchmarks.peers.loop import seconds
from benchmarks.runner import spread
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
    times = [seconds(lambda: multiply(a, b).numpy()) for _ in range(TIMES)]
    return 2 * SIZE**3 / np.median(times) / 1e9


def normalized(call, repeats, tokens):
    """Measures the tokens per second of a call, and GEMM before, between and after the calls.

    "normalized" is the median speed divided by the median GFLOP/s of GEMM. The first three calls,
    which trace the function and fill the caches, are not timed.
    """
    for _ in range(3):
        call()
    rates, times = [gemm()], []
    for part in np.array_split(np.arange(repeats), 4):
        times += [seconds(call) for _ in part]
        rates.append(gemm(warm_up=0.5))
    speed, rate = tokens / np.median(times), np.median(rates)
    return {
        "tokens/s": round(speed, 1),
        "spread": spread(times),
        "GEMM": round(float(rate)),
        "GEMM range": f"{min(rates):.0f}-{max(rates):.0f}",
        "normalized": round(speed / rate, 3),
        "peak GiB": round(peak_megabytes() / 1024, 2),
    }


if __name__ == "__main__":
    print(f"{gemm():.0f} GFLOP/s")
