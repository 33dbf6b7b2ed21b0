"""Runs the code on Markdown pages while they are built, and shows its output.

    ```{run-python}      Python; one namespace for a page
    ```{run-command}     lines that begin with `tfreps`, each run as a command

All blocks of a page run in one temporary folder, with all seeds set. `:hide-output:` runs a block
without showing its output, and `:hide:` without showing the block either. Code that cannot run here
(old libraries, other machines) is in an ordinary block. The functions above the directives do not
need Sphinx: tests/docs/ runs the same blocks with them.
"""

import ast
import contextlib
import io
import os
import random
import re
import shlex
import tempfile

BLOCK = re.compile(
    r"^```\{(run-python|run-command)\}\n((?::[\w-]+:[^\n]*\n)*)(.*?)^```$", re.M | re.S
)


def blocks(text):
    """Returns `[(kind, code, line number)]` of the blocks of a page that run."""
    return [
        (found[1], found[3], text[: found.start(3)].count("\n") + 1)
        for found in BLOCK.finditer(text)
    ]


class PageSession:
    """Session that runs the blocks of one page, one after another.

    Args:
        page: str. Name of the page, for tracebacks.
    """

    def __init__(self, page):
        self.page = page
        self.folder = tempfile.TemporaryDirectory(prefix="tfreps-docs-")
        self.namespace = {"__name__": "__main__"}
        self.seeded = False

    def run(self, kind, code, line=1):
        """Runs a block and returns its output, with the value of its last line as in a notebook.

        Args:
            kind: "run-python" or "run-command".
            code: str.
            line: int. Line number of the block on its page.

        Returns:
            list of `(command or None, output)`.
        """
        before = os.getcwd()
        os.chdir(self.folder.name)
        try:
            if not self.seeded:
                self.seed()
            if kind == "run-python":
                return [(None, self.run_python(code, line))]
            return [self.run_command(command) for command in commands(code)]
        finally:
            os.chdir(before)

    def seed(self):
        """Sets all seeds, once per page."""
        import keras

        random.seed(0)
        keras.utils.set_random_seed(1)
        self.seeded = True

    def run_python(self, code, line):
        tree = ast.parse("\n" * (line - 1) + code, self.page)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, self.page, "exec"), self.namespace)
            value = eval(compile(last, self.page, "eval"), self.namespace) if last else None
            if value is not None:
                print(repr(value))
        return printed.getvalue()

    def run_command(self, command):
        from tfreps.__main__ import main

        printed = io.StringIO()
        errors = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            code = main(shlex.split(command, comments=True)[1:])
        if code:
            raise RuntimeError(f"{self.page}: {command} exited with {code}: {errors.getvalue()}")
        return command, printed.getvalue()


def commands(code):
    """Returns the commands of a block: lines that begin with `tfreps`, joined at backslashes."""
    lines = re.sub(r"\\\n\s*", "", code).splitlines()
    return [line for line in lines if line.startswith("tfreps ")]


def setup(app):
    from docutils import nodes
    from docutils.parsers.rst import directives
    from sphinx.util.docutils import SphinxDirective

    class RunBlock(SphinxDirective):
        """A block of code that runs, followed by its output."""

        has_content = True
        option_spec = {"hide-output": directives.flag, "hide": directives.flag}

        def run(self):
            sessions = self.env.temp_data.setdefault("tfreps-session", {})
            session = sessions.setdefault(self.env.docname, PageSession(self.env.docname))
            code = "\n".join(self.content)
            language = "python" if self.name == "run-python" else "bash"
            results = session.run(self.name, code, self.lineno)
            if "hide" in self.options:
                return []
            shown = [nodes.literal_block(code, code, language=language)]
            output = "".join(text for _, text in results).rstrip()
            output = output.replace(session.folder.name + "/", "")
            if output and "hide-output" not in self.options:
                block = nodes.literal_block(output, output, language="none")
                block["classes"].append("output")
                shown.append(block)
            return shown

    app.add_directive("run-python", RunBlock)
    app.add_directive("run-command", RunBlock)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
