"""Writes a reference page for each command from its table of options."""

import inspect
import re

from written_pages import write_pages

from tfreps._src.cli.command import METAVARS
from tfreps._src.cli.commands import COMMANDS, import_command
from tfreps._src.cli.options import as_flag

FOLDER = "reference/commands"
CONFIG = (
    "``--config FILE`` reads options from a JSON object. Its keys are the flags without the "
    "dashes in front, and with underscores, such as ``{}`` for ``{}``. Flags override the file."
)


def setup(app):
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_all(app):
    pages = {f"{name}.rst": page(name) for name in COMMANDS}
    write_pages(app.srcdir / FOLDER, {**pages, "index.rst": index()})


def page(name):
    """Returns the page of a command: its docstring, and its options in groups."""
    module = import_command(COMMANDS[name][0])
    kinds = getattr(module, "COMMANDS", {"": getattr(module, "COMMAND", None)})
    title, lines = f"tfreps {name}", []
    for kind, command in kinds.items():
        if command.arguments:
            lines += heading(f"{kind} Arguments".strip())
        for argument, row in command.arguments.items():
            lines += definition(f"``{row.metavar or argument}``", command.help(row))
        for group in command.groups:
            lines += [
                *heading(f"{kind} {group.title.capitalize()}".strip()),
                escaped(group.about),
                "",
            ]
            for option, row in group.options.items():
                lines += definition(flags(option, row), command.help(row))
        lines += [*heading(f"{kind} Examples".strip()), ".. code-block:: bash", ""]
        for example in command.examples:
            lines += [f"    {line}" for line in example.splitlines()]
        lines.append("")
    names = [name for name in command.options if "_" in name] or [*command.options, "config"]
    doc = f"{inspect.getdoc(module)}\n\n{CONFIG.format(names[0], as_flag(names[0]))}"
    if command.recipes:
        recipes = ", ".join(f"``{recipe}``" for recipe in command.recipes)
        doc += f" Instead of a file, it accepts these recipes: {recipes}."
    return "\n".join([title, "=" * len(title), "", *docstring(doc), "", *lines, ""])


def heading(text):
    return [text, "-" * len(text), ""]


def docstring(doc):
    """Converts a command's docstring; indented commands become blocks of code."""
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
    """Returns the page of all commands."""
    title = "Commands"
    lines = [title, "=" * len(title), ""]
    lines += ["Every command is ``tfreps COMMAND``; ``tfreps COMMAND --help`` prints its options."]
    lines += ["Exit codes: 0 for success, 2 for a user error (one line on standard error), 130 or"]
    lines += [
        "143 after Ctrl-C or SIGTERM, which stop ``tfreps serve`` with 0.",
        "``TFREPS_DEBUG=1`` shows the traceback of an error.",
        "",
    ]
    lines += ["Most commands also read options from a file with ``--config FILE``; flags"]
    lines += ["override it.", ""]
    lines += [".. list-table::", "   :widths: 30 70", ""]
    for name, (_, about) in COMMANDS.items():
        lines += [f"   * - :doc:`{name}`", f"     - {about.replace('->', 'to')}"]
    lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in COMMANDS), ""]
    return "\n".join(lines)
