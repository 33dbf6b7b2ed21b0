"""Runs the code on Markdown pages before they are built, and shows its output and its figures.

    ```{run-python}      Python; one namespace for a page
    ```{run-command}     lines that begin with `tfreps`, each run as a command

All blocks of a page run in one temporary folder, with all seeds set. `:hide-output:` runs a block
without showing its output, `:hide:` without showing the block either, and `:figure: TEXT` describes
the figures that a block draws with matplotlib. The code of a block with `:from: FILE NAME ...` is
that of these functions, classes or constants of by_hand/FILE.
Code that cannot run here (old libraries, other machines) is in an ordinary block. Two processes run
the pages, and each takes the next page when it has finished one; what they write is in images/run.
The functions above the directive do not need Sphinx: tests/docs/ runs the same blocks with them.

    python docs/_ext/page_code.py docs FOLDER guides/crf howto/resume    # runs two pages
"""

import ast
import contextlib
import io
import json
import logging
import os
import pathlib
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback

BLOCK = re.compile(
    r"^```\{(run-python|run-command)\}\n((?::[\w-]+:[^\n]*\n)*)(.*?)^```$", re.M | re.S
)
INCLUDED = re.compile(r"^:from: (.+)$", re.M)
BY_HAND = pathlib.Path(__file__).parents[1] / "by_hand"
FOLDER = "images/run"
OUTPUTS = "outputs.json"
NUM_PROCESSES = 2
NARROW = 1000  # pixels of a PNG; the text of a wider figure is too small on a phone


def blocks(text):
    """Returns `[(kind, code, line number)]` of the blocks of a page that run."""
    return [
        (found[1], code_of(found[2], found[3]), text[: found.start(3)].count("\n") + 1)
        for found in BLOCK.finditer(text)
    ]


def code_of(options, content):
    """Returns the code of a block: its content, or the code that its options name."""
    included = INCLUDED.search(options)
    return from_file(*included[1].split()) if included else content


def from_file(file, *names):
    """Returns the code of the given functions, classes and constants of a file of by_hand/."""
    text = (BY_HAND / file).read_text(encoding="utf-8")
    parts = {}  # name -> code of a statement
    for part in ast.parse(text).body:
        target = part.targets[0] if isinstance(part, ast.Assign) else part
        name = getattr(target, "name", getattr(target, "id", None))
        parts[name] = ast.get_source_segment(text, part)
    return "\n\n\n".join(parts[name] for name in names) + "\n"


class PageSession:
    """Session that runs the blocks of one page, one after another.

    Args:
        page: str. Name of the page, for tracebacks.
        figures: str or None. Folder of the figures; by default, they are not saved.
    """

    def __init__(self, page, figures=None):
        self.page = page
        self.figures = figures and os.path.abspath(figures)
        self.num_figures, self.shown = 0, []
        self.folder = tempfile.TemporaryDirectory(prefix="tfreps-docs-")
        self.namespace = {"__name__": "page"}
        self.seeded = False

    def run(self, kind, code, line=1):
        """Runs a block and returns its output, with the value of its last line as in a notebook.

        Args:
            kind: "run-python" or "run-command".
            code: str.
            line: int. Line number of the block on its page.

        Returns:
            str, and the list of the file names of its figures.
        """
        before = os.getcwd()
        os.chdir(self.folder.name)
        try:
            if not self.seeded:
                self.seed()
            if kind == "run-python":
                output = self.run_python(code, line)
            else:
                output = "".join(self.run_command(command) for command in commands(code))
            return output.replace(self.folder.name + "/", ""), self.save_figures()
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
            if hasattr(value, "savefig"):
                self.shown.append(value)
            elif value is not None:
                print(repr(value))
        return printed.getvalue()

    def run_command(self, command):
        from tfreps.__main__ import main

        # Unlike StringIO, these have the attribute `buffer`.
        printed = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        errors = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            code = main(shlex.split(command, comments=True)[1:])
        if code:
            told = errors.buffer.getvalue().decode()
            raise RuntimeError(f"{self.page}: {command} exited with {code}: {told}")
        return printed.buffer.getvalue().decode()

    def save_figures(self):
        """Saves and closes the figures of a block; returns their file names."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot:
            self.shown += [pyplot.figure(number) for number in pyplot.get_fignums()]
            pyplot.close("all")
        names = []
        for figure in dict.fromkeys(self.shown):
            self.num_figures += 1
            names.append(f"{self.num_figures}.png")
            if self.figures:
                figure.savefig(os.path.join(self.figures, names[-1]), dpi=160)
        self.shown = []
        return names


def commands(code):
    """Returns the commands of a block: lines that begin with `tfreps`, joined at backslashes."""
    lines = re.sub(r"\\\n\s*", "", code).splitlines()
    return [line for line in lines if line.startswith("tfreps ")]


def run_page(page, text, folder):
    """Runs the blocks of a page and writes their outputs to a folder, up to the first error."""
    import numpy as np

    session, outputs = PageSession(page, folder), []
    with session.folder, np.printoptions():  # the next page has the default options again
        for kind, code, line in blocks(text):
            try:
                output, figures = session.run(kind, code, line)
                outputs.append({"output": output.rstrip(), "figures": figures})
            except BaseException:
                outputs.append({"error": traceback.format_exc()})
                break
    pathlib.Path(folder, OUTPUTS).write_text(json.dumps(outputs), encoding="utf-8")


def main(argv):
    """Runs those of the given pages that no other process runs."""
    import keras

    source, target, *pages = argv
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # warns about many traces
    for page in pages:
        folder = pathlib.Path(target, page)
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        run_page(page, pathlib.Path(source, f"{page}.md").read_text(encoding="utf-8"), folder)
        keras.backend.clear_session()


def run_pages(app, env, docnames):
    """Runs the pages that are about to be read, those with the most commands first."""
    pages = {}
    for name in docnames:
        path = pathlib.Path(app.srcdir, f"{name}.md")
        found = blocks(path.read_text(encoding="utf-8")) if path.exists() else []
        if found:
            pages[name] = sum(10 if kind == "run-command" else 1 for kind, _, _ in found)
            shutil.rmtree(app.srcdir / FOLDER / name, ignore_errors=True)
    command = [sys.executable, __file__, str(app.srcdir), str(app.srcdir / FOLDER)]
    command += sorted(pages, key=pages.get, reverse=True)
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    environment["PYTHONPATH"] = str(app.srcdir.parent)
    processes = [
        subprocess.Popen(command, env=environment) for _ in range(NUM_PROCESSES if pages else 0)
    ]
    for process in processes:
        if process.wait():
            raise RuntimeError(f"{' '.join(command)} exited with {process.returncode}")


def setup(app):
    from docutils import nodes
    from docutils.parsers.rst import directives
    from sphinx.util.docutils import SphinxDirective

    class RunBlock(SphinxDirective):
        """A block of code that runs, followed by its output and its figures."""

        has_content = True
        option_spec = {
            "hide": directives.flag,
            "hide-output": directives.flag,
            "figure": directives.unchanged_required,
            "from": directives.unchanged_required,
        }

        def run(self):
            page = self.env.docname
            counts = self.env.temp_data.setdefault("tfreps-blocks", {})
            number = counts[page] = counts.get(page, -1) + 1
            path = pathlib.Path(self.env.srcdir, FOLDER, page, OUTPUTS)
            outputs = json.loads(path.read_text(encoding="utf-8"))
            found = outputs[number] if number < len(outputs) else {"error": "not reached"}
            if "error" in found:
                raise self.error(found["error"])
            code = "\n".join(self.content)
            if "from" in self.options:
                code = from_file(*self.options["from"].split())
            language = "python" if self.name == "run-python" else "bash"
            if "hide" in self.options:
                return []
            shown = [nodes.literal_block(code, code, language=language)]
            if found["output"] and "hide-output" not in self.options:
                block = nodes.literal_block(found["output"], found["output"], language="none")
                block["classes"].append("output")
                shown.append(block)
            if found["figures"] and "figure" not in self.options:
                raise self.error("The block draws a figure; describe it by :figure: TEXT.")
            for name in found["figures"]:
                uri = f"/{FOLDER}/{page}/{name}"
                alt = self.options["figure"]
                width = int.from_bytes(path.with_name(name).read_bytes()[16:20], "big")
                classes = ["plotted", "wide"] if width > NARROW else ["plotted"]
                image = nodes.image("", uri=uri, alt=alt, classes=classes)
                shown.append(nodes.container("", image, classes=["plotted"]))
            return shown

    app.add_directive("run-python", RunBlock)
    app.add_directive("run-command", RunBlock)
    app.connect("env-before-read-docs", run_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    main(sys.argv[1:])
