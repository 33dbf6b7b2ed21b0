"""Runs concurrent clients that send the next request when the previous response arrives."""

import http.client
import json
import multiprocessing
import statistics
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import NamedTuple

from benchmarks.peers import loop

MOST_PROCESSES = 16
START = None  # in a process of `run_processes`, the barrier at which all clients wait


class Load(NamedTuple):
    """Latencies of the responses in seconds, errors of the failed requests, and total seconds."""

    latencies: list
    failures: list
    seconds: float

    @property
    def per_second(self):
        return len(self.latencies) / self.seconds

    def percentile(self, share):
        """Returns the latency, in milliseconds, that a share of the responses did not exceed."""
        ordered = sorted(self.latencies)
        return 1000 * ordered[max(-(-int(share * 1000) * len(ordered) // 1000) - 1, 0)]


def grpc_method(port):
    """Opens a gRPC connection; returns the method Predict and a function that closes it.

    The method sends and receives bytes, so the time for encoding messages is not measured.
    """
    import grpc

    channel = grpc.insecure_channel(
        f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)]
    )
    return channel.unary_unary("/tensorflow.serving.PredictionService/Predict"), channel.close


def grpc_client(port, message):
    """Opens a gRPC connection; returns functions that send a request and close the connection."""
    predict, close = grpc_method(port)
    return lambda: predict(message, timeout=60), close


def grpc_message(model, text):
    """Returns the bytes of a `PredictRequest`, so that clients need not import TensorFlow."""
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2

    request = predict_pb2.PredictRequest()
    request.model_spec.name = model
    request.inputs["text"].CopyFrom(tf.make_tensor_proto([text]))
    return request.SerializeToString()


def rest_client(port, message):
    """Opens an HTTP connection; returns functions that send a request and close the connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    model, body = message

    def ask():
        connection.request("POST", f"/v1/models/{model}:predict", body)
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise OSError(f"HTTP status {answer.status}: {content[:200]}")

    return ask, connection.close


def rest_message(model, text):
    """Returns the name of a model and the JSON body of a request."""
    return model, json.dumps({"instances": [text]})


def run_processes(make_client, clients, seconds=None, requests=None):
    """Runs clients as `run_clients` does, in up to 16 processes; returns their `Load`."""
    count, context = min(clients, MOST_PROCESSES), multiprocessing.get_context("spawn")
    start = context.Barrier(clients)
    with ProcessPoolExecutor(count, context, share_start, (start,)) as pool:
        parts = zip(shares(clients, count), shares(requests, count), strict=True)
        return joined(
            [pool.submit(run_clients, make_client, own, seconds, asks) for own, asks in parts]
        )


def share_start(barrier):
    """Stores the barrier at which the clients of all processes wait."""
    global START
    START = barrier


def shares(total, count):
    """Divides a number into `count` numbers of about the same size; `None` stays `None`."""
    if total is None:
        return [None] * count
    return [total // count + (number < total % count) for number in range(count)]


def run_clients(make_client, clients, seconds=None, requests=None):
    """Runs concurrent clients in threads; returns their `Load`.

    Args:
        make_client: function without arguments that returns `(ask, close)`.
        clients: int. Number of clients.
        seconds: float. Duration in seconds, once the first request of each client, which is not
            measured, is answered.
        requests: int. Number of requests of all clients together.

    Raises:
        OSError: If the first request of a client fails. Later failures are counted.
    """
    start = START or threading.Barrier(clients)

    def client(most):
        try:
            ask, close = make_client()
            ask()  # the first request opens the connection
        except Exception as error:
            start.abort()
            raise OSError(f"The first request of a client failed: {error!r}.") from None
        start.wait()
        begin = time.perf_counter()
        latencies, failures = [], []
        while (started := time.perf_counter()) < begin + (seconds or 1e9):
            if len(latencies) + len(failures) == most:
                break
            try:
                ask()
                latencies.append(time.perf_counter() - started)
            except Exception as error:
                failures.append(repr(error))
        close()
        return Load(latencies, failures, time.perf_counter() - begin)

    with ThreadPoolExecutor(clients) as pool:
        return joined([pool.submit(client, most) for most in shares(requests, clients)])


def joined(futures):
    """Returns one `Load` of several, or raises the error of the client that stopped the others."""
    errors = [future.exception() for future in futures]
    for error in errors:
        if error is not None and not isinstance(error, threading.BrokenBarrierError):
            raise error
    loads = [future.result() for future in futures]
    return Load(
        [latency for load in loads for latency in load.latencies],
        [failure for load in loads for failure in load.failures],
        max(load.seconds for load in loads),
    )


def median_ms(call, seconds):
    """Returns the median time of a call in this process, in milliseconds, after a warm-up."""
    return 1000 * statistics.median(times_of(call, seconds))


def times_of(call, seconds):
    """Returns the seconds of calls in this process after a warm-up."""
    for _ in range(20):
        call()
    until, found = time.perf_counter() + seconds, []
    while time.perf_counter() < until:
        found.append(loop.seconds(call))
    return found
