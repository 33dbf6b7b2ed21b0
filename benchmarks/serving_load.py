"""Runs concurrent clients that send the next request as soon as they have an answer."""

import http.client
import json
import multiprocessing
import statistics
import threading
import time
from typing import NamedTuple

from benchmarks import peer_loop

MOST_PROCESSES = 16


class Load(NamedTuple):
    """Latencies of the answers in seconds, errors of the failed requests, and total seconds."""

    latencies: list
    failures: list
    seconds: float

    @property
    def per_second(self):
        return len(self.latencies) / self.seconds

    def percentile(self, share):
        """Returns the latency, in milliseconds, that a share of the answers did not exceed."""
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
    count = min(clients, MOST_PROCESSES)
    context = multiprocessing.get_context("spawn")
    pipes, processes = [], []
    for number in range(count):
        own, other = context.Pipe()
        share = share_of(clients, number, count), seconds, share_of(requests, number, count)
        arguments = other, make_client, *share
        processes.append(context.Process(target=client_process, args=arguments, daemon=True))
        processes[-1].start()
        pipes.append(own)
    found = [pipe.recv() for pipe in pipes]  # `None` once connected
    errors = [error for error in found if error is not None]
    for pipe, error in zip(pipes, found, strict=True):
        if error is None:  # the process waits; others have ended
            pipe.send(not errors)
    if errors:
        raise OSError(errors[0])
    loads = [pipe.recv() for pipe in pipes]
    for process in processes:
        process.join()
    return Load(
        [latency for load in loads for latency in load.latencies],
        [failure for load in loads for failure in load.failures],
        max(load.seconds for load in loads),
    )


def share_of(total, number, count):
    """Returns the share of one of `count` processes, or `None` if `total` is `None`."""
    return None if total is None else total // count + (number < total % count)


def client_process(pipe, make_client, clients, seconds, requests):
    """Runs clients once all processes are connected, and sends their `Load` through a pipe."""

    def connected():
        pipe.send(None)
        if not pipe.recv():
            raise SystemExit

    try:
        load = run_clients(make_client, clients, seconds, requests, connected)
    except OSError as error:
        pipe.send(str(error))
    else:
        pipe.send(load)


def run_clients(make_client, clients, seconds=None, requests=None, connected=lambda: None):
    """Runs concurrent clients in threads; returns their `Load`.

    Args:
        make_client: function without arguments that returns `(ask, close)`.
        clients: int. Number of clients.
        seconds: float. Duration in seconds.
        requests: int. Number of requests of all clients together.
        connected: function that is called once the first request of each client, which is not
            measured, is answered.

    Raises:
        OSError: If the first request of a client fails. Later failures are counted.
    """
    left = iter(range(requests)) if requests else None
    lock, ready, start = threading.Lock(), threading.Barrier(clients + 1), threading.Event()
    latencies, failures, unconnected = [], [], []

    def client():
        try:
            ask, close = make_client()
            ask()  # connects
            ready.wait()
            start.wait()
        except Exception as error:
            unconnected.append(repr(error))
            ready.abort()
            return
        until = time.perf_counter() + (seconds or 1e9)
        while (started := time.perf_counter()) < until:
            if left is not None:
                with lock:
                    if next(left, None) is None:
                        break
            try:
                ask()
                latencies.append(time.perf_counter() - started)
            except Exception as error:
                failures.append(repr(error))
        close()

    threads = [threading.Thread(target=client, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        ready.wait()
        connected()
        start.set()
    except threading.BrokenBarrierError:
        raise OSError(f"The first request of a client failed: {unconnected[0]}.") from None
    started = time.perf_counter()
    for thread in threads:
        thread.join()
    return Load(latencies, failures, time.perf_counter() - started)


def median_ms(call, seconds):
    """Returns the median time of a call in this process, in milliseconds, after a warm-up."""
    return 1000 * statistics.median(times_of(call, seconds))


def times_of(call, seconds):
    """Returns the seconds of calls in this process after a warm-up."""
    for _ in range(20):
        call()
    until, found = time.perf_counter() + seconds, []
    while time.perf_counter() < until:
        found.append(peer_loop.seconds(call))
    return found
