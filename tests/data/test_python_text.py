"""Text that comes with Python: docstrings without imports, paragraphs without code."""

import sys
import types

from tfreps._src.data import python_text

SOURCE = '''"""Module docstring speaks first."""
import does_not_exist

class Cat:
    """A cat is a small animal."""
    def purr(self):
        """Makes a low and pleasant sound."""
        def inside():
            """Not seen by any reader."""

def silent(): pass
raise SystemExit("importing this would end the test")
'''


def test_docstrings_are_read_without_importing(tmp_path):
    (tmp_path / "cat.py").write_text(SOURCE)
    (tmp_path / "torn.py").write_text('"""Torn."""\ndef f(:')
    (tmp_path / "latin.py").write_bytes(b'"""caf\xe9."""')
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_cat.py").write_text('"""Left out."""')
    documents = dict(python_text.docstrings(str(tmp_path), leave_out=()))
    assert documents["cat.py"].split("\n\n") == [
        "Module docstring speaks first.",
        "A cat is a small animal.",
        "Makes a low and pleasant sound.",
    ]
    assert documents["torn.py"] == documents["latin.py"] == "" and len(documents) == 3


def test_python_documents_start_with_the_topics(monkeypatch):
    topics = types.SimpleNamespace(topics={"with": "The with statement.", "assert": "Assert it."})
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", topics)
    documents = python_text.python_documents()
    assert next(documents) == ("topic assert", "Assert it.")
    assert next(documents) == ("topic with", "The with statement.")


def test_paragraphs_leave_out_code_and_part_at_bullets():
    text = "One line\nand its end.\n\n>>> code()\n- first\n  point\n* second\n=====\n1. third"
    expected = ["One line and its end.", "first point", "second", "third"]
    assert list(python_text.paragraphs(text)) == expected


def test_docstrings_with_nul_characters_are_left_out(tmp_path):
    path = tmp_path / "module.py"
    path.write_text('"""Backslashes become nulls (\\0)."""\n\ndef f():\n    """Returns one."""\n')
    assert python_text.docstrings_of_file(str(path)) == ["Returns one."]
