"""write_warm_up: writes requests that a server runs before it serves a version."""

import pathlib

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


def write_warm_up(folder, name, signatures):
    """Writes `assets.extra/tf_serving_warmup_requests` into the folder of a version.

    Args:
        folder: str or path-like. Folder of the version.
        name: str. Name of the model.
        signatures: list of str. Names of the signatures to call, which must take `text`.

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
    requests = [(signature, texts) for signature in signatures for texts in TEXTS]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, texts in requests:
            request = predict_pb2.PredictRequest()
            request.model_spec.name = name
            request.model_spec.signature_name = signature
            request.inputs["text"].CopyFrom(tf.make_tensor_proto(texts, tf.string))
            log = prediction_log_pb2.PredictLog(request=request)
            writer.write(prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString())
    return len(requests)
