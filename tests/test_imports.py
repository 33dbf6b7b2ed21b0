"""Who imports whom (CONTRIBUTING.md), and the other rules that only the whole tree can break."""

import ast
import collections
import pathlib

import pytest

from tests.conftest import CHECKOUT

# Module or folder of tfreps -> what else of tfreps it may import. `layers` and `text` are the
# foundations, and all may import `output_files`. A module that is not named here may import
# nothing else of ours.
OF_RUNS = "model_archive", "run_assets", "run_lock"
MAY_IMPORT = {
    "layers": {"backend"},
    "text": set(),
    "models": {"layers", "text", "metrics", "optimizers", "schedules", "backend"},
    "data": {"hdf5_files", "text"},
    "metrics": {"text"},
    "reports": {"text"},
    "callbacks": {"checkpoint", "optimizers", "stop_signals"},
    "fitting": {"callbacks", "optimization", "optimizers", "program_options", "stop_signals"},
    "optimization": {"optimizers", "program_options", "schedules"},
    "encoders": {"models", "program_options"},
    "elmo_options": {"program_options"},
    "evaluation": {"metrics", "reports"},
    "inputs": {"models", "pretrained", "pretrained_encoder", "program_options", "text"},
    "text_streams": {"text"},
    "text_model": {
        *("data", "models", "pretrained_bert", "pretrained_encoder", "run_folder", "text"),
    },
    "convert": {"hdf5_files", "models"},
    "embeddings_file": {"hdf5_files"},
    "run_folder": {"models", "text", "layers", "program_options", *OF_RUNS},
    "run_assets": {"program_options"},
    # What is served: text -> ids -> model -> named outputs.
    "token_reader": {"text"},
    "scoring": {"layers"},
    "signatures": {
        *("models", "text", "token_reader", "scoring", "pretrained"),
        *("string_signatures", "stored_weights"),
    },
    "string_signatures": {"saved_model", "text"},
    "text_signatures": {"text", "string_signatures", "explanations", "stored_weights"},
    "bert_signatures": {
        *("models", "pretrained_encoder", "text", "string_signatures", "explanations"),
        "stored_weights",
    },
    "explanations": {"models"},
    "server": {"versions"},
    "exports": {"saved_model", "versions"},  # what is served, and what stands beside it
    "pretrained": {"models", "run_folder", "text"},  # a model from wherever it was saved
    "pretrained_encoder": {"models", "pretrained_bert", "run_folder", "text"},
    "attention_reader": {
        *("layers", "models", "pretrained_bert", "pretrained_encoder", "run_folder", "text"),
        "text_model",
    },
    "pretrained_bert": {"models", "run_folder", "text"},
    "sentence_encoder": {"layers", "text"},  # many sentences -> vectors
    "bert_runs": {
        *("convert", "models", "pretrained_bert", "pretrained_encoder", "run_folder", "text"),
    },
    "continuation": {"convert", "models", "optimizers", "pretrained", "text"},
}
# The methods that read and write foreign weights hand over to the converters.
MAY_IMPORT_INSIDE_FUNCTIONS = {"models": {"convert"}}

PROGRAMS = ("training", "serving", "benchmarks")
LONGEST_FILE = 350
LONGEST_TEST = 400

# Source files that have no test of their own name, and why.
WITHOUT_TWIN = {
    "tfreps/__main__.py": "tests/test_main.py",
    # Run as plain files by the check.
    "tfreps/exports/ask_c_api.py": "tests/exports/test_export_check.py",
    "tfreps/exports/ask_tensorflow.py": "tests/exports/test_export_check.py",
}


def sources(*folders):
    """The Python files below these folders, as paths relative to the checkout."""
    return [
        path.relative_to(CHECKOUT)
        for folder in folders
        for path in sorted((CHECKOUT / folder).rglob("*.py"))
    ]


LIBRARY = sources("tfreps")
PROGRAM_FILES = sources(*PROGRAMS)


def imported_names(path, source=None):
    """`(absolute name, whether inside a function)` of everything a file imports."""
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


def own_part(path):
    """The part of tfreps that a file belongs to: `layers`, `metrics` ..."""
    return path.with_suffix("").parts[1]


def forbidden_imports(path, source=None):
    """What a file of the library imports against the rules."""
    part = own_part(path)
    for name, inside in imported_names(path, source):
        root, *rest = name.split(".")
        if root in ("argparse", *PROGRAMS):
            yield f"{name} (the library knows neither programs nor their flags)"
        if root != "tfreps":
            continue
        allowed = {part, "output_files", *MAY_IMPORT.get(part, ())}
        if inside:
            allowed |= MAY_IMPORT_INSIDE_FUNCTIONS.get(part, set())
        if not rest or (rest[0] not in allowed and part not in ("__init__", "__main__")):
            if not (rest == ["__version__"] or part == "__main__"):
                yield f"{name} ({part} may import {sorted(MAY_IMPORT.get(part, ())) or 'nothing'})"


@pytest.mark.parametrize("path", LIBRARY, ids=str)
def test_imports_point_down(path):
    assert list(forbidden_imports(path)) == []


@pytest.mark.parametrize(
    "file, source, fine",
    [
        ("tfreps/layers/crf.py", "from tfreps.layers import chain", True),
        ("tfreps/layers/crf.py", "from . import chain", True),
        ("tfreps/layers/crf.py", "from .. import text", False),
        ("tfreps/layers/crf.py", "from ..text import vocabulary", False),
        ("tfreps/layers/crf.py", "import tfreps", False),
        ("tfreps/layers/crf.py", "def f():\n    import tfreps.text", False),
        ("tfreps/models/bilm.py", "from tfreps.convert import bilm_tf", False),
        ("tfreps/models/bilm.py", "def f():\n    from tfreps.convert import bilm_tf", True),
        ("tfreps/data/tagged.py", "import tfreps.models.tagger", False),
        ("tfreps/plots.py", "import argparse", False),
        ("tfreps/plots.py", "def f():\n    import matplotlib", True),
        ("tfreps/signatures.py", "import training.embed", False),
    ],
)
def test_the_rule_itself(file, source, fine):
    assert (not list(forbidden_imports(pathlib.Path(file), source))) == fine


def reached_from(module):
    """The modules of tfreps that importing one of them imports."""
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
    names = {".".join(path.with_suffix("").parts) for path in files}
    assert len(names) > 30 and names <= reached_from("tfreps.models")


def shared_by_benchmarks(path):
    """What benchmarks share is a file of theirs that is no program."""
    return path.parts[0] == "benchmarks" and "\ndef main(" not in (CHECKOUT / path).read_text()


@pytest.mark.parametrize("path", PROGRAM_FILES, ids=str)
def test_programs_import_the_library_only(path):
    """Installed, `training.x` is called `tfreps.training.x`: a program must not care which."""
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
    """Python leaves them out under -O and -OO; `first_line` takes a docstring that is None."""
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


def test_no_two_files_share_a_name():
    """Benchmarks may be named after what they measure."""
    files = LIBRARY + sources("training", "serving")
    counts = collections.Counter(path.stem for path in files if not path.stem.startswith("__"))
    assert [name for name, count in counts.items() if count > 1] == []


def twin(path):
    """The test file of a source file."""
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
    """In one line, which the tree in README.md repeats."""
    text = ast.get_docstring(ast.parse((CHECKOUT / path).read_text(encoding="utf-8"))) or ""
    assert text.splitlines()[:1], f"{path} has no docstring"


def test_test_folders_are_packages_all_of_them():
    folders = {path.parent for path in sources("tests")}
    assert [str(f) for f in folders if not (CHECKOUT / f / "__init__.py").is_file()] == []


def test_no_utils():
    vague = {"utils", "util", "common", "helpers", "helper", "misc"}
    assert [str(p) for p in LIBRARY + PROGRAM_FILES if p.stem in vague] == []
