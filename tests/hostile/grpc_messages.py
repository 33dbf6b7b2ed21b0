"""Hostile messages to the gRPC services, and bytes that are not messages."""

import grpc
import numpy as np
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
    prediction_log_pb2,
)

from tests.hostile.format import Format
from tests.hostile.mutations import EDGES, mutated
from tests.hostile.served import REFUSALS, Served
from tests.serving.server.small_models import predict_request, write_warm_up
from tfreps.serving.server.models.warm_up import warm_up_requests
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.requests.tensor_protos import fill_proto, to_array

MESSAGES = {
    "Predict": predict_pb2.PredictRequest,
    "GetModelMetadata": get_model_metadata_pb2.GetModelMetadataRequest,
    "GetModelStatus": get_model_status_pb2.GetModelStatusRequest,
}
SERVICE = {method: "PredictionService" for method in MESSAGES} | {"GetModelStatus": "ModelService"}


def requests():
    """Returns `(method, message)` pairs that are answered."""
    floats = np.array([1.0, 2.0], "float32")
    texts = [b"abc", "é".encode(), b"\xff"]
    kinds = {"flag": [True, False], "small": np.int8([1, 2]), "large": np.uint64([1, 2**63])}
    kinds["wide"] = np.float64([0.5, 1])
    metadata = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    metadata.model_spec.name = "zoo"
    status = get_model_status_pb2.GetModelStatusRequest()
    status.model_spec.name = "half_plus_two"
    status.model_spec.version.value = 123
    filled = predict_request("zoo", {}, "two")
    fill_proto(filled.inputs["a"], np.array([[1, 2]], "int32"))
    fill_proto(filled.inputs["b"], np.array([[0.5, 1]], "float32"))
    return [
        ("Predict", predict_request("half_plus_two", {"x": floats}, version=123)),
        ("Predict", predict_request("half_plus_two", {"x": floats}, label="stable")),
        ("Predict", predict_request("zoo", {"text": texts}, "echo", outputs=["x_bytes"])),
        ("Predict", predict_request("zoo", {"text": texts[:1]}, outputs=["upper", "length"])),
        ("Predict", predict_request("zoo", kinds, "kinds")),
        ("Predict", predict_request("zoo", {"x": np.int64(7)}, "scalar")),
        ("Predict", predict_request("zoo", {"x": np.float16([1, 2])}, "half")),
        ("Predict", filled),
        ("GetModelMetadata", metadata),
        ("GetModelStatus", status),
    ]


def changed_tensor(proto, random):
    """Changes sizes, dtype or values so that they do not match."""
    what = random.randrange(5)
    if what == 0 and proto.tensor_shape.dim:
        random.choice(proto.tensor_shape.dim).size = random.choice([*EDGES[:15], -1, -(2**63)])
    elif what == 1:
        for _ in range(random.choice([1, 2, 8, 255, 3_000])):
            proto.tensor_shape.dim.add(size=random.choice([0, 1, 2, 2**31, 2**62]))
    elif what == 2:
        proto.dtype = random.choice([*range(24), 99, 101, 120, -1, 2**31 - 1])
    elif what == 3:
        proto.tensor_content = random.randbytes(random.choice([1, 4, 8, 12, 1_000]))
    else:
        proto.string_val.extend([random.randbytes(3)] * random.choice([1, 2, 500]))
        proto.int_val.extend([2**31 - 1] * random.choice([0, 1, 3]))
        proto.float_val.extend([float("nan")] * random.choice([0, 1, 3]))
        proto.tensor_shape.unknown_rank = random.random() < 0.2


def hostile_request(random):
    method, request = random.choice(requests())
    if method == "Predict" and request.inputs and random.random() < 0.5:
        for _ in range(random.choice([1, 1, 2])):
            changed_tensor(request.inputs[random.choice(sorted(request.inputs))], random)
    data = request.SerializeToString()
    return method, mutated(data, random) if random.random() < 0.6 else data


def messages(served, random, folder):
    method, data = hostile_request(random)
    try:
        request = MESSAGES[method].FromString(data)
    except DecodeError:  # no service is called then
        return False
    found = served.grpc(method, request)
    if random.random() < 0.01:
        served.still_serves()
    if not isinstance(found, tuple):
        found.SerializeToString()
        return True
    code, details = found
    assert code in REFUSALS, (code, details)
    assert details and "Traceback" not in details and "/tmp/" not in details
    return False


def channel(folder):
    served = Served(folder)
    return served, grpc.insecure_channel(f"127.0.0.1:{served.server.grpc_port}")


def wire(ready, random, folder):
    """Sends such messages through a port, including bytes that cannot be parsed."""
    served, channel = ready
    method, data = hostile_request(random)
    path = f"/tensorflow.serving.{SERVICE[method]}/{method}"
    if random.random() < 0.05:
        path = random.choice(
            [path + "x", "/", "/x/y", path.lower(), "/grpc.health.v1.Health/Check"]
        )
    try:
        channel.unary_unary(path)(data, timeout=10)
    except grpc.RpcError as error:
        parsed = "deserializing" not in (error.details() or "")
        assert not parsed or error.code() in REFUSALS, (error.code(), error.details())
        return False
    if random.random() < 0.02:
        served.still_serves()
    return True


def tensors(ready, random, folder):
    """Converts one TensorProto."""
    _, request = random.choice([found for found in ready if found[0] == "Predict"])
    proto = request.inputs[random.choice(sorted(request.inputs))]
    for _ in range(random.choice([0, 1, 1, 2])):
        changed_tensor(proto, random)
    data = proto.SerializeToString()
    try:
        proto = type(proto).FromString(mutated(data, random) if random.random() < 0.6 else data)
    except DecodeError:
        return False
    assert to_array(proto, 10_000).size <= 10_000
    return True


def warm_up_file(folder):
    write_warm_up(folder, "abc", "de")
    path = folder / "assets.extra" / "tf_serving_warmup_requests"
    return path, path.read_bytes(), prediction_log_pb2


def warm_ups(ready, random, folder):
    path, data, _ = ready
    path.write_bytes(mutated(data, random))
    return bool(warm_up_requests(folder))


FORMATS = [
    Format("gRPC messages", 12_000, Served, messages, quick=True),
    Format("gRPC bytes", 2_000, channel, wire, seconds=20),
    Format(
        "TensorProto",
        8_000,
        lambda folder: requests(),
        tensors,
        refusals=(ServingError,),
        quick=True,
    ),
    Format("warm-up requests", 500, warm_up_file, warm_ups),
]
