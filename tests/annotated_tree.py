"""Prints the tree of the files, each with the first line of its docstring: `make tree`."""

import ast
import pathlib
import subprocess

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 28  # width of the column of names

# Descriptions of folders and files without a docstring. Other folders have an __init__.py.
COMMENTS = {
    "Makefile": "Targets: install, demo, test, check, test-slow, docs, bench, tree, api, wheel",
    "pyproject.toml": "The build system and the settings of ruff and pytest",
    "training/kubernetes/": "Job, service, network, storage of training on several workers; Slurm",
    "training/kubernetes/gpu/": "A component of Kustomize: a GPU for each worker",
    "training/recipes/": "Option files of papers and articles, for `--config` of the commands",
    "serving/beam/": "Images, Job and storage of `tfreps annotate`",
    "serving/config/": "TensorFlow Serving's own options: models, batches, monitoring, a canary",
    "serving/kubernetes/": "Deployment, service, scaling and storage of TensorFlow Serving",
    "serving/page/": "The page of `tfreps serve --page`: the answers of every model",
    "tests/": "Tests by package, and checks of the whole tree",
    "docs/": "The documentation site: guides that run, pages about other libraries, reference",
    "benchmarks/peers/": "Calls of other libraries, and the packages of `make peers`",
    "benchmarks/": "Programs that measure tokens per second and the speed of the machine",
}
LEFT_OUT = ("tests/", "docs/", "training/recipes/", ".")  # described as a whole, or not at all


def tracked_files(root=CHECKOUT):
    """Returns the files that git tracks, even if another user owns the checkout."""
    command = ["git", "-c", "safe.directory=*", "ls-files"]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in found.splitlines() if (root / name).is_file()})


def comment(name, root=CHECKOUT):
    """Returns the comment on a file or, for a name that ends in a slash, on a folder."""
    if name in COMMENTS:
        return COMMENTS[name]
    path = root / name / "__init__.py" if name.endswith("/") else root / name
    if not path.is_file():
        return ""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", 1)[0].rstrip(".")


def lines(files, root=CHECKOUT):
    """Yields one line for each file and folder, the files of a folder before its subfolders."""
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
    """Returns a key that sorts the files of a folder before its subfolders."""
    *folders, last = name.rstrip("/").split("/")
    if name.endswith("/"):
        folders, last = [*folders, last], ""
    return [*((1, folder) for folder in folders), (0, last)]


if __name__ == "__main__":
    print("\n".join(lines(tracked_files())))
