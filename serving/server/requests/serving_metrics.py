"""ServingMetrics: Prometheus metrics of requests, with TensorFlow Serving's names."""

import prometheus_client

COUNT = ":tensorflow:serving:request_count"
LATENCY = ":tensorflow:serving:request_latency"
RUNTIME = ":tensorflow:serving:runtime_latency"
# Bounds of the buckets in microseconds: from 10 microseconds to about 14 minutes, each 1.8 times
# the previous one.
BUCKETS = [10 * 1.8**power for power in range(32)]


class ServingMetrics:
    """Metrics of a server: the numbers and durations of requests."""

    def __init__(self):
        self._registry = prometheus_client.CollectorRegistry()
        self._count = prometheus_client.Counter(
            COUNT,
            "The total number of requests.",
            ["model_name", "status"],
            registry=self._registry,
        )
        self._latency = self._histogram(
            LATENCY,
            "Distribution of wall time (in microseconds) for Tensorflow Serving request.",
            ["model_name", "API", "entrypoint"],
        )
        self._runtime = self._histogram(
            RUNTIME,
            "Distribution of wall time (in microseconds) for Tensorflow runtime.",
            ["model_name", "API", "runtime"],
        )

    def _histogram(self, name, about, labels):
        return prometheus_client.Histogram(
            name, about, labels, buckets=BUCKETS, registry=self._registry
        )

    def record(self, model, api, entrypoint, status, seconds):
        """Records the status and the duration in seconds of a request.

        `api` is the name of the method, such as `"Predict"`. `entrypoint` is `"GRPC"` or `"REST"`.
        `status` is the name of a gRPC status code, such as `"OK"`. `model` must be a model of the
        server, since every distinct name takes memory.
        """
        self._count.labels(model, status).inc()
        self._latency.labels(model, api, entrypoint).observe(seconds * 1e6)

    def record_run(self, model, seconds):
        """Records the duration of a model call in seconds, including its time in the queue."""
        self._runtime.labels(model, "Predict", "TF2").observe(seconds * 1e6)

    def page(self):
        """Returns all metrics in the text format of Prometheus, as bytes.

        The suffix `_total` and the creation times that `prometheus_client` adds are removed, since
        TensorFlow Serving has neither.
        """
        text = prometheus_client.generate_latest(self._registry)
        lines = text.replace(f"{COUNT}_total".encode(), COUNT.encode()).splitlines(keepends=True)
        return b"".join(line for line in lines if b"_created" not in line.partition(b"{")[0])
