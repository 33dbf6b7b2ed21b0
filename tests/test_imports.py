"""Import rules (CONTRIBUTING.md) and other rules for the whole tree."""

import ast
import pathlib

import pytest

from tests.conftest import CHECKOUT

# Maps each package of tfreps to the other packages that its files may import, at the top of a file
# or inside a function. Subfolders belong to their package. `backend` is a single file.
MAY_IMPORT = {
    "files": set(),
    "text": {"files"},
    "layers": {"backend"},
    "data": {"files", "text"},
    "metrics": {"text"},
    "optimizers": {"layers"},
    "callbacks": {"files", "layers", "optimizers"},
    "reports": {"metrics", "text"},
    "plots": {"files"},
    "models": {"backend", "layers", "metrics", "optimizers", "text"},
    "convert": {"__init__", "files", "models"},
    "runs": {"convert", "files", "models", "optimizers", "text"},
    "presets": {"files", "models", "runs"},
    "inference": {"convert", "data", "files", "layers", "models", "presets", "runs", "text"},
    "distribute": {"callbacks", "files", "layers", "runs"},
    "export": {"files", "inference", "layers", "models", "runs", "text"},
    "server": {"files"},
    "cli": {
        "__init__",
        *("callbacks", "data", "distribute", "files", "inference", "layers", "models"),
        *("optimizers", "plots", "presets", "reports", "runs", "text"),
    },
    "backend": set(),
    "__init__": set(),
    "__main__": {"cli"},
}
PROGRAMS = ("training", "serving", "benchmarks")
LONGEST_FILE = 500
LONGEST_TEST = 500

# Source files without a test file of the same name, and the test file that covers them.
WITHOUT_TWIN = {
    "tfreps/__main__.py": "tests/test_main.py",
    # The export check runs these as plain files.
    "tfreps/export/ask_c_api.py": "tests/export/test_export_check.py",
    "tfreps/export/ask_tensorflow.py": "tests/export/test_export_check.py",
}


def sources(*folders):
    """Returns the Python files below these folders, as paths relative to the checkout."""
    return [
        path.relative_to(CHECKOUT)
        for folder in folders
        for path in sorted((CHECKOUT / folder).rglob("*.py"))
    ]


LIBRARY = sources("tfreps")
PROGRAM_FILES = sources(*PROGRAMS)


def imported_names(path, source=None):
    """Yields `(absolute name, whether inside a function)` for every import of a file."""
    tree = ast.parse((CHECKOUT / path).read_text(encoding="utf-8") if source is None else source)
    package = list(path.with_suffix("").parts[:-1])
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in inside
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                yield f"{base}.{alias.name}", id(node) in inside


def package(path):
    """Returns the package of tfreps that a file belongs to, or the name of a flat file."""
    return path.with_suffix("").parts[1]


def forbidden_imports(path, source=None):
    """Yields the imports of a library file that break the rules."""
    own = package(path)
    for name, _ in imported_names(path, source):
        root, *rest = name.split(".")
        if root in PROGRAMS or root == "argparse" and own != "cli":
            yield f"{name} (the library must not depend on programs or their flags)"
        if root != "tfreps" or rest == ["__version__"] or own == "__main__" and not rest:
            continue
        allowed = {own} | MAY_IMPORT[own]
        if not rest or rest[0] not in allowed:
            yield f"{name} ({own} may import {sorted(MAY_IMPORT[own]) or 'nothing'})"


@pytest.mark.parametrize("path", LIBRARY, ids=str)
def test_imports_point_down(path):
    assert list(forbidden_imports(path)) == []


@pytest.mark.parametrize(
    "file, source, fine",
    [
        ("tfreps/layers/crf.py", "from tfreps.layers.ops import chain", True),
        ("tfreps/layers/crf.py", "from .ops import chain", True),
        ("tfreps/layers/crf.py", "from .. import text", False),
        ("tfreps/layers/crf.py", "from ..text import vocabulary", False),
        ("tfreps/layers/crf.py", "import tfreps", False),
        ("tfreps/layers/crf.py", "def f():\n    import tfreps.text", False),
        ("tfreps/models/bilm.py", "from tfreps.convert import bilm_tf", False),
        ("tfreps/data/labelled/splits.py", "import tfreps.models.tagger", False),
        ("tfreps/plots/canvas.py", "import argparse", False),
        ("tfreps/cli/options.py", "import argparse", True),
        ("tfreps/plots/canvas.py", "def f():\n    import matplotlib", True),
        ("tfreps/export/notes.py", "import training.embed", False),
    ],
)
def test_the_rule_itself(file, source, fine):
    assert (not list(forbidden_imports(pathlib.Path(file), source))) == fine


def module_name(path):
    """Returns the module name, such as `tfreps.layers.crf`; a package for `__init__.py`."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def import_arrows(paths=LIBRARY, sources=None):
    """Returns `{module: modules that it imports}`, including imports inside functions."""
    modules = {module_name(path): path for path in paths}
    arrows = {}
    for module, path in modules.items():
        arrows[module] = set()
        for name, _ in imported_names(path, (sources or {}).get(module)):
            while name and name not in modules:
                name = name.rpartition(".")[0]
            if name not in ("", "tfreps", module):
                arrows[module].add(name)
    return arrows


def folder_arrows(arrows, paths=LIBRARY):
    """Returns the imports between folders, without those of a package from its subfolders.

    A flat file in `tfreps/` counts as a folder.
    """
    folders = {
        module_name(path): (path.parent if len(path.parts) > 2 else path).as_posix()
        for path in paths
    }
    inits = {module_name(path) for path in paths if path.name == "__init__.py"}
    found = {folder: set() for folder in folders.values()}
    for module, targets in arrows.items():
        own = folders[module]
        others = {folders[target] for target in targets} - {own}
        if module in inits:
            others = {other for other in others if not other.startswith(own + "/")}
        found[own] |= others
    return found


def circles(arrows):
    """Returns the sets of nodes that can reach each other; empty if there is no cycle."""
    reached = {}
    for start in arrows:
        seen, new = set(), {start}
        while new:
            new = set().union(*(arrows.get(node, ()) for node in new)) - seen
            seen |= new
        reached[start] = seen
    found = {frozenset(b for b in reached[a] if a in reached[b]) for a in arrows if a in reached[a]}
    return sorted(sorted(each) for each in found)


def test_no_circle_of_files():
    assert circles(import_arrows()) == []


def test_no_circle_of_packages():
    assert circles(folder_arrows(import_arrows())) == []


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    paths = [pathlib.Path("tfreps/layers", name) for name in ("__init__.py", "a.py", "ops/b.py")]
    sources = {
        "tfreps.layers": "from tfreps.layers.a import A\nfrom tfreps.layers.ops.b import B",
        "tfreps.layers.a": "from tfreps.layers.ops import b",
        "tfreps.layers.ops.b": "def f():\n    from tfreps.layers.a import A",
    }
    arrows = import_arrows(paths, sources)
    assert circles(arrows) == [["tfreps.layers.a", "tfreps.layers.ops.b"]]
    assert circles(folder_arrows(arrows, paths)) == [["tfreps/layers", "tfreps/layers/ops"]]
    sources["tfreps.layers.ops.b"] = ""
    assert circles(folder_arrows(import_arrows(paths, sources), paths)) == []


def reached_from(module):
    """Returns the modules of tfreps that are imported by importing one of them."""
    found, new = set(), {module}
    while new:
        found |= new
        names = set()
        for name in new:
            path = pathlib.Path(*name.split("."))
            is_package = (CHECKOUT / path / "__init__.py").is_file()
            path = path / "__init__.py" if is_package else path.with_suffix(".py")
            if (CHECKOUT / path).is_file():
                names |= {n for n, is_inside in imported_names(path) if not is_inside}
        new = {part for n in names if n.startswith("tfreps.") for part in (n, n.rpartition(".")[0])}
        new -= found
    return found


def test_importing_the_models_registers_all_that_a_saved_model_may_name():
    registers = "@keras.saving.register_keras_serializable"
    files = [p for p in LIBRARY if f"\n{registers}" in (CHECKOUT / p).read_text(encoding="utf-8")]
    names = {module_name(path) for path in files}
    assert len(names) > 30 and names <= reached_from("tfreps.models")


def shared_by_benchmarks(path):
    """Returns True for a file of benchmarks/ that is not a program but shared code."""
    return path.parts[0] == "benchmarks" and "\ndef main(" not in (CHECKOUT / path).read_text()


@pytest.mark.parametrize("path", PROGRAM_FILES, ids=str)
def test_programs_import_the_library_only(path):
    """Programs work as `training.x` and, after installation, as `tfreps.training.x`."""
    shared = {f.stem for f in sources("benchmarks") if shared_by_benchmarks(f)}
    for name, _ in imported_names(path):
        folder, *rest = name.removeprefix("tfreps.").split(".")
        if path.parts[0] == folder == "benchmarks" and rest and rest[0] in shared:
            continue
        assert folder not in PROGRAMS, f"{path} imports {name}"


@pytest.mark.parametrize("path", sources("training", "serving"), ids=str)
def test_programs_define_no_classes(path):
    tree = ast.parse((CHECKOUT / path).read_text(encoding="utf-8"))
    assert [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] == []


@pytest.mark.parametrize("path", LIBRARY + sources("training", "serving"), ids=str)
def test_nothing_depends_on_asserts_or_docstrings(path):
    """Python removes them with -O and -OO; `first_line` accepts `None` as a docstring."""
    source = (CHECKOUT / path).read_text(encoding="utf-8")
    for fine in ("first_line(__doc__)", '(__doc__ or "")'):
        source = source.replace(fine, "None")
    tree = ast.parse(source)
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)] == []
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "__doc__" not in names


def test_the_folder_mapping_is_not_shadowed():
    for folder in PROGRAMS:
        assert not (CHECKOUT / "tfreps" / folder).exists(), "setup.py maps these folders"


def twin(path):
    """Returns the test file of a source file."""
    folders = path.parts[1:-1] if path.parts[0] == "tfreps" else path.parts[:-1]
    return pathlib.Path("tests", *folders, f"test_{path.name}")


@pytest.mark.parametrize(
    "path", [p for p in LIBRARY + PROGRAM_FILES if p.name != "__init__.py"], ids=str
)
def test_every_file_has_a_twin_test(path):
    expected = WITHOUT_TWIN.get(path.as_posix(), twin(path).as_posix())
    assert (CHECKOUT / expected).is_file(), f"{path} has no test {expected}"


@pytest.mark.parametrize("path", LIBRARY + PROGRAM_FILES + sources("tests"), ids=str)
def test_files_are_short(path):
    longest = LONGEST_TEST if path.parts[0] == "tests" else LONGEST_FILE
    assert (CHECKOUT / path).read_text(encoding="utf-8").count("\n") <= longest


@pytest.mark.parametrize("path", LIBRARY + PROGRAM_FILES, ids=str)
def test_files_say_what_they_are(path):
    """The first line of the docstring appears in the annotated tree."""
    text = ast.get_docstring(ast.parse((CHECKOUT / path).read_text(encoding="utf-8"))) or ""
    assert text.splitlines()[:1], f"{path} has no docstring"


def test_test_folders_are_packages_all_of_them():
    folders = {path.parent for path in sources("tests")}
    assert [str(f) for f in folders if not (CHECKOUT / f / "__init__.py").is_file()] == []


def test_no_utils():
    vague = {"utils", "util", "common", "helpers", "helper", "misc"}
    assert [str(p) for p in LIBRARY + PROGRAM_FILES if p.stem in vague] == []
