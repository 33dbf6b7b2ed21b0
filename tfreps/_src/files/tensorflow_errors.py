"""essence: the message of a TensorFlow error without its code locations."""

import re

# Beginnings of lines that TensorFlow and Keras add to messages, such as locations in code.
NOISE = " ", "\t", "Graph execution error", "Detected at", "Stack trace", "<stack", "Hint:"
NOISE += "Exception encountered when calling", "Arguments received by"


def essence(message: str) -> str:
    """Returns the message of a TensorFlow error as one line, without colors and node names.

    >>> essence("Graph execution error:\\n\\nids are out of range [Op:GatherV2]")
    'ids are out of range'
    """
    message = re.sub(r"\x1b\[\d*m", "", message)
    lines = [line for line in message.splitlines() if line and not line.startswith(NOISE)]
    text = re.sub(r"\{\{.*?\}\}|\[Op:.*?\]|\[\[.*?\]\]", "", " ".join(lines))
    return " ".join(text.split())
