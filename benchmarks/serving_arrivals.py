"""Sends requests at random times, without waiting for the previous responses."""

import functools
import random
import threading
import time

from benchmarks.serving_load import Load, grpc_method

SEED = 1


def run_arrivals(port, message, per_second, seconds, connections=16):
    """Sends requests over gRPC that arrive as a Poisson process; returns their `Load`.

    The latency of a request counts from the time at which it was due, so that a delay of the
    client itself does not hide that the server is slow.
    """
    generator = random.Random(SEED)
    methods = [grpc_method(port) for _ in range(connections)]
    for predict, _ in methods:
        predict(message, timeout=60)  # the first request opens the connection
    latencies, failures, ended = [], [], threading.Semaphore(0)

    def receive(call, due):
        error = call.exception()
        if error is None:
            latencies.append(time.perf_counter() - due)
        else:
            failures.append(repr(error))
        ended.release()

    begin = due = time.perf_counter()
    sent = 0
    while (due := due + generator.expovariate(per_second)) < begin + seconds:
        time.sleep(max(due - time.perf_counter(), 0))
        call = generator.choice(methods)[0].future(message, timeout=60)
        call.add_done_callback(functools.partial(receive, due=due))
        sent += 1
    for _ in range(sent):
        ended.acquire()
    load = Load(latencies, failures, time.perf_counter() - begin)
    for _, close in methods:
        close()
    return load
