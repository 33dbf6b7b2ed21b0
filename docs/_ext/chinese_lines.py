"""Joins the lines of Chinese paragraphs, because browsers show a line end as a space."""

import re

CHINESE = "\u2018-\u201d\u2026\u3000-\u303f\u3400-\u9fff\uff00-\uffef"  # with its punctuation
LINE_END = re.compile(rf"(?<=[{CHINESE}])\n *(?=[{CHINESE}])")
FENCED = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def setup(app):
    app.connect("source-read", on_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def on_source(app, page, source):
    if page.endswith("_zh"):
        source[0] = joined(source[0])


def joined(text):
    """Removes the line ends between two Chinese characters, except in fenced blocks.

    >>> joined("向量，\\n  以及\\nLSTM 的\\n状态\\n\\n下一段")
    '向量，以及\\nLSTM 的状态\\n\\n下一段'
    """
    parts = FENCED.split(text)  # the blocks are at the odd positions
    parts[::2] = [LINE_END.sub("", part) for part in parts[::2]]
    return "".join(parts)
