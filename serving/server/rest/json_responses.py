"""predict_json: writes arrays as a REST response, in row or column format."""

import base64
import json
import math

import numpy as np

from tfreps.serving.server.requests.request_limits import check_response
from tfreps.serving.server.requests.serving_error import ServingError

BYTES_SUFFIX = "_bytes"
AT_A_TIME = 2**13  # maximum number of elements that are converted at once; each takes 60 bytes
SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
ENCODE = json.JSONEncoder(ensure_ascii=False).encode


def predict_json(outputs: dict[str, np.ndarray], rows: bool, options) -> bytes:
    """Converts the outputs of a model to the JSON body of a response.

    If `rows` is `True`, the response has the row format (`predictions`), otherwise the column
    format (`outputs`). A single output is written without its name. Strings, which are `bytes` in
    arrays of objects, are written as base64 if the name of the output ends with `_bytes`.

    Raises:
        ServingError: If the body would exceed the limit in `options`, a `ServerOptions`, or the
            outputs cannot be written in this format.

    Example:
    >>> from tfreps.serving import ServerOptions
    >>> predict_json({"y": np.array([2.5, np.nan], "float32")}, True, ServerOptions())
    b'{"predictions": [2.5, NaN]}'
    """
    if not outputs:
        raise ServingError(
            "INVALID_ARGUMENT",
            "The signature must have at least one output, but has none. Choose another signature.",
        )
    parts = []
    size = 0
    for part in written_rows(outputs) if rows else written_columns(outputs):
        parts.append(part.encode())
        size += len(parts[-1])
        check_response(size, options, "The response as JSON")
    return b"".join(parts)


def written_columns(outputs):
    yield '{"outputs": '
    yield from written_object(outputs)
    yield "}"


def written_rows(outputs):
    """Yields the JSON of a response in row format, as strings to join."""
    sizes = {value.shape[:1] for value in outputs.values()}
    if len(sizes) != 1 or sizes == {()}:
        shapes = ", ".join(f"{name} {value.shape}" for name, value in outputs.items())
        raise ServingError(
            "INVALID_ARGUMENT",
            f"The outputs must have one row for each row of the inputs; got the shapes {shapes}. "
            "Use 'inputs' instead of 'instances'.",
        )
    yield '{"predictions": '
    if len(outputs) == 1:
        yield from written_object(outputs)
    else:
        yield "["
        for row in range(sizes.pop()[0]):
            yield ", " if row else ""
            yield from written_object({name: value[row, ...] for name, value in outputs.items()})
        yield "]"
    yield "}"


def written_object(outputs):
    """Yields the JSON of a dict of arrays, as strings to join.

    A single array is written without its name.
    """
    is_named = len(outputs) > 1
    for number, (name, array) in enumerate(outputs.items()):
        if is_named:
            yield f"{', ' if number else '{'}{ENCODE(name)}: "
        yield from written_array(name, array)
    if is_named:
        yield "}"


def written_array(name, array):
    """Yields the JSON of an array, as short strings to join, which limits the memory in use."""
    if array.size <= AT_A_TIME:
        yield small_array(name, array)
        return
    step = max(AT_A_TIME * len(array) // array.size, 1)
    yield "["
    for start in range(0, len(array), step):
        yield ", " if start else ""
        if step == 1:
            yield from written_array(name, array[start])
        else:
            yield small_array(name, array[start : start + step])[1:-1]
    yield "]"


def small_array(name, array):
    """Returns the JSON of an array as one string, which takes more memory for large arrays."""
    parts = leaves(name, array.ravel())
    for axis in range(array.ndim - 1, -1, -1):
        size = array.shape[axis]
        starts = (size * n for n in range(math.prod(array.shape[:axis])))
        parts = ["[" + ", ".join(parts[start : start + size]) + "]" for start in starts]
    return parts[0]


def leaves(name, array):
    """Returns a list with the JSON of each element of an array of rank 1.

    `name` is the name of the output. Raises a ServingError if JSON cannot represent an element.
    """
    kind = array.dtype.kind
    if kind == "f":  # these are the shortest decimals that read back as the same float32 or float64
        texts = array.astype(np.promote_types(array.dtype, np.float32)).astype(str).tolist()
        return texts if np.isfinite(array).all() else [SPECIAL.get(text, text) for text in texts]
    if kind in "biu":
        return [ENCODE(value) for value in array.tolist()]
    if kind == "O":
        return [ENCODE(as_text(name, value)) for value in array]
    raise ServingError(
        "UNIMPLEMENTED",
        f"Output '{name}' has the dtype {array.dtype}, which has no JSON form. Use gRPC instead.",
    )


def as_text(name, value):
    if name.endswith(BYTES_SUFFIX):
        return {"b64": base64.b64encode(value).decode()}
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ServingError(
            "INVALID_ARGUMENT",
            f"Output '{name}' contains a string that is not valid UTF-8. Over REST, only outputs "
            f"whose names end with {BYTES_SUFFIX} can contain arbitrary bytes. Use gRPC instead.",
        ) from None
