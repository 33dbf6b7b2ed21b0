"""read_body and parse_body: read the JSON body of a request within limits."""

import asyncio
import json
import math
import zlib

from tfreps.serving.server.requests.serving_error import ServingError

GZIP = 16 + zlib.MAX_WBITS  # argument of zlib that selects the gzip format
MOST_MEMBERS = 16  # maximum number of gzip members in a body, which usually has one
# Number of values that an array or object counts as, since parsing it takes as long as parsing 16.
NESTED = 16


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


def invalid(message):
    return ServingError("INVALID_ARGUMENT", message)


def too_large(most_bytes):
    message = (
        f"The body of the request must have at most {most_bytes} bytes (server option "
        "`max_body_mb`); it is larger. Send fewer values at a time."
    )
    return ServingError("RESOURCE_EXHAUSTED", message, 413)
