"""Writes a reference page for each command from its table of options."""

import inspect
import re

from written_pages import write_pages

from tfreps._src.cli.command_help import value_name
from tfreps._src.cli.commands import COMMANDS, TASKS, import_command
from tfreps._src.cli.options import ADVANCED, COMMON, KEY, as_flag

FOLDER = "reference/commands"
CONFIG = (
    "``--config FILE`` reads options from a JSON object. Its keys are the flags without the "
    "dashes in front, and with underscores, such as ``{}`` for ``{}``. Flags override the file."
)
SET = (
    " ``--set KEY=VALUE ...`` gives keys on the command line; it overrides the file, and lists are "
    "separated by commas."
)
# Titles and first sentences of the sections of options.
LEVELS = {
    COMMON: ("options", "The options that ``--help`` shows."),
    ADVANCED: ("more options", "``--help-all`` also shows these options."),
    KEY: (
        "keys",
        "Options that experiments change. They have no flag: give them in ``--config FILE``, or "
        "as in ``--set {}``.",
    ),
}


def setup(app):
    app.connect("builder-inited", write_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_all(app):
    pages = {f"{name}.rst": page(name) for name in COMMANDS}
    write_pages(app.srcdir / FOLDER, {**pages, "index.rst": index()})


def page(name):
    """Returns the page of a command: its docstring, examples, and options by level and group."""
    module = import_command(COMMANDS[name][0])
    kinds = getattr(module, "COMMANDS", {"": getattr(module, "COMMAND", None)})
    title, lines = f"tfreps {name}", []
    for kind, command in kinds.items():
        lines += [*heading(f"{kind} examples".strip().capitalize()), ".. code-block:: bash", ""]
        for example in command.examples:
            lines += [f"    {line}" for line in example.splitlines()]
        lines.append("")
        if command.arguments:
            lines += heading(f"{kind} arguments".strip().capitalize())
        for argument, row in command.arguments.items():
            lines += definition(f"``{row.metavar or argument}``", command.help(row))
        for level in LEVELS:
            lines += section(kind, command, level)
    names = [name for name in command.options if "_" in name] or [*command.options, "config"]
    doc = f"{inspect.getdoc(module)}\n\n{CONFIG.format(names[0], as_flag(names[0]))}"
    doc += SET if command.keys else ""
    if command.recipes:
        recipes = ", ".join(f"``{recipe}``" for recipe in command.recipes)
        doc += f" Instead of a file, it accepts these recipes: {recipes}."
    doc += command.about_default_recipe()
    return "\n".join([title, "=" * len(title), "", *docstring(doc), "", *lines, ""])


def section(kind, command, level):
    """Returns the options of one level, in groups; `[]` if there are none."""
    title, about = LEVELS[level]
    lines, first = [], None
    for group in command.groups:
        rows = {name: row for name, row in group.options.items() if row.level == level}
        if rows:
            first = first or key(*next(iter(rows.items())))
            lines += [*heading(group.title.capitalize(), "~"), escaped(group.about), ""]
        for name, row in rows.items():
            lines += definition(flags(name, row), command.help(row))
    if not lines:
        return []
    if any(row.level != COMMON for row in command.options.values()):
        lines = [about.format(first), "", *lines]
    return [*heading(f"{kind} {title}".strip().capitalize()), *lines]


def heading(text, line="-"):
    return [text, line * len(text), ""]


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
    """Returns the flags of an option, with the name of their value, or a key and its value."""
    if row.level == KEY:
        return f"``{key(name, row)}``"
    if row.kind is bool:
        names = [name, f"no_{name}"] if row.default else [name]
        return ", ".join(f"``{as_flag(each)}``" for each in names)
    value = value_name(name, row)
    more = f" [{value} ...]" if row.many else ""
    return f"``{as_flag(name)} {value}{more}``"


def key(name, row):
    value = value_name(name, row)
    return f"{name}={value}{',...' if row.many else ''}"


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
    lines += ["Every command is ``tfreps COMMAND``; ``tfreps COMMAND --help`` prints its common"]
    lines += ["options, and ``--help-all`` all of them."]
    lines += ["Exit codes: 0 for success, 2 for a user error (one line on standard error), 130 or"]
    lines += [
        "143 after Ctrl-C or SIGTERM, which stop ``tfreps serve`` with 0.",
        "``TFREPS_DEBUG=1`` shows the traceback of an error.",
        "",
    ]
    lines += ["Most commands also read options from a file with ``--config FILE``; flags"]
    lines += ["override it.", ""]
    for task, commands in TASKS.items():
        lines += [*heading(task.capitalize()), ".. list-table::", "   :widths: 30 70", ""]
        for name, (_, about) in commands.items():
            lines += [f"   * - :doc:`{name}`", f"     - {about.replace('->', 'to')}"]
        lines.append("")
    lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in COMMANDS), ""]
    return "\n".join(lines)
