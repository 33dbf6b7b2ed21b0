"""read_body, parse_body, read_inputs: a REST request, from its bytes to arrays, within limits."""

import asyncio
import base64
import itertools
import json
import math
import zlib

import numpy as np

from tfreps.serving.server.requests.serving_error import ServingError

GZIP = 16 + zlib.MAX_WBITS  # argument of zlib that selects the gzip format
MOST_MEMBERS = 16  # maximum number of gzip members in a body, which usually has one
# Number of values that an array or object counts as, since parsing it takes as long as parsing 16.
NESTED = 16
MOST_AXES = 32
FLOATS = {"float32", "float64"}
INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
# The JSON types of the values of each dtype.
KINDS = {
    "string": {str, dict},
    "bool": {bool},
    **dict.fromkeys(FLOATS, {int, float}),
    **dict.fromkeys(INTEGERS, {int}),
}
NAMES = {str: "a string", bool: "a boolean", dict: "an object", type(None): "null"}


async def read_body(request, most_bytes: int, seconds: float) -> bytes:
    """Returns the decompressed body of a Starlette `Request`.

    `most_bytes` is the maximum size of the body, before and after decompression. `seconds` is the
    time in which the body must arrive. Raises a ServingError if the body exceeds a limit or is not
    valid gzip data.
    """
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > most_bytes:
        raise too_large(most_bytes)
    try:
        body = await asyncio.wait_for(received(request, most_bytes), seconds)
    except asyncio.TimeoutError:
        message = (
            f"The body of the request must arrive within {seconds:g} seconds (server option "
            "`timeout_seconds`), but did not. Send a smaller body, or increase this option."
        )
        raise ServingError("DEADLINE_EXCEEDED", message, 408) from None
    if request.headers.get("content-encoding", "").lower() == "gzip":
        body = await asyncio.to_thread(unpacked, body, most_bytes)
    return body


async def received(request, most_bytes):
    body = bytearray()
    async for part in request.stream():
        if len(body) + len(part) > most_bytes:
            raise too_large(most_bytes)
        body += part
    return bytes(body)


def unpacked(body, most_bytes):
    """Returns the decompressed bytes of a body that consists of gzip members.

    There may be at most `MOST_MEMBERS` members, and zero bytes after them. Raises a ServingError
    if the result has more than `most_bytes` bytes.
    """
    found = b""
    for _ in range(MOST_MEMBERS):
        member = zlib.decompressobj(GZIP)
        try:
            found += member.decompress(body, most_bytes + 1 - len(found))
        except zlib.error:
            raise invalid(
                "The body of the request must be valid gzip data, because the request has the "
                "header Content-Encoding: gzip; the body cannot be decompressed. Compress the body "
                "again, or omit this header."
            ) from None
        if len(found) > most_bytes:
            raise too_large(most_bytes)
        if not member.eof:
            raise invalid(
                "The body of the request must be complete gzip data; its end is missing. Send "
                "the whole body."
            )
        body = member.unused_data.lstrip(b"\0")
        if not body:
            return found
    raise invalid(
        f"The body of the request must have at most {MOST_MEMBERS} gzip members; it has more. "
        "Compress the body as one member."
    )


def parse_body(body: bytes, most_elements: int) -> dict:
    """Parses the body of a request, which must be a JSON object, and returns it as a dict.

    `most_elements` is the maximum number of values in the body, where an array or object counts as
    16. The number of values is estimated before parsing, from the commas, opening brackets and
    opening braces, including those inside of strings.
    """
    if body.count(b",") + NESTED * (body.count(b"[") + body.count(b"{")) >= most_elements:
        raise invalid(
            f"The request must have at most {most_elements} values (server option "
            f"`max_elements`), where an array or object counts as {NESTED}; it has more. Send "
            "fewer values at a time."
        )
    try:
        value = json.loads(body.decode("utf-8-sig"), parse_float=finite)
    except (ValueError, RecursionError) as error:
        raise invalid(f"The body of the request is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise invalid(f"The body of the request must be a JSON object; got {str(value)[:40]}.")
    return value


def finite(text):
    """Converts a decimal number, a str, to a float. Raises a ValueError if it is too large."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {text[:40]} is out of the range of float64")
    return number


def read_inputs(request: dict, signature) -> tuple[dict, bool]:
    """Converts the inputs of a request, a dict that `parse_body` returned, to arrays.

    Returns:
        Tuple of a dict from input names to arrays, and a bool that is `True` if the request has the
        row format (`instances`) and `False` if it has the column format (`inputs`).

    Raises:
        ServingError: If the request does not match the signature.
    """
    if ("instances" in request) == ("inputs" in request):
        raise invalid(
            "A request must have one of the keys 'instances' and 'inputs', and not both; got "
            f"{'both' if 'inputs' in request else 'neither'}."
        )
    rows = "instances" in request
    if rows:
        named = named_rows(request["instances"], signature)
    elif is_object(request["inputs"]):  # unknown names are ignored, as in TensorFlow Serving
        named = {key: v for key, v in request["inputs"].items() if key in signature.inputs}
    else:
        named = {only_input(signature): request["inputs"]}
    signature.check_input_names(named)
    arrays = {
        name: json_array(value, signature.input(name).dtype.name, f"input '{name}'")
        for name, value in named.items()
    }
    return arrays, rows


def named_rows(instances, signature):
    """Returns a dict from input names to lists with one value per row.

    `instances` is the list of rows of a request in the row format. Raises a ServingError if the
    rows are not valid.
    """
    if not isinstance(instances, list) or not instances:
        raise invalid(
            f"'instances' must be an array with at least one value; got {str(instances)[:40]}."
        )
    if not any(map(is_object, instances)):
        return {only_input(signature): instances}
    names = instances[0].keys() if is_object(instances[0]) else ()
    for number, item in enumerate(instances, 1):
        if not is_object(item) or item.keys() != names:
            raise invalid(
                f"All values of 'instances' must be objects with the same keys; value {number} of "
                f"{len(instances)} is not an object or has different keys than the first value."
            )
    return {name: [item[name] for item in instances] for name in names}


def only_input(signature):
    if len(signature.inputs) != 1:
        raise invalid(
            f"The signature {signature.name!r} has several inputs, so each value must be an "
            f"object with the keys {', '.join(signature.inputs)}; got a value that is not an "
            "object."
        )
    return next(iter(signature.inputs))


def json_array(value, dtype: str, where: str) -> np.ndarray:
    """Converts a JSON number, string, boolean or nested list to an array of `dtype`.

    Integers for a float dtype are rounded to the nearest float. For the dtype `string`, the array
    contains `bytes` objects, and a value may also be a dict `{"b64": ...}` with base64 data.
    `where` is the name of the value in error messages.

    Example:
    >>> json_array([[1, 2], [3, 4]], "int32", "x")
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    if dtype not in KINDS:
        message = f"The dtype {dtype} of {where} has no JSON form. Use gRPC instead."
        raise ServingError("UNIMPLEMENTED", message)
    shape, leaves = flatten(value, where)
    for kind in set(map(type, leaves)) - KINDS[dtype]:
        found = NAMES.get(kind, "a number")
        raise invalid(f"The values of {where} must be of type {dtype}; got {found}.")
    if dtype == "string":
        array = np.empty([len(leaves)], object)
        array[:] = [as_bytes(leaf, where) for leaf in leaves]
        return array.reshape(shape)
    try:
        with np.errstate(over="raise"):
            array = np.array(leaves, np.float64 if dtype in FLOATS else dtype)
            return array.astype(dtype).reshape(shape)
    except (OverflowError, FloatingPointError):
        raise invalid(
            f"The numbers in {where} must be representable in {dtype}; one number is out of "
            f"the range of {dtype}."
        ) from None


def flatten(value, where):
    """Returns the shape of a nested list, a list of ints, and the flat list of its values.

    Raises a ServingError if the nested list is not a dense tensor.
    """
    shape = []
    level = [value]
    while list in set(map(type, level)):
        sizes = {len(item) if type(item) is list else None for item in level}
        if len(sizes) != 1:
            raise invalid(
                f"The value of {where} must be a dense tensor; nesting level {len(shape)} "
                "contains arrays of several sizes, or arrays and other values. Pad the arrays to "
                "one size."
            )
        if len(shape) == MOST_AXES:
            raise invalid(
                f"The value of {where} must be nested at most {MOST_AXES} levels deep; it is "
                "nested more deeply. Send an array with fewer axes."
            )
        shape.append(sizes.pop())
        level = list(itertools.chain.from_iterable(level))
    return shape, level


def as_bytes(value, where):
    """Returns the bytes of a str in UTF-8, or the decoded base64 data of a dict `{"b64": ...}`."""
    try:
        if isinstance(value, str):
            return value.encode()
        if is_object(value):
            raise ValueError("an object must have the form {'b64': '...'}")
        text = value["b64"]
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError as error:  # an unpaired surrogate, or characters that base64 lacks
        raise invalid(
            f"The strings in {where} must be valid Unicode, or base64 data in objects; one of "
            f"them cannot be read: {error}."
        ) from None


def is_object(value):
    """Returns True for a JSON object, unless it represents a string as base64 data."""
    if not isinstance(value, dict):
        return False
    return list(value) != ["b64"] or not isinstance(value["b64"], str)


def invalid(message):
    return ServingError("INVALID_ARGUMENT", message)


def too_large(most_bytes):
    message = (
        f"The body of the request must have at most {most_bytes} bytes (server option "
        "`max_body_mb`); it is larger. Send fewer values at a time."
    )
    return ServingError("RESOURCE_EXHAUSTED", message, 413)
