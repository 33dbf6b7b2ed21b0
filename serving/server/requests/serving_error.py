"""ServingError: the reason why a request failed, with its gRPC and HTTP status codes.

Errors that TensorFlow Serving also reports begin with its wording.
"""

import os
import re

from tfreps._src.files.tensorflow_errors import essence

# gRPC status codes by number, each with the HTTP status that TensorFlow Serving uses for it.
CODES = {
    1: ("CANCELLED", 499),
    2: ("UNKNOWN", 500),
    3: ("INVALID_ARGUMENT", 400),
    4: ("DEADLINE_EXCEEDED", 504),
    5: ("NOT_FOUND", 404),
    6: ("ALREADY_EXISTS", 409),
    7: ("PERMISSION_DENIED", 403),
    8: ("RESOURCE_EXHAUSTED", 429),
    9: ("FAILED_PRECONDITION", 400),
    10: ("ABORTED", 409),
    11: ("OUT_OF_RANGE", 400),
    12: ("UNIMPLEMENTED", 501),
    13: ("INTERNAL", 500),
    14: ("UNAVAILABLE", 503),
    15: ("DATA_LOSS", 500),
    16: ("UNAUTHENTICATED", 401),
}
NUMBERS = {name: number for number, (name, _) in CODES.items()}
LONGEST = 1_000  # maximum number of characters in a message to clients
# An absolute path. Its last component is group 1.
PATH = re.compile(
    r"""(?<![^\s'"(\[=:,;])(?:[A-Za-z]:)?(?:[/\\][^\s/\\:;,'"()<>]+)*[/\\]([^\s/\\:;,'"()<>]+)"""
)


class ServingError(Exception):
    """Error for a request that fails, with its gRPC status code and HTTP status.

    The client gets `message`, truncated to 1,000 characters. `str(error)` is for the operator of
    the server: `details` if given, otherwise the whole message.
    """

    def __init__(
        self, code: str, message: str, http_status: int | None = None, details: str | None = None
    ):
        super().__init__(details or message)
        self.code = code
        self.number = NUMBERS[code]
        self.message = message[:LONGEST]
        self.http_status = CODES[self.number][1] if http_status is None else http_status


def as_serving_error(error: Exception) -> ServingError:
    """Converts an exception that was raised during a request to a ServingError.

    Errors of TensorFlow keep their code and the relevant part of their message. A MemoryError
    becomes RESOURCE_EXHAUSTED, and any other exception INTERNAL.
    """
    if isinstance(error, ServingError):
        return error
    if isinstance(error, MemoryError):
        message = "There is not enough memory for this request. Send fewer or shorter texts."
        return ServingError("RESOURCE_EXHAUSTED", message)
    number = getattr(error, "error_code", None)  # only a tf.errors.OpError has this attribute
    if number in CODES:
        return for_clients(CODES[number][0], essence(str(error)) or type(error).__name__)
    return for_clients("INTERNAL", f"{type(error).__name__}: {error}")


def for_clients(code: str, text: str, base_path: str | None = None) -> ServingError:
    """Returns a ServingError whose message does not contain absolute paths.

    A path inside the folder that contains `base_path`, the base path of the model, becomes relative
    to this folder. Any other absolute path is shortened to its last component. `str(error)`
    contains the full paths.

    Example:
    >>> error = for_clients("INTERNAL", "/srv/models/ner/2 lacks /etc/hosts", "/srv/models/ner")
    >>> error.message, str(error)
    ('ner/2 lacks hosts', '/srv/models/ner/2 lacks /etc/hosts')
    """
    above = os.path.join(os.path.dirname(os.path.abspath(base_path or "")), "")
    message = text.replace(above, "") if base_path and len(above) > 1 else text
    return ServingError(code, PATH.sub(r"\1", message), details=text)
