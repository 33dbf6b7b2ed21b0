"""Import rules of CONTRIBUTING.md: who imports whom, by package, and no circles."""

import ast
import graphlib
import pathlib

import pytest

from tests.conftest import CHECKOUT

# Maps each package of tfreps/_src to the other packages that its files may import, at the top of a
# file or inside a function. Subfolders belong to their package. `addresses`, `backend` and
# `loading` are single files. The rows below `cli` are those of the wings.
MAY_IMPORT = {
    "files": set(),
    "text": {"files"},
    "layers": {"backend", "files"},
    "data": {"files", "text"},
    "metrics": {"files", "text"},
    "optimizers": {"files", "layers"},
    "callbacks": {"files", "layers", "optimizers"},
    "reports": {"files", "metrics", "text"},
    "plots": {"files"},
    "models": {"backend", "files", "layers", "metrics", "optimizers", "text"},
    "convert": {"files", "models", "text"},
    "presets": {"files"},
    "runs": {"convert", "files", "models", "optimizers", "presets", "text"},
    "inference": {"convert", "data", "files", "layers", "models", "presets", "runs", "text"},
    "export": {"files", "inference", "layers", "models", "presets", "runs", "text"},
    "loading": {"export", "inference"},
    "cli": {"addresses", "data", "files", "text"},
    "addresses": set(),
    "backend": set(),
    "__init__": set(),
}
# Maps each package of a wing to the other packages of the wing that its files may import. A wing
# imports the library, and never the other wing.
WINGS = {
    "training": {
        "workers": set(),
        "loop": {"workers"},
        "inputs": set(),
        "options": {"loop", "workers"},
    },
    "serving": {"server": set(), "annotation": set(), "options": set()},
}
PROGRAMS = (*WINGS, "benchmarks")


def sources(*folders):
    """Returns the Python files below these folders, as paths relative to the checkout."""
    return [
        path.relative_to(CHECKOUT)
        for folder in folders
        for path in sorted((CHECKOUT / folder).rglob("*.py"))
    ]


def read(path):
    return (CHECKOUT / path).read_text(encoding="utf-8")


LIBRARY = sources("tfreps/_src")
STUBS = [path.relative_to(CHECKOUT) for path in sorted((CHECKOUT / "tfreps").glob("*.pyi"))]
COMMANDS = [path for path in sources(*WINGS) if len(path.parts) == 2]
PACKAGES = [path for path in sources(*WINGS) if len(path.parts) > 2]


def module_name(path):
    """Returns the module name, such as `tfreps._src.layers.crf`; a package for `__init__.py`."""
    parts = path.with_suffix("").parts
    return ".".join(["tfreps"] * (parts[0] in WINGS) + [*parts]).removesuffix(".__init__")


def imported_names(path, source=None, at_the_top=False):
    """Yields the absolute name of every import of a file, or only of those outside functions.

    Imports below `if TYPE_CHECKING:`, which only type checkers read, are left out.
    """
    package = list(path.with_suffix("").parts[:-1])
    nodes = [ast.parse(read(path) if source is None else source)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        if not (at_the_top and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
            nodes += ast.iter_child_nodes(node)


def forbidden_imports(path, source=None):
    """Yields the imports of a library file that break the rules."""
    own = path.with_suffix("").parts[2]
    allowed = {own} | MAY_IMPORT[own]
    for name in imported_names(path, source):
        root, *rest = name.split(".")
        if root in PROGRAMS or root == "argparse" and own != "cli":
            yield f"{path} imports {name} (the library must not depend on programs or their flags)"
        if root != "tfreps" or rest == ["__version__"]:
            continue
        if rest[:1] != ["_src"] or len(rest) < 2 or rest[1] not in allowed:
            yield f"{path} imports {name} ({own} may import {sorted(MAY_IMPORT[own]) or 'nothing'})"


def forbidden_in_wings(path, source=None):
    """Yields the imports of a file of `training/` or `serving/` that break the rules."""
    wing, *inside = path.parts[:-1]
    allowed = {inside[0]} | WINGS[wing][inside[0]] if inside else {*WINGS[wing]}
    for name in imported_names(path, source):
        root, *rest = name.removeprefix("tfreps.").split(".")
        if root == "argparse" or name.split(".")[0] in PROGRAMS:
            yield f"{path} imports {name} (options are in tables; wings are named tfreps.{wing})"
        elif root in PROGRAMS and (root != wing or rest[0] not in allowed):
            yield f"{path} imports {name} (it may import {sorted(allowed)} of tfreps.{wing})"


def test_imports_point_down():
    assert [line for path in LIBRARY for line in forbidden_imports(path)] == []
    wings = COMMANDS + PACKAGES
    assert [line for path in wings for line in forbidden_in_wings(path)] == []


@pytest.mark.parametrize(
    "file, source, fine",
    [
        ("tfreps/_src/layers/crf.py", "from tfreps._src.layers.ops import chain", True),
        ("tfreps/_src/layers/crf.py", "from .. import text", False),
        ("tfreps/_src/layers/crf.py", "import tfreps", False),
        ("tfreps/_src/layers/crf.py", "from tfreps.layers import BiLSTM", False),
        ("tfreps/_src/layers/crf.py", "from tfreps import __version__", True),
        ("tfreps/_src/layers/crf.py", "def f():\n    import tfreps.text", False),
        ("tfreps/_src/plots/canvas.py", "import argparse", False),
        ("tfreps/_src/export/notes.py", "import training.embed", False),
    ],
)
def test_the_rule_itself(file, source, fine):
    assert (not list(forbidden_imports(pathlib.Path(file), source))) == fine


@pytest.mark.parametrize(
    "file, source, fine",
    [
        ("training/embed.py", "from tfreps.training.options import labeling", True),
        ("training/embed.py", "from tfreps.training import tag", False),
        ("training/embed.py", "from training.options import labeling", False),
        ("training/loop/a.py", "from tfreps._src.models.bert import BertEncoder", True),
        ("training/loop/a.py", "import tfreps.training.options.labeling", False),
        ("training/loop/a.py", "def f():\n    from tfreps.serving.server import rest", False),
        ("serving/serve.py", "import argparse", False),
    ],
)
def test_the_rule_of_wings(file, source, fine):
    assert (not list(forbidden_in_wings(pathlib.Path(file), source))) == fine


def test_public_modules_list_names_of_the_private_package_with_their_name():
    """For example, `tfreps/layers.pyi` lists names of `tfreps._src.layers`."""
    for path in STUBS:
        own = {"__init__": "", "tags": "text"}.get(path.stem, path.stem)
        for name in imported_names(path):
            if name.startswith("tfreps._src"):
                assert name.startswith(f"tfreps._src.{own}"), f"{path} imports {name}"


def import_arrows(modules, sources=None, at_the_top=False):
    """Returns `{module: modules that it imports}` for a dict of modules and their files."""
    arrows = {}
    for module, path in modules.items():
        arrows[module] = set()
        for name in imported_names(path, (sources or {}).get(module), at_the_top):
            while name and name not in modules:
                name = name.rpartition(".")[0]
            if name not in ("", "tfreps", module):
                arrows[module].add(name)
    return arrows


def folder_arrows(arrows, modules):
    """Returns the imports between folders, without those of a package from its subfolders.

    A flat file in `tfreps/_src/` counts as a folder.
    """
    folders = {
        module: (path.parent if len(path.parts) > 3 else path).as_posix()
        for module, path in modules.items()
    }
    found = {folder: set() for folder in folders.values()}
    for module, targets in arrows.items():
        own = folders[module]
        others = {folders[target] for target in targets} - {own}
        if modules[module].name == "__init__.py":
            others = {other for other in others if not other.startswith(own + "/")}
        found[own] |= others
    return found


def circle(arrows):
    """Returns the nodes of a cycle, or `None` if there is no cycle."""
    try:
        graphlib.TopologicalSorter(arrows).prepare()
    except graphlib.CycleError as error:
        return error.args[1]


MODULES = {module_name(path): path for path in LIBRARY + PACKAGES}


def test_no_circle_of_files_or_folders():
    arrows = import_arrows(MODULES)
    assert circle(arrows) is None
    assert circle(folder_arrows(arrows, MODULES)) is None


def test_circles_are_found():
    layers = pathlib.Path("tfreps/_src/layers")
    modules = {module_name(layers / n): layers / n for n in ("__init__.py", "a.py", "ops/b.py")}
    top = "tfreps._src.layers"
    sources = {
        top: f"from {top}.a import A\nfrom {top}.ops.b import B",
        f"{top}.a": f"from {top}.ops import b",
        f"{top}.ops.b": f"def f():\n    from {top}.a import A",
    }
    arrows = import_arrows(modules, sources)
    assert set(circle(arrows)) == {f"{top}.a", f"{top}.ops.b"}
    folders = {str(layers), str(layers / "ops")}
    assert set(circle(folder_arrows(arrows, modules))) == folders
    sources[f"{top}.ops.b"] = ""
    assert circle(folder_arrows(import_arrows(modules, sources), modules)) is None


def test_importing_the_models_registers_all_that_a_saved_model_may_name():
    registers = "\n@keras.saving.register_keras_serializable"
    names = {module for module, path in MODULES.items() if registers in read(path)}
    arrows = import_arrows(MODULES, at_the_top=True)
    reached, new = set(), {"tfreps._src.models.saved_classes"}
    while new:
        reached |= new
        parents = {module.rpartition(".")[0] for module in new} & {*MODULES}
        new = set().union(parents, *(arrows[module] for module in new)) - reached
    assert len(names) > 30 and names <= reached


def test_benchmarks_import_no_other_benchmark():
    """They may share a file of benchmarks/ that has no `main`."""
    files = [path for path in sources("benchmarks") if "\ndef main(" not in read(path)]
    shared = tuple(f"{'.'.join(path.with_suffix('').parts)}." for path in files)
    wrong = []
    for path in sources("benchmarks"):
        for name in imported_names(path):
            folder = name.partition(".")[0]
            if folder in WINGS or folder == "benchmarks" and not f"{name}.".startswith(shared):
                wrong.append(f"{path} imports {name}")
    assert wrong == []


def test_commands_define_no_classes():
    assert [str(p) for p in COMMANDS if "\nclass " in read(p)] == []


def test_the_folder_mapping_is_not_shadowed():
    for folder in PROGRAMS:
        assert not (CHECKOUT / "tfreps" / folder).exists(), "setup.py maps these folders"
