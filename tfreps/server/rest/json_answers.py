"""predict_json: writes arrays as a REST answer, in row or column format.

Errors that TensorFlow Serving also reports use its wording.
"""

import base64
import json

import numpy as np

from tfreps.server.requests.serving_error import ServingError

BYTES_SUFFIX = "_bytes"
AT_A_TIME = 2**13  # elements, each of which takes 60 bytes in Python before it is written
# Approximate bytes of an element with its separator, without the contents of strings.
BYTES = {"float16": 12, "bfloat16": 12, "float32": 14, "float64": 22, "object": 7}
SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def predict_json(outputs: dict[str, np.ndarray], rows: bool) -> bytes:
    """Converts the outputs of a model to the JSON body of an answer.

    A single output is written without its name.

    Args:
        outputs: dict from output names to NumPy arrays, in the order of the answer, with strings as
            `bytes` in arrays of objects. Strings of outputs whose name ends with `_bytes` are
            written as base64.
        rows: bool. If `True`, the answer has the row format (`predictions`). Otherwise, it has the
            column format (`outputs`).

    Returns:
        bytes. JSON in UTF-8.

    Raises:
        ServingError: INVALID_ARGUMENT if there are no outputs, a string that is not written as
            base64 is not valid UTF-8, or `rows` is `True` and an output is a scalar or the outputs
            have different numbers of rows; UNIMPLEMENTED for a dtype without a JSON form.

    Example:
    >>> predict_json({"y": np.array([2.5, np.nan], "float32")}, rows=True)
    b'{"predictions": [2.5, NaN]}'
    >>> predict_json({"y": np.array([1]), "z": np.array([True])}, rows=False)
    b'{"outputs": {"y": [1], "z": [true]}}'
    """
    if not outputs:
        raise ServingError("INVALID_ARGUMENT", "Cannot convert empty tensor map to JSON")
    if not rows:
        return f'{{"outputs": {named({n: whole(n, v) for n, v in outputs.items()})}}}'.encode()
    for name, value in outputs.items():
        if not value.ndim:
            raise ServingError(
                "INVALID_ARGUMENT", f"Tensor name: {name} has no shape information (it has no rows)"
            )
    check_rows(outputs)
    size = len(next(iter(outputs.values())))
    step = rows_at_a_time(max(value.size for value in outputs.values()), size)
    blocks = (
        {name: value[start : start + step] for name, value in outputs.items()}
        for start in range(0, size, step)
    )
    items = b", ".join(row_items(block).encode() for block in blocks)
    return b'{"predictions": [' + items + b"]}"


def row_items(outputs):
    """Returns the JSON of the rows of outputs, without the enclosing brackets."""
    written = {name: written_rows(name, value) for name, value in outputs.items()}
    return ", ".join(
        named(dict(zip(written, row, strict=True))) for row in zip(*written.values(), strict=True)
    )


def json_size(outputs) -> int:
    """Estimates the number of bytes that `predict_json` writes.

    Example:
    >>> json_size({"y": np.zeros([10, 2], "float32"), "z": np.array([b"abc"], object)})
    290
    """
    texts = [v for value in outputs.values() if value.dtype == object for v in value.flat]
    sizes = [BYTES.get(value.dtype.name, 8) * value.size for value in outputs.values()]
    return sum(sizes) + sum(map(len, texts))


def check_rows(outputs):
    sizes = {name: value.shape[0] for name, value in outputs.items()}
    first = next(iter(sizes.values()))
    for name, size in sizes.items():
        if size != first:
            raise ServingError(
                "INVALID_ARGUMENT",
                f"Tensor name: {name} has inconsistent batch size: {size} expecting: {first}",
            )


def named(parts):
    """Returns a JSON object with the given values, or the value itself if there is only one."""
    if len(parts) == 1:
        return next(iter(parts.values()))
    return "{" + ", ".join(f"{json.dumps(name)}: {part}" for name, part in parts.items()) + "}"


def whole(name, array):
    """Returns the JSON of an array, converted in parts if it is large."""
    if not array.ndim:
        return leaves(name, array)[0]
    step = rows_at_a_time(array.size, len(array))
    blocks = (array[start : start + step] for start in range(0, len(array), step))
    return "[" + ", ".join(", ".join(written_rows(name, block)) for block in blocks) + "]"


def rows_at_a_time(elements, rows):
    """Returns the number of rows to convert at a time, which limits memory use and delays."""
    return max(AT_A_TIME * rows // max(elements, 1), 1)


def written_rows(name, array):
    """Returns a list with the JSON of each row of an array."""
    if array.ndim > 1 and array.size > AT_A_TIME:
        return [whole(name, row) for row in array]
    parts = leaves(name, array)
    for axis in range(array.ndim - 1, 0, -1):
        parts = grouped(parts, array.shape[axis], int(np.prod(array.shape[:axis], dtype=int)))
    return parts


def grouped(parts, size, count):
    return ["[" + ", ".join(parts[n * size : (n + 1) * size]) + "]" for n in range(count)]


def leaves(name, array):
    """Returns a list with the JSON of every element of an array, in order."""
    flat = array.ravel()
    kind = flat.dtype.kind
    if kind == "f":
        if flat.dtype.itemsize == 2:
            flat = flat.astype(np.float32)
        texts = flat.astype(str).tolist()  # the shortest exact decimals
        if not np.isfinite(flat).all():
            texts = [SPECIAL.get(text, text) for text in texts]
        return texts
    if kind == "b":
        return ["true" if value else "false" for value in flat.tolist()]
    if kind in "iu":
        return list(map(str, flat.tolist()))
    if kind == "O":
        return [as_text(name, value) for value in flat.tolist()]
    raise ServingError(
        "UNIMPLEMENTED",
        f"Output '{name}' has the dtype {array.dtype}, which has no JSON form. Use gRPC instead.",
    )


def as_text(name, value):
    if name.endswith(BYTES_SUFFIX):
        return json.dumps({"b64": base64.b64encode(value).decode()})
    try:
        return json.dumps(value.decode(), ensure_ascii=False)
    except UnicodeDecodeError:
        raise ServingError(
            "INVALID_ARGUMENT",
            f"Output '{name}' contains a string that is not valid UTF-8. Over REST, only outputs "
            f"whose names end with {BYTES_SUFFIX} can contain arbitrary bytes. Use gRPC instead.",
        ) from None
