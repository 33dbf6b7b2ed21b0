"""Texts with spans as HTML: every character and every span is there, and nothing is executable."""

import html.parser
import itertools

import hypothesis
import pytest
from hypothesis import strategies

from tfreps._src.inference.span_html import Mark, text_html
from tfreps.inference import TaggedText, TextSpan


class Reader(html.parser.HTMLParser):
    """Reads a text with marks: its characters without labels, and the characters of each label."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.text, self.tags, self.labeled, self.stack = "", [], [], []
        self.feed(page)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.stack.append((tag, len(self.text), dict(attributes)))

    def handle_endtag(self, tag):
        opened, start, attributes = self.stack.pop()
        assert opened == tag
        if tag == "mark":
            self.labeled.append((start, len(self.text), attributes["title"]))

    def handle_data(self, data):
        if self.stack[-1][0] == "small":
            self.labeled.append(data)
        else:
            self.text += data

    def marks(self):
        """Returns `(start, end, title, label)` of each mark; the parts of a mark are joined."""
        found, parts, label = [], {}, None
        for each in self.labeled:
            if isinstance(each, str):
                label = each
                continue
            start, end, title = each
            parts.setdefault(title, []).append((start, end))
            if label is not None:
                own = sorted(parts.pop(title))
                assert all(a[1] == b[0] for a, b in itertools.pairwise(own))
                found.append((own[0][0], own[-1][1], title, label))
            label = None
        assert not parts
        return sorted(found)


def tagged(text, *spans):
    """Returns the output for a text with spans `(type, first character, last character + 1)`."""
    found = [TextSpan(kind, 0, 1, text[a:b], 0.5, a, b) for kind, a, b in spans]
    return TaggedText([], [], [], "bio", text, found)


@pytest.mark.parametrize(
    "text, spans",
    [
        ("Ada lives in  New  York.", [("PER", 0, 3), ("LOC", 14, 23)]),
        ("<script>alert('1 & 2')</script>", [("<b>\"'&", 0, 8), ("X", 8, 13)]),
        ("👩‍🚀 in\tParis\n\n🇫🇷!", [("PER", 0, 3), ("LOC", 7, 12), ("FLAG", 14, 16)]),
        ("גר בתל אביב (Tel Aviv) מאז 1999", [("LOC", 4, 11), ("LOC", 13, 21), ("DATE", 27, 31)]),
        ("AdaBob", [("PER", 0, 3), ("PER", 3, 6)]),  # adjacent
        ("the University of Oslo", [("ORG", 4, 22), ("LOC", 18, 22)]),  # nested
        ("a b c d", [("X", 0, 5), ("Y", 2, 7)]),  # crossing
        ("a b", [("X", 0, 3), ("Y", 0, 3), ("Z", 1, 1)]),  # the same place, and an empty span
        ("", []),
        ("no spans", []),
    ],
)
def test_characters_and_spans(text, spans):
    page = tagged(text, *spans)._repr_html_()
    found = Reader(page)
    assert found.text == text
    assert set(found.tags) <= {"div", "mark", "small"}
    expected = sorted((a, b, f"{kind} 0.5000", kind) for kind, a, b in spans)
    assert found.marks() == expected
    assert page.startswith('<div dir="auto"') and page.count("\n") == text.count("\n")


@hypothesis.given(
    strategies.text("ab<&\"' \n😀ש", max_size=12),
    strategies.lists(strategies.tuples(strategies.integers(0, 12), strategies.integers(0, 12))),
)
def test_no_character_and_no_span_is_lost(text, places):
    cuts = [sorted(min(place, len(text)) for place in pair) for pair in places]
    marks = [Mark(*pair, f"L{n}", f"T{n}") for n, pair in enumerate(cuts)]
    found = Reader(text_html(text, marks))
    assert found.text == text
    expected = [(*pair, f"T{n}", f"L{n}") for n, pair in enumerate(cuts)]
    assert found.marks() == sorted(expected)


def test_colors_depend_on_the_label_alone():
    def hues(*spans):
        page = tagged("a b c", *spans)._repr_html_()
        return [part.split(" ")[0] for part in page.split("hsl(")[1:]]

    first, second = hues(("PER", 0, 1), ("LOC", 2, 3))
    assert first != second and hues(("LOC", 0, 1), ("X", 1, 2), ("PER", 4, 5))[::2] == [
        second,
        first,
    ]
    common = ["PER", "LOC", "ORG", "MISC"]
    values = sorted(int(hues((kind, 0, 1))[0]) for kind in common)
    assert min(b - a for a, b in itertools.pairwise([*values, values[0] + 360])) >= 40


def test_tokens_without_a_text():
    spans = [TextSpan("PER", 0, 1, "Ada", 0.25), TextSpan("LOC", 3, 5, "New York", 0.75)]
    tokens = ["Ada", "lives", "in", "New", "York"]
    found = Reader(TaggedText(tokens, ["O"] * 5, [1.0] * 5, "bio", None, spans)._repr_html_())
    assert found.text == "Ada lives in New York"
    assert found.marks() == [(0, 3, "PER 0.2500", "PER"), (13, 21, "LOC 0.7500", "LOC")]


def test_tags_without_a_scheme():
    page = TaggedText(["A", "dog"], ["DET", "NOUN"], [0.5, 1.0], None, "A  dog")._repr_html_()
    found = Reader(page)
    assert found.text == "A dog"
    assert found.marks() == [(0, 1, "DET 0.5000", "DET"), (2, 5, "NOUN 1.0000", "NOUN")]
