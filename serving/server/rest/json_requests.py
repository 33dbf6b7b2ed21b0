"""read_inputs: converts the JSON object of a REST request to the arrays of a signature."""

import base64
import itertools

import numpy as np

from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.rest.request_body import invalid

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
