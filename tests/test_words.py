"""Docstrings and pages are free of tell-tale words, and the library never mentions flags.

The words reveal a literal translation. Code in Markdown is skipped.
"""

import ast
import re

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
    r"rivals?": "another library",
    r"development (data|set)": "validation set",
    r"(has|have|had) no say": "has no effect",
}
OPENERS = re.compile(r"(What|That|Whether|Of|How|Where|Which|Who|Whose|Why|Whatever|As) ")
PRODUCT = [
    path for room in ("tfreps", "training", "serving") for path in (CHECKOUT / room).rglob("*.py")
]
WRITTEN = ("_build", "api", "commands", "files")  # folders of the build of docs/
PAGES = [*CHECKOUT.glob("*.md"), *CHECKOUT.glob("[a-z]*/*.md")]
PAGES += [p for p in CHECKOUT.glob("docs/*/**/*.md") if not set(p.parts) & set(WRITTEN)]
FLAG = re.compile(r"(^|[\s(`'\"])--[a-z]")
# Files of the library that mention flags, and whose flags they are. Code of programs may.
FOREIGN = {
    "tfreps/_src/backend.py": "a command line of pip",
    "tfreps/_src/export/notes.py": "the notes in an export describe how to start servers",
}


def strings(source):
    """Yields `(line number, text, whether it is a docstring)` of the strings of Python code."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, documented) and ast.get_docstring(node) is not None
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value, node in docstrings


def prose(text):
    """Returns the text of a Markdown page with its code removed."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def texts():
    """Yields `(file, line number, text)` of every docstring of the product and every page."""
    for path in PRODUCT:
        for line, text, is_docstring in strings(path.read_text(encoding="utf-8")):
            if is_docstring:
                yield path.relative_to(CHECKOUT), line, text
    for path in PAGES:
        yield path.relative_to(CHECKOUT), 1, prose(path.read_text(encoding="utf-8"))


def tell_tale_words(texts):
    """Returns `file:line: words (what to write)` for each match of a pattern."""
    return [
        f"{name}:{line + text[: match.start()].count(chr(10))}: {match[0]!r} (write: {instead})"
        for name, line, text in texts
        for pattern, instead in WORDS.items()
        for match in re.finditer(rf"\b({pattern})\b", text, re.I)
    ]


def test_no_tell_tale_words():
    assert tell_tale_words(texts()) == []


def test_docstrings_begin_with_a_verb_or_a_noun():
    found = [(name, line, text) for name, line, text in texts() if name.suffix == ".py"]
    assert len(found) > 1000
    assert [f"{name}:{line}: {text}" for name, line, text in found if OPENERS.match(text)] == []


def flags_in(source):
    """Returns the line numbers of strings, except docstrings, that contain a flag."""
    return [line for line, text, is_docs in strings(source) if not is_docs and FLAG.search(text)]


def test_the_library_never_mentions_flags():
    found = []
    for path in PRODUCT:
        name = path.relative_to(CHECKOUT).as_posix()
        if name.startswith("tfreps/_src/") and not name.startswith("tfreps/_src/cli/"):
            lines = flags_in(path.read_text(encoding="utf-8")) if name not in FOREIGN else []
            found += [f"{name}:{line}" for line in lines]
    assert found == []


def test_what_is_found():
    rows = [("a.py", 3, "One line.\n\nIt goes\nunseen here, and goes unseen.")]
    assert tell_tale_words(rows) == [
        "a.py:6: 'goes unseen' (write: is ignored; has no effect)",
    ]
    assert prose("a b `beside`\n```\nbeside\n```\n") == "a b \n\n\n\n"
    spoken = '"""With --flag."""\nx = "Give --flag."\ny = f"{x}: leave `--{x}` or --flag out"\n'
    assert flags_in(spoken) == [2, 3]
    assert flags_in("x = 'a---b', 'one -- two', '1--2'\n") == []
