"""read_inputs: converts the JSON body of a REST request to the arrays of a signature.

Errors that TensorFlow Serving also reports use its wording.
"""

import json
import math

from tfreps.server.requests.serving_error import ServingError
from tfreps.server.rest.json_arrays import invalid, is_base64, json_array, kind_of

SPACE = " \t\n\r"
NESTED = 16  # values that an array or object counts as, since it takes the time of as many numbers


def parse_body(body: bytes, most_elements: int) -> dict:
    """Parses the JSON object of a request.

    Args:
        body: bytes. JSON in UTF-8, which may contain NaN, Infinity and -Infinity. Anything after
            the object is ignored, as in TensorFlow Serving.
        most_elements: int. Maximum number of values in the body, where an array or object counts as
            16. They are estimated before parsing, by the number of commas, opening brackets and
            opening braces, of which those in texts count as well.

    Returns:
        A dict.

    Raises:
        ServingError: INVALID_ARGUMENT if the body has too many values or is not a JSON object.

    Example:
    >>> parse_body(b'{"instances": [1, NaN]}', 100)
    {'instances': [1, nan]}
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    if body.count(b",") + NESTED * (body.count(b"[") + body.count(b"{")) >= most_elements:
        raise invalid(
            f"The request has more than {most_elements} values, the maximum, where an array or "
            f"object counts as {NESTED} (server option `max_elements`)."
        )
    try:
        text = body.decode("utf-8-sig")
        start = len(text) - len(text.lstrip(SPACE))
        value, _ = json.JSONDecoder(parse_float=finite).raw_decode(text, start)
    except UnicodeDecodeError as error:
        raise invalid(f"JSON Parse error: Invalid UTF-8 at offset: {error.start}") from None
    except json.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    except ValueError:  # an integer with thousands of digits
        raise invalid("JSON Parse error: Number too big") from None
    except RecursionError:
        raise invalid("JSON Parse error: The document is nested too deeply") from None
    if not isinstance(value, dict):
        raise invalid(f"JSON Value: {kind_of(value)} Is not object")
    return value


def finite(text):
    """Converts a decimal number to a float, or raises a ServingError if it overflows."""
    number = float(text)
    if math.isinf(number):
        raise invalid("JSON Parse error: Number too big to be stored in double")
    return number


def signature_name(request: dict) -> str:
    """Returns the name of the requested signature, or an empty str for the default one.

    Raises:
        ServingError: INVALID_ARGUMENT if the name is not a string.
    """
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            "JSON Value not formatted correctly. 'signature_name' key must be a string value."
        )
    return name


def read_inputs(request: dict, signature) -> tuple[dict, bool]:
    """Reads the arrays of a request in row or column format.

    Args:
        request: dict, as returned by `parse_body`.
        signature: The requested `Signature`.

    Returns:
        Tuple `(arrays, rows)`. `arrays` is a dict from input names to NumPy arrays. `rows` is
        `True` for the row format (`instances`) and `False` for the column format (`inputs`).

    Raises:
        ServingError: INVALID_ARGUMENT if the request is malformed or does not match the signature;
            UNIMPLEMENTED if the signature declares an input that is not a dense tensor, or whose
            dtype has no JSON form.
    """
    if "instances" in request and "inputs" in request:
        raise invalid(
            "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist"
        )
    if "instances" in request:
        named = named_rows(request["instances"], signature)
    elif "inputs" in request:
        named = named_columns(request["inputs"], signature)
    else:
        raise invalid("Missing 'inputs' or 'instances' key")
    arrays = {}
    for name, value in named.items():
        wanted = signature.inputs[name]
        if wanted is None:
            raise ServingError(
                "UNIMPLEMENTED",
                f"The model declares input '{name}' as a sparse or composite tensor, but this "
                "server supports only dense tensors.",
            )
        arrays[name] = json_array(value, wanted.dtype.name, f"input '{name}'")
    return arrays, "instances" in request


def named_rows(instances, signature):
    """Returns a dict from input names to lists with one value per row."""
    if not isinstance(instances, list):
        raise invalid("Expecting 'instances' to be an list/array")
    if not instances:
        raise invalid("No values in 'instances' array")
    objects = [is_object(item) for item in instances]
    if not any(objects):
        return {
            only_input(
                signature, "instances is a plain list, but expecting a list of objects"
            ): instances
        }
    if not all(objects):
        place = objects.index(False) if objects[0] else objects.index(True)
        wanted, got = ("object", "list") if objects[0] else ("value/list", "object")
        raise invalid(f"Expecting {wanted} but got {got} at item {place} of input list")
    known = set(signature.inputs)
    for place, item in enumerate(instances):
        if not known - set(signature.defaults) <= set(item) <= known or set(item) != set(
            instances[0]
        ):
            raise invalid(
                f"Failed to process element: {place} of 'instances' list. JSON object: "
                f"keys must be equal to: {','.join(sorted(known))}"
            )
    return {name: [item[name] for item in instances] for name in instances[0]}


def named_columns(inputs, signature):
    """Returns a dict from input names to values."""
    if not is_object(inputs):
        return {
            only_input(signature, "inputs is a plain value/list, but expecting an object"): inputs
        }
    for name in signature.inputs:
        if name not in inputs and name not in signature.defaults:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {name: inputs[name] for name in signature.inputs if name in inputs}


def only_input(signature, found):
    if len(signature.inputs) != 1:
        raise invalid(f"{found} with a value for each input of the signature")
    return next(iter(signature.inputs))


def is_object(value):
    return isinstance(value, dict) and not is_base64(value)
