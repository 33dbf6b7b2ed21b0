"""RequestLimits: limits the sizes of requests and answers."""

import dataclasses

from tfreps.server.requests.request_size import RequestSize
from tfreps.server.requests.serving_error import ServingError

LEAST = 64  # minimum number of bytes that a text counts as
LONG_BYTES = 2**14  # a request with a text of more bytes is a long one
LONG_SHARE = 8  # a request with more than 1/8 of the allowed tokens is a long one


@dataclasses.dataclass(frozen=True)
class RequestLimits:
    """Limits on the sizes of requests and answers.

    Args:
        tokens: int. Maximum number of tokens in a request, after all texts (or rows) are padded to
            the length of the longest and to at least one token; see `RequestSize.padded`. Tokens
            that the model adds are included. Defaults to 2**14.
        text_tokens: int. Maximum number of tokens in a single text, without those that the model
            adds. Defaults to 2**12.
        text_bytes: int. Maximum number of bytes in the texts of an input, after all are padded to
            the length of the longest and to at least 64 bytes. Defaults to 2**24.
        answer_bytes: int. Maximum number of bytes of an answer, both as arrays and as JSON.
            Defaults to 2**27.
    """

    tokens: int = 2**14
    text_tokens: int = 2**12
    text_bytes: int = 2**24
    answer_bytes: int = 2**27

    def check_bytes(self, inputs):
        """Checks the number of bytes in the texts of a request.

        Args:
            inputs: dict from names to NumPy arrays, with strings as `bytes` in arrays of objects.

        Returns:
            int. The number of bytes of the longest text, or 0 if there are no texts.

        Raises:
            ServingError: RESOURCE_EXHAUSTED if the padded texts of an input have more than
                `text_bytes` bytes.
        """
        longest = 0
        for name, value in inputs.items():
            if value.dtype == object and value.size:
                longest_here = max(map(len, value.flat))
                longest = max(longest, longest_here)
                padded = max(longest_here, LEAST)
                if padded * value.size > self.text_bytes:
                    raise too_large(
                        f"Input '{name}' has {value.size} texts. Padded to {padded} bytes each, "
                        f"they have {padded * value.size} bytes, more than the {self.text_bytes} "
                        "that are allowed",
                        "max_text_mb",
                    )
        return longest

    def check_tokens(self, size: RequestSize, added=0):
        """Checks the number of tokens of a request.

        Args:
            size: The `RequestSize` of the request.
            added: int. Number of tokens that the model adds to every text. Defaults to 0.

        Raises:
            ServingError: RESOURCE_EXHAUSTED if a text or the request has too many tokens.
        """
        if size.rows and size.longest - added > self.text_tokens:
            raise too_large(
                f"A text has more than the {self.text_tokens} tokens that are allowed",
                "max_text_tokens",
            )
        if size.padded > self.tokens:
            raise too_large(
                f"The request has {size.rows} texts, the longest with at least {size.longest} "
                f"tokens. Padded, these count as {size.padded} tokens, more than the {self.tokens} "
                "that are allowed",
                "max_tokens",
            )

    def check_answer(self, size, what="The answer"):
        """Checks the size of an answer.

        Args:
            size: int. The number of bytes of the answer.
            what: str. The subject of the error message. Defaults to `"The answer"`.

        Raises:
            ServingError: RESOURCE_EXHAUSTED if the answer is too large.
        """
        if size > self.answer_bytes:
            raise too_large(
                f"{what} has {size} bytes, more than the {self.answer_bytes} that are allowed; "
                "request fewer rows or outputs",
                "max_answer_mb",
            )

    def merges(self, size: RequestSize, longest_bytes, most_rows):
        """Returns True if a request can be merged with others.

        The request must not be long or have more than `most_rows` rows, and a batch of `most_rows`
        rows as long as its longest row must not exceed the limit on tokens.

        Args:
            size: The `RequestSize` of the request.
            longest_bytes: int. The number of bytes of the longest text in the request.
            most_rows: int. Maximum number of rows in a batch.
        """
        fits = size.longest * most_rows <= self.tokens and size.rows <= most_rows
        return fits and not self.is_long(size, longest_bytes)

    def is_long(self, size: RequestSize, longest_bytes):
        """Returns True if a request must wait in the queue of long requests.

        A request is long if it has more than 1/8 of the allowed tokens after padding, or a text of
        more than 16,384 bytes.

        Args:
            size: The `RequestSize` of the request.
            longest_bytes: int. The number of bytes of the longest text in the request.
        """
        return size.padded > self.tokens // LONG_SHARE or longest_bytes > LONG_BYTES


def too_large(message, option):
    """Returns the error for a request or answer that exceeds a limit, with HTTP status 413.

    Args:
        message: str. The error message, without its final period.
        option: str. The name of the field of `ServerOptions` that sets the limit.
    """
    text = f"{message} (server option `{option}`)."
    return ServingError("RESOURCE_EXHAUSTED", text, 413)
