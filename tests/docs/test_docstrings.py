"""Docstrings in the style of Keras become reStructuredText."""

from tests.docs.pages import extension

docstrings = extension("docstrings")


def test_sections_formulas_and_examples():
    text = """\
Sums what it is given.

    y = x_1 + x_2

Args:
    x: float. One of the
        numbers.
    *others, y: floats.

Returns:
    `float`s.

Example:
>>> 1 + 1
2"""
    found = "\n".join(docstrings.converted(text.splitlines()))
    assert ".. code-block:: text\n\n        y = x_1 + x_2\n" in found
    assert "``x``\n    float. One of the\n    numbers.\n" in found
    assert "``*others``, ``y``\n    floats." in found
    assert "`float`\\ s." in found
    assert ".. rubric:: Example\n   :class: section\n\n>>> 1 + 1\n2" in found


def test_backslashes_in_code_are_no_escapes():
    text = 'separator: str. `"\\t"` or `" "`, and ``"\\n"``.'
    assert docstrings.separated(text) == 'separator: str. ``"\\t"`` or `" "`, and ``"\\n"``.'
    assert '``"\\t"``' in "\n".join(docstrings.converted(["Args:", f"    {text}"]))


def test_examples_after_a_sentence_get_a_blank_line():
    assert docstrings.converted(["Example, short:", ">>> 1", "1"])[:3] == [
        "Example, short:",
        "",
        ">>> 1",
    ]


def test_the_arguments_of_a_constructor():
    class Layer:
        def __new__(cls, *args, **kwargs):
            return super().__new__(cls)

        def __init__(self, units: int, activation="relu", *, name: str | None = None):
            pass

    assert docstrings.constructor(Layer) == "(units, activation='relu', *, name=None)"
