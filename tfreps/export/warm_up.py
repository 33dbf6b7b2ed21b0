"""write_warm_up: writes requests that a server runs before it serves a version."""

import pathlib

import numpy as np
import tensorflow as tf

PLACE = "assets.extra/tf_serving_warmup_requests"
TEXTS = (
    ["The dog sat on the mat ."],
    [
        "Ada Lovelace lived in London .",
        "",
        "A longer sentence , with a few more words in it .",
        "你好",
    ],
)


def write_warm_up(folder, name, functions):
    """Writes `assets.extra/tf_serving_warmup_requests` into the folder of a version.

    Every signature is called, since TensorFlow prepares the graph of each one, also of an alias,
    when it is first called, which takes seconds.

    Args:
        folder: str or path-like. Folder of the version.
        name: str. Name of the model.
        functions: dict. Concrete function of each signature, by name.

    Returns:
        int or None. Number of requests. It is `None` if the package tensorflow-serving-api is not
        installed; in this case, no file is written.
    """
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
    except ImportError:
        return None
    path = pathlib.Path(folder) / PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    requests = [(key, inputs) for key in functions for inputs in _inputs(functions[key])]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in requests:
            request = predict_pb2.PredictRequest()
            request.model_spec.name = name
            request.model_spec.signature_name = signature
            for key, value in inputs.items():
                request.inputs[key].CopyFrom(value)
            log = prediction_log_pb2.PredictLog(request=request)
            writer.write(prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString())
    return len(requests)


def _inputs(function):
    """Returns a list of the inputs of requests: `TEXTS`, or arrays of one element if possible."""
    specs = function.structured_input_signature[1]
    if specs.keys() == {"text"}:
        return [{"text": tf.make_tensor_proto(texts, tf.string)} for texts in TEXTS]
    return [{key: _one(spec) for key, spec in specs.items()}]


def _one(spec):
    """Returns a `TensorProto` of ones, or of texts "1", in which unknown sizes are 1."""
    ones = np.ones([size or 1 for size in spec.shape], int)
    return tf.make_tensor_proto(ones.astype(str) if spec.dtype == tf.string else ones, spec.dtype)
