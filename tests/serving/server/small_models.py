"""Writes small SavedModels for tests in milliseconds, and serves them."""

import contextlib
import threading

import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

from tfreps._src.files.atomic_files import replacing
from tfreps.serving import BatchOptions, ModelConfig, ModelServer, ServerOptions
from tfreps.serving.server.requests.call import Call
from tfreps.serving.server.requests.event_loop import on_loop


def save(folder, **functions):
    """Writes a SavedModel with signatures from `(function, {input: TensorSpec})` pairs."""
    module = tf.Module()
    signatures = {
        name: tf.function(lambda f=f, **inputs: f(**inputs)).get_concrete_function(**specs)
        for name, (f, specs) in functions.items()
    }
    with replacing(folder, parents=True) as temporary:  # a running server may watch the folder
        tf.saved_model.save(module, str(temporary), signatures)
    return folder


def spec(dtype, *shape):
    return tf.TensorSpec(shape, dtype)


def save_half(folder, plus=2.0):
    """Writes TensorFlow Serving's example model y = x / 2 + 2, with batches."""
    return save(
        folder, serving_default=(lambda x: {"y": x / 2 + plus}, {"x": spec("float32", None)})
    )


def save_zoo(folder):
    """Writes a SavedModel with signatures of many kinds."""
    text = spec("string", None)
    picky = spec("string", None)
    return save(
        folder,
        serving_default=(
            lambda text: {"length": tf.strings.length(text), "upper": tf.strings.upper(text)},
            {"text": text},
        ),
        picky=(refuses_bad, {"text": picky}),
        slow=(slow, {"text": text}),
        two=(
            lambda a, b: {"sum": tf.cast(a, tf.float32) + b, "product_bytes": tf.as_string(a)},
            {"a": spec("int32", None, None), "b": spec("float32", None, None)},
        ),
        scalar=(lambda x: {"y": x + 1}, {"x": spec("int64")}),
        kinds=(
            lambda flag, small, large, wide: {
                "flag": ~flag,
                "small": small,
                "large": large,
                "wide": wide,
            },
            {
                "flag": spec("bool", None),
                "small": spec("int8", None),
                "large": spec("uint64", None),
                "wide": spec("float64", None),
            },
        ),
        half=(lambda x: {"y": x}, {"x": spec("float16", None)}),
        echo=(lambda x: {"x_bytes": x, "x": x}, {"x": text}),
    )


def refuses_bad(text):
    with tf.control_dependencies([tf.debugging.assert_none_equal(text, "bad")]):
        return {"length": tf.strings.length(text)}


def slow(text):
    """Returns random numbers after about 1/3 ms per character of the longest text."""
    steps = tf.reduce_max(tf.strings.length(text)) * 4
    _, total = tf.while_loop(
        lambda n, _: n < steps,
        lambda n, t: (n + 1, t + tf.reduce_sum(tf.random.uniform([2**14]))),
        [0, 0.0],
    )
    return {"total": tf.fill(tf.shape(text), total)}


def write_warm_up(folder, *texts, signature=""):
    """Writes warm-up requests with one text each."""
    path = folder / "assets.extra" / "tf_serving_warmup_requests"
    path.parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for text in texts:
            log = prediction_log_pb2.PredictionLog()
            log.predict_log.request.CopyFrom(predict_request("", {"text": [text]}, signature))
            writer.write(log.SerializeToString())


def predict_request(name, inputs, signature="", outputs=(), **which):
    request = predict_pb2.PredictRequest(output_filter=outputs)
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    if "version" in which:
        request.model_spec.version.value = which["version"]
    if "label" in which:
        request.model_spec.version_label = which["label"]
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


def serving(*folders, labels=None, make_routes=None, **options):
    """Context manager that yields a running server of these base paths on free ports."""
    configs = [ModelConfig(folder.name, str(folder), labels=labels or {}) for folder in folders]
    chosen = {
        "rest_port": 0,
        "grpc_port": 0,
        "poll_seconds": 0,
        "batching": BatchOptions(),
        **options,
    }
    return ModelServer(configs, ServerOptions(**chosen), make_routes)


def ask(servable, name, inputs, outputs=()):
    """Sends a request to a `Servable` through its queues; returns the dict of outputs."""
    call = Call()
    servable.prepare(call, servable.signature(name), inputs, outputs)
    return on_loop(servable.run(call))


@contextlib.contextmanager
def at_the_same_time(work, count):
    """Runs `work(number)` in several threads, and waits for them after the block."""
    threads = [threading.Thread(target=work, args=[number]) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()
