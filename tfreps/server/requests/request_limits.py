"""RequestLimits: limits the size of a request and of its answer."""

import dataclasses

from tfreps.server.requests.request_size import RequestSize
from tfreps.server.requests.serving_error import ServingError

LEAST = 64  # bytes that any text counts for
LONG_BYTES = 2**14  # bytes of a text that is asked alone
LONG_SHARE = 8  # a request of more than this part of the tokens allowed is a long one


@dataclasses.dataclass(frozen=True)
class RequestLimits:
    """Limits of requests and answers; decides which requests are long ones.

    Args:
        tokens: of a request: its texts (or rows), each as long as the longest, since models pad
            them to that; an empty text counts as one.
        text_tokens: of one text.
        text_bytes: of the texts of an input, each as long as the longest, and that is 64 at least.
        answer_bytes: of an answer, as arrays and as it is written.
    """

    tokens: int = 2**14
    text_tokens: int = 2**12
    text_bytes: int = 2**24
    answer_bytes: int = 2**27

    def check_bytes(self, inputs):
        """Returns the bytes of the longest text of a request; checks the bytes of all.

        Args:
            inputs: dict from names to NumPy arrays, strings as `bytes` in arrays of objects.

        Raises:
            ServingError: RESOURCE_EXHAUSTED: the texts are too long.
        """
        longest = 0
        for name, value in inputs.items():
            if value.dtype == object and value.size:
                longest = max(longest, *map(len, value.flat), 0)
                if max(longest, LEAST) * value.size > self.text_bytes:
                    raise too_large(
                        f"Input '{name}' has {value.size} texts of up to {longest} bytes: together "
                        f"more than the {self.text_bytes} bytes that are allowed",
                        "max_text_mb",
                    )
        return longest

    def check_tokens(self, size: RequestSize, added=0):
        """Raises a ServingError for a request of too many tokens.

        Args:
            size: of the request.
            added: tokens of each text that the model adds, and nobody sent.

        Raises:
            ServingError: RESOURCE_EXHAUSTED.
        """
        if size.rows and size.longest - added > self.text_tokens:
            raise too_large(
                f"A text has more than the {self.text_tokens} tokens that are allowed",
                "max_text_tokens",
            )
        if size.padded > self.tokens:
            raise too_large(
                f"The request has {size.rows} texts, the longest of {size.longest} tokens or more: "
                f"{size.padded} once all are padded, more than the {self.tokens} that are allowed",
                "max_tokens",
            )

    def check_answer(self, size, what="The answer"):
        """Raises a ServingError for an answer of too many bytes.

        Raises:
            ServingError: RESOURCE_EXHAUSTED.
        """
        if size > self.answer_bytes:
            raise too_large(
                f"{what} has {size} bytes, more than the {self.answer_bytes} that are allowed: ask "
                "for fewer rows or outputs",
                "max_answer_mb",
            )

    def merges(self, size: RequestSize, longest_bytes, most_rows):
        """Whether a request may share a batch, which then has no more tokens than a request."""
        fits = size.longest * most_rows <= self.tokens and size.rows <= most_rows
        return fits and not self.is_long(size, longest_bytes)

    def is_long(self, size: RequestSize, longest_bytes):
        """Whether a request is a long one, which waits for other long ones only."""
        return size.padded > self.tokens // LONG_SHARE or longest_bytes > LONG_BYTES


def too_large(message, option):
    """The error for what is beyond a limit; 413 over HTTP.

    Args:
        message: what is too large, without a full stop.
        option: name of the field of `ServerOptions` that sets the limit.
    """
    text = f"{message} (option `{option}` of the server)."
    return ServingError("RESOURCE_EXHAUSTED", text, 413)
