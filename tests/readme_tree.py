"""Writes the annotated tree in README.md anew from the first lines of the docstrings: make tree."""

import ast
import pathlib
import subprocess
import sys

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
README = CHECKOUT / "README.md"
START, END = "<!-- tree: written by `make tree`", "<!-- end of tree -->"
WIDTH = 28  # of a name, so that the comments line up

# What has no docstring. Folders are described by their __init__.py.
COMMENTS = {
    "Makefile": "install · demo · test · check · test-slow · bench · tree · wheel · clean",
    "pyproject.toml": "The build system and the settings of ruff and pytest",
    "training/recipes/": "Option files of papers and articles, for `--config` of the programs",
    "serving/config/": "TensorFlow Serving's own options: models, batches, monitoring, a canary",
    "serving/kubernetes/": "Deployment, service, scaling and storage of TensorFlow Serving",
    "serving/page/": "The page of `tfreps serve --page`: what every model says of a sentence",
    "tests/": "A twin for every source file, and checks that walk over the whole tree",
    "docs/": "The documentation site: guides that run, pages about other libraries, reference",
    "benchmarks/": "Programs that measure: tokens per second, beside the speed of the machine",
}
LEFT_OUT = ("tests/", "docs/", "training/recipes/", ".")  # described as a whole, or not at all


def tracked_files(root=CHECKOUT):
    """Files that git knows; new ones are to be added first. Any owner of the checkout will do."""
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in found.splitlines() if (root / name).is_file()})


def comment(name, root=CHECKOUT):
    """The comment on a file or, with a slash at the end, on a folder."""
    if name in COMMENTS:
        return COMMENTS[name]
    path = root / name / "__init__.py" if name.endswith("/") else root / name
    if not path.is_file():
        return ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", 1)[0].rstrip(".")


def lines(files, root=CHECKOUT):
    """One line for each file and folder: files before folders, folders opened in place."""
    shown = [f for f in files if f.endswith(".py") and not f.startswith(LEFT_OUT)]
    shown = [f for f in shown if not f.endswith("/__init__.py")] + ["Makefile", "pyproject.toml"]
    folders = {f"{parent}/" for f in files for parent in pathlib.PurePath(f).parents}
    shown += [f for f in folders - {"./"} if f.count("/") == 1 and not f.startswith(".")]
    shown += [
        f for f in folders if f.count("/") > 1 and (f in COMMENTS or not f.startswith(LEFT_OUT))
    ]
    for name in sorted(shown, key=place):
        depth = name.rstrip("/").count("/")
        label = "  " * depth + name.rstrip("/").split("/")[-1] + "/" * name.endswith("/")
        yield f"{label:{WIDTH}}{comment(name, root)}".rstrip()


def place(name):
    """Sorts files of a folder before its subfolders, and what is in a folder below it."""
    *folders, last = name.rstrip("/").split("/")
    if name.endswith("/"):
        folders, last = [*folders, last], ""
    return [*((1, folder) for folder in folders), (0, last)]


def with_tree(readme, tree):
    """The text of README.md with another tree in it."""
    before, rest = readme.split(START, 1)
    marker, after = rest.split("-->", 1)[0], rest.split(END, 1)[1]
    block = "\n".join(["```text", *tree, "```"])
    return f"{before}{START}{marker}-->\n{block}\n{END}{after}"


def main():
    text = README.read_text(encoding="utf-8")
    README.write_text(with_tree(text, lines(tracked_files())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
