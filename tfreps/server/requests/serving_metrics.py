"""ServingMetrics: counts and times requests, under TensorFlow Serving's names for Prometheus."""

import prometheus_client

COUNT = ":tensorflow:serving:request_count"
LATENCY = ":tensorflow:serving:request_latency"
RUNTIME = ":tensorflow:serving:runtime_latency"
# In microseconds: from 10 by factors of 1.8 to some 20 minutes.
BUCKETS = [10 * 1.8**power for power in range(32)]


class ServingMetrics:
    """The counters of a server.

    Example:
    >>> metrics = ServingMetrics()
    >>> metrics.record("half", "Predict", "GRPC", "OK", 0.002)
    >>> print(*[line for line in metrics.page().decode().splitlines() if "count{" in line])
    :tensorflow:serving:request_count{model_name="half",status="OK"} 1.0 ...
    """

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
        """Counts a request.

        Args:
            model: name of a model that exists; others would fill the memory with their names.
            api: `"Predict"`, `"GetModelMetadata"` or `"GetModelStatus"`.
            entrypoint: `"GRPC"` or `"REST"`.
            status: name of a status code of gRPC, `"OK"`.
            seconds: from the request to its answer.
        """
        self._count.labels(model, status).inc()
        self._latency.labels(model, api, entrypoint).observe(seconds * 1e6)

    def record_run(self, model, seconds):
        """Counts the time that a model itself took."""
        self._runtime.labels(model, "Predict", "TF2").observe(seconds * 1e6)

    def page(self):
        """Returns all counters in Prometheus' text format, as bytes.

        The library ends names of counters with `_total` and adds the times when they were begun;
        TensorFlow Serving does neither.
        """
        text = prometheus_client.generate_latest(self._registry)
        lines = text.replace(f"{COUNT}_total".encode(), COUNT.encode()).splitlines(keepends=True)
        return b"".join(line for line in lines if b"_created" not in line.partition(b"{")[0])
