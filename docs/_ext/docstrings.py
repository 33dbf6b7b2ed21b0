"""Converts the docstrings of tfreps, in the style of Keras, to reStructuredText.

The sections `Args:`, `Call arguments:`, `Attributes:` and `Raises:` become lists of definitions,
`Returns:` and `Yields:` become paragraphs, other indented blocks (formulas) become literal text,
and examples get the blank line that makes them blocks of code.
"""

import inspect
import re

SECTIONS = re.compile(
    r"(Args|Arguments|Call arguments|Update arguments|Shape|Attributes|Fields|Properties|Methods|"
    r"Returns|Yields|Raises|References?|Masking|Examples?|Notes?)(, [^:]*)?:$"
)
LISTS = {"Args", "Arguments", "Call arguments", "Update arguments"}
LISTS |= {"Attributes", "Fields", "Raises", "Properties"}
ENTRY = re.compile(r"^(\*{0,2}\w[\w.]*(?:, \*{0,2}\w[\w.]*)*):(?: +(.*))?$")


def setup(app):
    app.connect("autodoc-process-docstring", on_docstring)
    app.connect("autodoc-process-signature", on_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def on_docstring(app, what, name, obj, options, lines):
    lines[:] = converted(lines)


def on_signature(app, what, name, obj, options, signature, return_annotation):
    """Shows the arguments of the constructor, which Keras hides behind a `__new__` of its own."""
    if what == "class" and inspect.isfunction(obj.__init__):
        return constructor(obj), None
    return None


def constructor(cls):
    """Returns the arguments of a constructor as text, without annotations.

    >>> class A:
    ...     def __init__(self, units: int, *, name=None): ...
    >>> constructor(A)
    '(units, *, name=None)'
    """
    found = inspect.signature(cls.__init__)
    plain = [p.replace(annotation=p.empty) for p in list(found.parameters.values())[1:]]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


def converted(lines):
    """Converts the lines of a docstring to reStructuredText.

    Args:
        lines: list of str, without common indentation.

    Returns:
        list of str.
    """
    result = []
    lines = [line if is_code(line) else separated(line) for line in lines]
    for title, body in split(lines):
        if title:
            result += [f".. rubric:: {title}", "   :class: section", ""]
            result += definitions(body) if title in LISTS else prose(dedented(body))
        else:
            result += prose(body)
        result.append("")
    return result


def separated(text):
    r"""Separates inline code from letters after it, as in `X`s, which would make it plain text.

    Code with a backslash becomes a literal, in which a backslash is not an escape.

    >>> print(separated(r'`"\t"` or `X`s'))
    ``"\t"`` or `X`\ s
    """
    text = re.sub(r"(?<![`\\])`([^`]*\\[^`]*)`(?![`\w])", r"``\1``", text)
    return re.sub(r"(?<![`\\])(`[^`]+`)(?=\w)", r"\1\\ ", text)


def split(lines):
    """Returns `(title or None, lines)` of each section of a docstring and of the text between."""
    parts, section = [(None, [])], False
    for line in lines:
        heading = SECTIONS.match(line)
        if heading and not heading[2]:
            parts.append((heading[1], []))
            section = True
        else:
            starts_prose = line and not line[0].isspace()
            if section and starts_prose and not example(parts[-1]):
                parts.append((None, []))
                section = False
            parts[-1][1].append(line)
    return parts


def example(part):
    """Returns True if a part is an example, whose lines are not indented."""
    return part[0] in ("Example", "Examples")


def dedented(lines):
    """Removes the common indentation of lines."""
    widths = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    return [line[min(widths, default=0) :] for line in lines]


def definitions(lines):
    """Converts entries `name: description` to a list of definitions."""
    result = []
    for line in dedented(lines):
        found = ENTRY.match(line)
        if found:
            names = ", ".join(f"``{name}``" for name in found[1].split(", "))
            result += ["", names, *([f"    {found[2]}"] if found[2] else [])]
        elif line.startswith("    ") or not line.strip():
            result.append(line)
        elif result and result[-1].startswith("    "):
            result.append(f"    {line}")
        else:
            result.append(line)
    return prose(spaced(result))


def spaced(lines):
    """Gives the lines of each paragraph of a definition the same indentation."""
    return [f"    {line.strip()}" if re.match(r" {5,7}\S", line) else line for line in lines]


def prose(lines):
    """Adds blank lines before examples and lists, and marks formulas as literal text."""
    result, literal, item = [], False, False
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else ""
        body = line.lstrip()
        width = len(line) - len(body)
        if body.startswith(">>> ") and before.strip() and not is_code(before):
            if not in_output(lines, number):
                result.append("")
        is_item = bool(re.match(r"([-*] |\d+\. )", body))
        if is_item and before.strip() and not item:
            result.append("")
        if not body:
            pass
        elif is_item:
            item, literal = True, False
        elif not item and width >= 4 and not before.strip() and not in_definition(result):
            if not literal and not body.startswith((">>> ", "...")):
                result += ["", ".. code-block:: text", ""]
                literal = True
        elif width == 0:
            if item and before.strip() and not is_code(before):
                result.append("")
            item = literal = False
        result.append(f"    {line}" if literal and body else line)
    return result


def is_code(line):
    return line.lstrip().startswith((">>> ", "... "))


def in_output(lines, number):
    """Returns True if the previous lines are an example and its output, without a blank line."""
    while number and lines[number - 1].strip():
        number -= 1
        if is_code(lines[number]):
            return True
    return False


def in_definition(result):
    """Returns True if a line follows the name of a definition."""
    for line in reversed(result):
        if line and not line[0].isspace():
            return line.startswith("``")
    return False
