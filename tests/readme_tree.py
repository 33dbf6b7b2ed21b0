"""Updates the annotated tree in README.md from the docstrings (make tree)."""

import ast
import pathlib
import subprocess
import sys

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
README = CHECKOUT / "README.md"
START, END = "<!-- tree: written by `make tree`", "<!-- end of tree -->"
WIDTH = 28  # width of a name, so that the comments are aligned

# Files and folders without a docstring. Other folders are described by their __init__.py.
COMMENTS = {
    "Makefile": "install · demo · test · check · test-slow · bench · tree · wheel · clean",
    "pyproject.toml": "The build system and the settings of ruff and pytest",
    "training/recipes/": "Option files of papers and articles, for `--config` of the programs",
    "serving/config/": "TensorFlow Serving's own options: models, batches, monitoring, a canary",
    "serving/kubernetes/": "Deployment, service, scaling and storage of TensorFlow Serving",
    "serving/page/": "The page of `tfreps serve --page`: the output of each model for a sentence",
    "tests/": "A test file for every source file, and checks of the whole tree",
    "benchmarks/": "Programs that measure speed and quality, and the speed of the machine",
}
LEFT_OUT = ("tests/", "training/recipes/", ".")  # described as a whole or omitted


def tracked_files(root=CHECKOUT):
    """Returns the files tracked by git, whoever owns the checkout. Add new files first."""
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in found.splitlines() if (root / name).is_file()})


def comment(name, root=CHECKOUT):
    """Returns the comment on a file, or on a folder if the name ends with a slash."""
    if name in COMMENTS:
        return COMMENTS[name]
    path = root / name / "__init__.py" if name.endswith("/") else root / name
    if not path.is_file():
        return ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", 1)[0].rstrip(".")


def lines(files, root=CHECKOUT):
    """Yields one line per file and folder: files first, and each folder with its contents."""
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
    """Returns a sort key: files of a folder before its subfolders, contents below a folder."""
    *folders, last = name.rstrip("/").split("/")
    if name.endswith("/"):
        folders, last = [*folders, last], ""
    return [*((1, folder) for folder in folders), (0, last)]


def with_tree(readme, tree):
    """Returns the text of README.md with another tree."""
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
