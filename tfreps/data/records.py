"""Parses the record in a line of a text file: a JSON object or a Python dict literal."""

import ast
import json

_READERS = {"json": json.loads, "python": lambda line: ast.literal_eval(line.strip())}
_WANTED = {
    "json": 'JSON object, such as {"text": ..., "label": ...},',
    "python": "Python dict literal, such as {'text': ..., 'label': ...},",
}


def parse_record(line: str, place: str, format: str = "json") -> dict:
    """Parses a line that holds a JSON object, or a dict literal as Python writes it.

    Args:
        line: str.
        place: what errors begin with: file and line.
        format: "json"; or "python" for `ast.literal_eval`, which runs no code; or "either".

    Raises:
        ValueError: the line is no such object, or holds half of a UTF-16 pair.

    Example:
        >>> from tfreps.data.records import parse_record
        >>> parse_record('{"text": "good", "label": 1}', "a.json, line 1")
        {'text': 'good', 'label': 1}
        >>> parse_record("{'text': 'good', 'label': 1}", "a.txt, line 1", "python")
        {'text': 'good', 'label': 1}
    """
    tried = {"either": ("json", "python")}.get(format, (format,))
    for number, kind in enumerate(tried, 1):
        try:
            record = _READERS[kind](line)
            break
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            if number < len(tried):
                continue
            wanted = " or ".join(_WANTED[kind] for kind in tried)
            hint = " It looks like Python: read it as format python." if _is_python(line) else ""
            raise ValueError(
                f"{place}: expected one {wanted} in a line; got {line[:60]!r} ({error})."
                f"{hint if tried == ('json',) else ''}"
            ) from None
    if not isinstance(record, dict):
        raise ValueError(
            f'{place}: expected an object such as {{"text": ..., "label": ...}}; got '
            f"{line[:60]!r}, a {type(record).__name__}."
        )
    return record


def get_field(record: dict, name: str, place: str):
    """Returns the value of a record's field.

    Raises:
        ValueError: there is no such field; names those there are.
    """
    if name not in record:
        raise ValueError(f"{place}: no field {name!r}; there are {', '.join(map(repr, record))}.")
    return record[name]


def _is_python(line: str) -> bool:
    try:
        return isinstance(_READERS["python"](line), dict)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
