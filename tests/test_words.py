"""Docstrings, comments, messages and pages are free of words that reveal a literal translation.

The rules are in "Writing style" of CONTRIBUTING.md. In tests, only docstrings and
comments are checked. Code in Markdown and ~~struck out~~ text is skipped.
"""

import ast
import io
import re
import tokenize

import pytest

from tests.annotated_tree import tracked_files
from tests.conftest import CHECKOUT

# Pattern: what to write instead.
WORDS = {
    r"go(es)? unseen|(un)?heed(ed|s)": "is ignored; has no effect",
    r"tells? (?!apart)(of|that|whether|what|which|how|it|you|the|its|a|every)": "reports, shows",
    r"(for|of) (ever|before|then|now)(?=[.,;:)])": "indefinitely; previous; original; so far",
    r"in turns": "alternately",
    r"none for none": "if `None`, ...",
    r"(is|are) to be|(is|are) to come": "must be; will be",
    r"mend(s|ed|ing)?": "fix",
    r"to the bit": "bit-identical",
    r"a heap of|in vain|at hand": "many; without success; available",
    r"nobody|nothing else comes": "no one; nothing",
    r"where(of|with)|there(of|with)": "whose; with it",
    r"beside": "next to; compared with; in addition to",
    r"of which (tells|speaks|knows)": "whose",
    r"as many \w+ as there are": "the number of; all",
    r"such as it is|as it (comes|stands)": "unchanged",
    r"(says|said) nothing|without a word": "is silent; silently",
    r"stands (beside|behind|at)": "is next to; follows; is",
    r"(has|have|had) no say": "has no effect",
}
OPENERS = re.compile(r"(What|That|Whether|Of|How|Where|Which|Who|Whose|Why|Whatever|As) ")


def python_texts(name):
    """Yields `(line number, text, whether it is a docstring)` of a Python file."""
    source = (CHECKOUT / name).read_text(encoding="utf-8")
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node in docstrings or not name.startswith("tests/"):
                yield node.lineno, node.value, node in docstrings
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def markdown_texts(name):
    """Yields `(line number, text, False)` of a Markdown file, line by line, without code."""
    text = (CHECKOUT / name).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    for number, line in enumerate(text.splitlines(), 1):
        yield number, re.sub(r"`[^`]*`|~~.*?~~", "", line), False


def texts():
    for name in tracked_files():
        if name.endswith(".py"):
            yield from ((name, *found) for found in python_texts(name))
        elif name.endswith(".md"):
            yield from ((name, *found) for found in markdown_texts(name))


def found(pattern, all_texts):
    """Returns `file:line: sentence` for each match of a pattern."""
    pattern = re.compile(rf"\b({pattern})\b", re.I)
    places = []
    for name, line, text, _ in all_texts:
        for match in pattern.finditer(text):
            around = " ".join(text[max(0, match.start() - 40) : match.end() + 40].split())
            places.append(f"{name}:{line + text[: match.start()].count(chr(10))}: {around}")
    return places


@pytest.fixture(scope="module")
def all_texts():
    return list(texts())


@pytest.mark.parametrize("pattern", WORDS)
def test_no_tell_tale_words(all_texts, pattern):
    places = found(pattern, all_texts)
    assert not places, f"Write instead: {WORDS[pattern]}.\n" + "\n".join(places)


def test_docstrings_begin_with_a_verb_or_a_noun(all_texts):
    places = [
        f"{name}:{line}: {text.splitlines()[0]}"
        for name, line, text, is_docstring in all_texts
        if is_docstring and text.strip() and OPENERS.match(text)
    ]
    assert not places, "\n".join(places)


def test_what_is_found():
    """Words are found in docstrings, comments and messages, and not in struck out text."""
    rows = [("a.py", 3, "One line.\n\nIt goes\nunseen here, and goes unseen.", True)]
    assert found("goes unseen", rows) == ["a.py:6: One line. It goes unseen here, and goes unseen."]
    lines = list(python_texts("tests/test_words.py"))
    assert any(is_docstring for _, _, is_docstring in lines)
    assert any(text == "# Pattern: what to write instead." for _, text, _ in lines)
    assert not any("reports, shows" == text for _, text, _ in lines)
    pages = [text for _, text, _ in markdown_texts("CONTRIBUTING.md")]
    assert any("is ignored, has no effect" in text for text in pages)
    assert not any("goes unseen" in text for text in pages)
