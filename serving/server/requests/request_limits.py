"""choose_queue: checks the size of a request and chooses the queue in which it waits."""

import numpy as np

from tfreps.serving.server.requests.server_options import MEGABYTE
from tfreps.serving.server.requests.serving_error import ServingError

BATCHED, SINGLE, LONG = "batched", "single", "long"
LEAST = 64  # a shorter text counts as this number of bytes
LONG_BYTES = 2**14  # a request waits in the queue LONG if one of its texts has more bytes
LONG_SHARE = 8  # a request waits in the queue LONG if it has more than 1/8 of the allowed tokens


def choose_queue(inputs: dict[str, np.ndarray], counter, options) -> str:
    """Checks the size of a request, and chooses the queue in which its call waits.

    Args:
        inputs: dict from the names of inputs to arrays.
        counter: `RequestCounter` of the model.
        options: `ServerOptions` with the limits.

    Returns:
        str. The queue:

        - `"long"` if the request has more than 1/8 of the allowed tokens after padding, or a text
          of more than 16,384 bytes.
        - `"batched"` if the request has at most `max_batch_size` rows, and `max_batch_size` rows of
          the length of its longest row have at most `max_tokens` tokens.
        - `"single"` otherwise.

    Raises:
        ServingError: If the request exceeds a limit.
    """
    longest_bytes = check_bytes(inputs, options.max_text_mb * MEGABYTE)
    size = counter.size(inputs, options.max_text_tokens, options.max_tokens)
    if size.rows and size.longest - counter.added_per_text > options.max_text_tokens:
        raise too_large(
            f"A text may have at most {options.max_text_tokens} tokens; the longest text of "
            "the request has more",
            "max_text_tokens",
        )
    if size.padded > options.max_tokens:
        raise too_large(
            f"After padding, a request may have at most {options.max_tokens} tokens; this "
            f"request counts as {size.padded} tokens, because it has {size.rows} texts, the "
            f"longest with at least {size.longest} tokens",
            "max_tokens",
        )
    if size.padded > options.max_tokens // LONG_SHARE or longest_bytes > LONG_BYTES:
        return LONG
    most_rows = options.batching.max_batch_size
    fits = size.longest * most_rows <= options.max_tokens
    return BATCHED if fits and 0 < rows_of(inputs) <= most_rows else SINGLE


def rows_of(inputs):
    """Returns the size of the first axis of the inputs, or 0 if it differs between inputs."""
    sizes = {value.shape[:1] for value in inputs.values()}
    return sizes.pop()[0] if len(sizes) == 1 and sizes != {()} else 0


def check_bytes(inputs, most):
    """Returns the number of bytes of the longest text in the inputs.

    Raises a ServingError if an input has more than `most` bytes after its texts are padded to the
    length of the longest, and to at least 64 bytes.
    """
    longest = 0
    for name, value in inputs.items():
        if value.dtype == object and value.size:
            longest_here = max(map(len, value.flat))
            longest = max(longest, longest_here)
            padded = max(longest_here, LEAST)
            if padded * value.size > most:
                raise too_large(
                    (
                        f"The texts of input '{name}' may have at most {most} bytes after padding; "
                        f"they have {padded * value.size}, because each text is padded to {padded} "
                        f"bytes and their number is {value.size}"
                    ),
                    "max_text_mb",
                )
    return longest


def check_response(size, options, what="The response"):
    """Raises a ServingError if a response of `size` bytes exceeds the limit of the server.

    `what` is the subject of the error message.
    """
    most = options.max_response_mb * MEGABYTE
    if size > most:
        raise too_large(
            f"{what} may have at most {most} bytes; it has at least {size} bytes",
            "max_response_mb",
        )


def too_large(message, option):
    """Returns the `ServingError` for a request that exceeds the limit of a server option.

    The text of the error is `message`, to which the option and a remedy are added.
    """
    text = f"{message} (server option `{option}`). Send smaller requests, or increase this option."
    return ServingError("RESOURCE_EXHAUSTED", text, 413)
