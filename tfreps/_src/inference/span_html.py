"""HTML of texts in which spans have colors and labels, for notebooks and pages."""

import html
import zlib
from collections.abc import Iterable
from typing import NamedTuple

# With this modulus, the hues of PER, LOC, ORG, MISC, PERSON, GPE, DATE and TIME are well separated.
HUES = 2008
TEXT = "white-space:pre-wrap;overflow-wrap:anywhere;line-height:2;margin:.5em 0"
MARK = (
    "background:hsl({hue} 75% 80%);color:#14171b;border-radius:.3em;padding:.15em .3em;"
    "-webkit-box-decoration-break:clone;box-decoration-break:clone"
)
LABEL = (
    "font-size:.75em;font-weight:700;margin-inline-start:.4em;unicode-bidi:isolate;user-select:none"
)
# Start and end of a page. Text outside spans has the colors of the browser, light or dark.
PAGE = (
    '<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width">\n<title>Tagged texts</title>\n<style>\n'
    ":root { color-scheme: light dark; }\n"
    "body { max-width: 60rem; margin: 0 auto; padding: 1rem; font: 1rem system-ui, sans-serif; }\n"
    "body > div { border-bottom: 1px solid #8885; }\n"
    "</style>\n</head>\n<body>\n",
    "</body>\n</html>\n",
)


class Mark(NamedTuple):
    """Part `text[start:end]` of a text with a label, and a `title` that the mouse shows."""

    start: int
    end: int
    label: str
    title: str


def text_html(text: str, marks: Iterable[Mark]) -> str:
    """Returns a `div` with a text in which the marks have colors, followed by their labels.

    All characters of the text are in the result, in their order. Marks may be nested or cross: a
    mark that crosses the end of another is divided there, and its label follows its last part. The
    direction of the text is that of its first letter.
    """
    marks = list(marks)
    parts, opened, place = [], [], 0
    for cut in sorted({len(text)}.union(*([mark.start, mark.end] for mark in marks))):
        parts.append(html.escape(text[place:cut]))
        place, divided = cut, []
        while any(mark.end == cut for mark in opened):
            mark = opened.pop()
            parts.append(_end(mark) if mark.end == cut else "</mark>")
            divided += [mark] * (mark.end > cut)
        new = sorted((m for m in marks if m.start == cut), key=lambda m: -m.end)
        for mark in [*reversed(divided), *new]:
            parts.append(_start(mark))
            if mark.end > cut:
                opened.append(mark)
            else:  # an empty mark
                parts.append(_end(mark))
    return f'<div dir="auto" style="{TEXT}">{"".join(parts)}</div>'


def _start(mark: Mark) -> str:
    hue = zlib.crc32(mark.label.encode("utf-8", "replace")) % HUES * 360 // HUES
    return f'<mark style="{MARK.format(hue=hue)}" title="{html.escape(mark.title)}">'


def _end(mark: Mark) -> str:
    return f'<small style="{LABEL}">{html.escape(mark.label)}</small></mark>'
