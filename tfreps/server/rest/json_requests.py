"""read_inputs: converts the JSON body of a REST request to the arrays of a signature."""

import json
import math
import re

from tfreps.server.requests.serving_error import ServingError
from tfreps.server.rest.json_arrays import invalid, is_base64, json_array, kind_of

SPACE = " \t\n\r"
# Whatever is larger than a double can hold has such an exponent, or as many digits.
PERHAPS_TOO_LARGE = re.compile(rb"[eE]\+?[0-9][0-9]|[0-9]{290}")


def parse_body(body: bytes, most_elements: int) -> dict:
    """Parses the JSON object of a request.

    Args:
        body: UTF-8; the tokens NaN, Infinity and -Infinity are numbers. What follows the object is
            not read, as in TensorFlow Serving.
        most_elements: more values are refused before they are read.

    Raises:
        ServingError: INVALID_ARGUMENT.

    Example:
    >>> parse_body(b'{"instances": [1, NaN]}', 10)
    {'instances': [1, nan]}
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    if body.count(b",") >= most_elements:
        raise invalid(f"The request has more than {most_elements} values.")
    number = finite if PERHAPS_TOO_LARGE.search(body) else float
    try:
        text = body.decode("utf-8-sig")
        start = len(text) - len(text.lstrip(SPACE))
        value, _ = json.JSONDecoder(parse_float=number).raw_decode(text, start)
    except UnicodeDecodeError as error:
        raise invalid(f"JSON Parse error: Invalid UTF-8 at offset: {error.start}") from None
    except json.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    except ValueError:  # a whole number of thousands of digits
        raise invalid("JSON Parse error: Number too big") from None
    except RecursionError:
        raise invalid("JSON Parse error: The document is nested too deeply") from None
    if not isinstance(value, dict):
        raise invalid(f"JSON Value: {kind_of(value)} Is not object")
    return value


def finite(text):
    """Converts a number written with digits to a float that is not infinite."""
    number = float(text)
    if math.isinf(number):
        raise invalid("JSON Parse error: Number too big to be stored in double")
    return number


def signature_name(request: dict) -> str:
    """Returns the name of the signature asked for; empty for the default one.

    Raises:
        ServingError: INVALID_ARGUMENT: it is no string.
    """
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid(
            "JSON Value not formatted correctly. 'signature_name' key must be a string value."
        )
    return name


def read_inputs(request: dict, signature) -> tuple[dict, bool]:
    """Reads the arrays of a request, in the row or the column form.

    Args:
        request: of `parse_body`.
        signature: the `Signature` asked for.

    Returns:
        dict from names to NumPy arrays, and whether it was the row form (`instances`).

    Raises:
        ServingError: INVALID_ARGUMENT, or UNIMPLEMENTED for types that JSON has no form for.
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
            raise ServingError("UNIMPLEMENTED", f"Input '{name}' is no dense tensor.")
        arrays[name] = json_array(value, wanted.dtype.name, f"input '{name}'")
    return arrays, "instances" in request


def named_rows(instances, signature):
    """Maps the name of each input to the list of its values, one for each row."""
    if not isinstance(instances, list):
        raise invalid("Expecting 'instances' to be an list/array")
    if not instances:
        raise invalid("No values in 'instances' array")
    objects = [is_object(item) for item in instances]
    if not any(objects):
        return {only_input(signature, "instances is a plain list, but"): instances}
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
    """Maps the name of each input to its value."""
    if not is_object(inputs):
        return {only_input(signature, "inputs is a plain value/list, but"): inputs}
    for name in signature.inputs:
        if name not in inputs and name not in signature.defaults:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
    return {name: inputs[name] for name in signature.inputs if name in inputs}


def only_input(signature, found):
    if len(signature.inputs) != 1:
        raise invalid(f"{found} expecting an object for each of the inputs of the signature")
    return next(iter(signature.inputs))


def is_object(value):
    return isinstance(value, dict) and not is_base64(value)
