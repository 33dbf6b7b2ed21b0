"""Writes a reference page for each program from its table of options."""

import inspect
import re

from written_pages import write_pages

from tfreps.__main__ import PROGRAMS, import_program
from tfreps._src.cli.options import as_flag
from tfreps._src.cli.program import METAVARS

FOLDER = "reference/programs"
CONFIG = (
    "``--config FILE`` reads options from a JSON object. Its keys are the flags without the "
    "dashes in front, and with underscores, such as ``{}`` for ``{}``. Flags override the file."
)


def setup(app):
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_all(app):
    pages = {f"{name}.rst": page(name) for name in PROGRAMS}
    write_pages(app.srcdir / FOLDER, {**pages, "index.rst": index()})


def page(name):
    """Returns the page of a program: its docstring, and its options in groups."""
    module = import_program(PROGRAMS[name][0])
    kinds = getattr(module, "PROGRAMS", {"": getattr(module, "PROGRAM", None)})
    title, lines = f"tfreps {name}", []
    for kind, program in kinds.items():
        if program.arguments:
            lines += heading(f"{kind} Arguments".strip())
        for argument, row in program.arguments.items():
            lines += definition(f"``{row.metavar or argument}``", program.help(row))
        for group in program.groups:
            lines += [
                *heading(f"{kind} {group.title.capitalize()}".strip()),
                escaped(group.about),
                "",
            ]
            for option, row in group.options.items():
                lines += definition(flags(option, row), program.help(row))
        lines += [*heading(f"{kind} Examples".strip()), ".. code-block:: bash", ""]
        for command in program.examples:
            lines += [f"    {line}" for line in command.splitlines()]
        lines.append("")
    names = [name for name in program.options if "_" in name] or [*program.options, "config"]
    doc = f"{inspect.getdoc(module)}\n\n{CONFIG.format(names[0], as_flag(names[0]))}"
    if program.recipes:
        recipes = ", ".join(f"``{recipe}``" for recipe in program.recipes)
        doc += f" Instead of a file, it accepts these recipes: {recipes}."
    return "\n".join([title, "=" * len(title), "", *docstring(doc), "", *lines, ""])


def heading(text):
    return [text, "-" * len(text), ""]


def docstring(doc):
    """Converts a program's docstring; indented commands become blocks of code."""
    lines, code = [], False
    for line in doc.splitlines():
        if line.startswith("    ") and not code and (not lines or not lines[-1].strip()):
            lines += [".. code-block:: bash", ""]
            code = True
        elif line.strip() and not line.startswith("    "):
            code = False
        lines.append(line if code else line.replace("*", r"\*"))
    return lines


def flags(name, row):
    """Returns the flags of an option, with the name of their value."""
    if row.kind is bool:
        names = [name, f"no_{name}"] if row.default else [name]
        return ", ".join(f"``{as_flag(each)}``" for each in names)
    value = row.metavar or METAVARS.get(row.kind, name.upper())
    if row.choices:
        value = "{" + ",".join(map(str, row.choices)) + "}"
    more = f" [{value} ...]" if row.many else ""
    return f"``{as_flag(name)} {value}{more}``"


def definition(term, about):
    """Returns an item of a definition list."""
    return [term, f"    {escaped(about.replace('%%', '%'))}", ""]


def escaped(text):
    """Converts help text to reStructuredText."""
    return re.sub(r"(?<!`)([*|_])(?!`)", r"\\\1", text) if "`" not in text else text


def index():
    """Returns the page of all programs."""
    title = "Programs"
    lines = [title, "=" * len(title), ""]
    lines += ["Every program is ``tfreps PROGRAM``; ``tfreps PROGRAM --help`` prints its options."]
    lines += ["Exit codes: 0 for success, 2 for a user error (one line on standard error), 130 or"]
    lines += [
        "143 after Ctrl-C or SIGTERM, which stop ``tfreps serve`` with 0.",
        "``TFREPS_DEBUG=1`` shows the traceback of an error.",
        "",
    ]
    lines += ["Most programs also read options from a file with ``--config FILE``; flags"]
    lines += ["override it.", ""]
    lines += [".. list-table::", "   :widths: 30 70", ""]
    for name, (_, about) in PROGRAMS.items():
        lines += [f"   * - :doc:`{name}`", f"     - {about.replace('->', 'to')}"]
    lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in PROGRAMS), ""]
    return "\n".join(lines)
