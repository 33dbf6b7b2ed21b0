"""warm_up_requests: reads the warm-up requests of an export."""

import os

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import predict_pb2, prediction_log_pb2

FILE = os.path.join("assets.extra", "tf_serving_warmup_requests")
MOST = 1_000  # maximum number of records that TensorFlow Serving accepts


def warm_up_requests(folder: str | os.PathLike[str]) -> list[predict_pb2.PredictRequest]:
    """Returns the Predict requests in the file `assets.extra/tf_serving_warmup_requests`.

    The list is empty if `folder`, the folder of an export, does not contain this file. Raises a
    ValueError if the file is corrupt or has more than 1,000 records.
    """
    path = os.path.join(os.fspath(folder), FILE)
    if not os.path.isfile(path):
        return []
    requests = []
    try:
        for number, record in enumerate(tf.data.TFRecordDataset(path).as_numpy_iterator()):
            if number == MOST:
                raise ValueError(
                    f"{path} must have at most {MOST} records, the maximum in TensorFlow "
                    "Serving; the file has more. Remove the surplus records."
                )
            log = prediction_log_pb2.PredictionLog.FromString(record)
            if log.WhichOneof("log_type") == "predict_log":
                requests.append(log.predict_log.request)
    except (tf.errors.OpError, UnicodeError) as error:
        raise ValueError(
            f"{path} must be a TFRecord file, but cannot be read ({error}). Write the file "
            "again, or remove it."
        ) from error
    except DecodeError as error:
        raise ValueError(
            f"{path} must contain only PredictionLog messages, but record {number + 1} is not "
            f"one: {error}. Write the file again, or remove it."
        ) from error
    return requests
