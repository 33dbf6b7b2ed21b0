"""Writes a reference page for each program from its parser."""

import argparse
import inspect
import re

from tfreps.__main__ import PROGRAMS, import_program

FOLDER = "reference/programs"
CONFIG = (
    "``--config FILE.json`` reads options from a JSON object. Its keys are the flags without the "
    "dashes in front, and with underscores, such as ``{}`` for ``{}``. Flags override the file."
)


def setup(app):
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app):
    """Writes the pages to an ignored folder, without rewriting unchanged files."""
    folder = app.srcdir / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pages = {f"{name}.rst": page(name) for name in PROGRAMS}
    pages["index.rst"] = index()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()


def parser_of(program, *kind):
    """Returns the `argparse.ArgumentParser` of a program, and its docstring."""
    module = import_program(PROGRAMS[program][0])
    return module.make_parser(*kind), inspect.getdoc(module)


def page(program):
    """Returns the page of a program: its docstring, and its options in groups."""
    kinds = [("attention",), ("positions",), ("curves",)] if program == "plot" else [()]
    title, lines = f"tfreps {program}", []
    for kind in kinds:
        parser, doc = parser_of(program, *kind)
        for number, group in enumerate(parser._action_groups):
            actions = [a for a in group._group_actions if a.help != argparse.SUPPRESS]
            if not actions:
                continue
            name = {"options": "General options", "positional arguments": "Arguments"}.get(
                group.title, (group.title or f"Group {number}").capitalize()
            )
            name = " ".join([*kind, name])
            lines += [name, "-" * len(name), ""]
            if group.description:
                lines += [escaped(group.description), ""]
            for action in actions:
                lines += option(action, parser.formatter_class(parser.prog)._expand_help(action))
        if parser.epilog:
            name = " ".join([*kind, "Examples"])
            lines += [name, "-" * len(name), "", ".. code-block:: bash", ""]
            lines += [f"    {line}".rstrip() for line in parser.epilog.strip().splitlines()[1:]]
            lines.append("")
    if reads_config(program):
        flags = [flag for flag in parser._option_string_actions if flag.startswith("--")]
        flag = next((flag for flag in flags if "-" in flag[2:]), flags[-1])
        doc += f"\n\n{CONFIG.format(flag[2:].replace('-', '_'), flag)}{recipes(program)}"
    return "\n".join([title, "=" * len(title), "", *docstring(doc), "", *lines, ""])


def reads_config(program):
    """Returns True if the options of a program can be read from a file."""
    module = import_program(PROGRAMS[program][0])
    return hasattr(module, "parse_options") or hasattr(module, "training_program")


def recipes(program):
    """Returns the sentence about the files of options that a program accepts by name."""
    folder = getattr(import_program(PROGRAMS[program][0]), "RECIPES", None)
    names = [f"``{path.stem}``" for path in sorted(folder.glob("*.json"))] if folder else []
    return f" Instead of a file, it accepts these recipes: {', '.join(names)}." if names else ""


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


def option(action, about):
    """Returns an option as a definition: its flags with the name of their value, and its help."""
    value = ""
    if action.nargs != 0:
        value = argparse.HelpFormatter("")._format_args(
            action, (action.metavar or action.dest).upper() if action.option_strings else ""
        )
    if action.choices and not action.metavar:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    flags = [f"``{flag} {value}``" if value else f"``{flag}``" for flag in action.option_strings]
    head = ", ".join(flags) or f"``{action.metavar or action.dest}``"
    return [head, f"    {escaped(about) or '..'}", ""]


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
    lines += ["Most programs also read options from a file with ``--config FILE.json``; flags"]
    lines += ["override it.", ""]
    lines += [".. list-table::", "   :widths: 30 70", ""]
    for name, (_, about) in PROGRAMS.items():
        lines += [f"   * - :doc:`{name}`", f"     - {about.replace('->', 'to')}"]
    lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {name}" for name in PROGRAMS), ""]
    return "\n".join(lines)
