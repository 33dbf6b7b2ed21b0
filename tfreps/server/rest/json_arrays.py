"""json_array: converts a JSON number, string or nested list to an array.

Errors that TensorFlow Serving also reports use its wording.
"""

import base64
import binascii
import itertools

import numpy as np

from tfreps.server.requests.serving_error import ServingError

MOST_AXES = 32
KINDS = {list: "Array", dict: "Object", str: "String", bool: "Bool", type(None): "Null"}
INTEGERS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
FLOATS = {"float32", "float64"}


def json_array(value, dtype: str, where: str) -> np.ndarray:
    """Converts a JSON number, string, boolean or nested list to an array.

    Args:
        value: A number, string, bool or nested list, in which all lists at a level have the same
            length. Integers for a float dtype are rounded to the nearest float. A string may also
            be a dict `{"b64": ...}` with base64 data.
        dtype: str. The name of a TensorFlow dtype. Strings become `bytes` in an array of objects.
        where: str. The name of the value in error messages.

    Returns:
        A NumPy array.

    Raises:
        ServingError: INVALID_ARGUMENT if the value cannot be converted to this dtype or is not a
            dense tensor; UNIMPLEMENTED for a dtype without a JSON form.

    Example:
    >>> json_array([[1, 2], [3, 4]], "int32", "x")
    array([[1, 2],
           [3, 4]], dtype=int32)
    """
    shape, leaves, kinds = flatten(value, where)
    if dtype == "string":
        return as_strings(leaves, kinds, where).reshape(shape)
    if dtype in FLOATS:
        check_kinds(kinds, {int, float}, dtype, where)
        return as_floats(leaves, dtype, where).reshape(shape)
    if dtype in INTEGERS or dtype == "bool":
        expected = bool if dtype == "bool" else int
        check_kinds(kinds, {expected}, dtype, where)
        try:
            return np.array(leaves, dtype).reshape(shape)
        except OverflowError:
            raise invalid(
                f"{where} has a number that is not of expected type: {dtype} (it is out of range)"
            ) from None
    raise ServingError("UNIMPLEMENTED", f"Conversion of JSON Value to type: {dtype} ({where})")


def flatten(value, where):
    """Returns the shape of a nested list, the list of its leaves and the set of their types."""
    shape = []
    level = [value]
    while True:
        kinds = set(map(type, level))
        if list not in kinds:
            return shape, level, kinds
        sizes = set(map(len, level)) if kinds == {list} else ()
        if len(sizes) != 1:
            what = f"lists of sizes {ordered(sizes)}" if sizes else "both lists and other values"
            raise invalid(
                f"The value of {where} is not a dense tensor: it has {what} at nesting level "
                f"{len(shape)}."
            )
        if len(shape) == MOST_AXES:
            raise invalid(
                f"The value of {where} must be nested at most {MOST_AXES} levels deep; it has more "
                "levels."
            )
        shape.append(sizes.pop())
        level = list(itertools.chain.from_iterable(level))


def ordered(sizes):
    return " and ".join(map(str, sorted(sizes)[:2]))


def check_kinds(kinds, wanted, dtype, where):
    for kind in kinds - wanted:
        name = KINDS.get(kind, "Number")
        raise invalid(f"{where}: JSON Value Type: {name} is not of expected type: {dtype}")


def as_floats(leaves, dtype, where):
    try:
        array = np.array(leaves, np.float64)
    except OverflowError:
        message = f"{where}: JSON Parse error: Number too big to be stored in double"
        raise invalid(message) from None
    finite = array[np.isfinite(array)]
    if finite.size and np.abs(finite).max() > np.finfo(dtype).max:
        raise invalid(f"Cannot convert JSON value of {where} to {dtype} without loss of precision.")
    return array.astype(dtype)


def as_strings(leaves, kinds, where):
    check_kinds(kinds, {str, dict}, "string", where)
    array = np.empty([len(leaves)], object)
    try:
        array[:] = [
            leaf.encode() if type(leaf) is str else from_base64(leaf, where) for leaf in leaves
        ]
    except UnicodeEncodeError:
        raise invalid(
            f"The value of {where} contains an unpaired surrogate, which is not a valid character."
        ) from None
    return array


def from_base64(value, where):
    if not is_base64(value):
        raise invalid(f"{where}: JSON Value: Object not formatted correctly for base64 data")
    text = value["b64"]
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise invalid(f"{where}: Unable to base64 decode") from None


def is_base64(value):
    return isinstance(value, dict) and list(value) == ["b64"] and isinstance(value["b64"], str)


def kind_of(value):
    return KINDS.get(type(value), "Number")


def invalid(message):
    return ServingError("INVALID_ARGUMENT", message)
