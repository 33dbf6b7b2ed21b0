"""Measures the rate of a large float32 matrix product: the unit in which speeds are compared.

python -m benchmarks.gemm
"""

import time

import numpy as np
import tensorflow as tf

SIZE = 2048
WARM_UP_SECONDS = 3.0
TIMES = 20


def gemm(warm_up=WARM_UP_SECONDS):
    """GFLOP/s of a 2048 x 2048 x 2048 float32 product: median of 20, after a warm-up."""
    a = tf.random.stateless_normal([SIZE, SIZE], [1, 2])
    b = tf.random.stateless_normal([SIZE, SIZE], [3, 4])
    multiply = tf.function(tf.matmul)
    begin = time.perf_counter()
    while time.perf_counter() - begin < warm_up:
        multiply(a, b).numpy()
    return 2 * SIZE**3 / np.median(timed(lambda: multiply(a, b).numpy(), TIMES)) / 1e9


def timed(function, times):
    """Seconds of each of some calls."""
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - begin)
    return seconds
