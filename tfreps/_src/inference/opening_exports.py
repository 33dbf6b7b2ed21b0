"""find_export, open_export: find and open what `tfreps export` wrote, in any of its formats."""

import importlib
import os
import pathlib
from typing import Any, Literal, NamedTuple

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.files.json_files import read_json
from tfreps._src.files.version_folders import version_folder, versions_of
from tfreps._src.inference.exported import (
    ExportedBert,
    ExportedBiLM,
    ExportedClassifier,
    ExportedEmbedder,
    ExportedModel,
    ExportedTagger,
)
from tfreps._src.inference.run import Model

Format = Literal["onnx", "litert"]


class Engine(NamedTuple):
    """Program that runs models: its Python module, its package, and the format that it reads."""

    module: str
    package: str
    format: Format


ENGINES = {
    "onnxruntime": Engine("onnxruntime", "onnxruntime", "onnx"),
    "openvino": Engine("openvino", "openvino", "onnx"),
    "litert": Engine("ai_edge_litert", "ai-edge-litert", "litert"),
}
DEFAULT_ENGINE = {"onnx": "onnxruntime", "litert": "litert"}  # engine of each format
SAVED_MODEL = "saved_model"
MODEL_JSON = "model.json"
FILES = {"onnx": "model.onnx", "litert": "model.tflite", SAVED_MODEL: "saved_model.pb"}
KINDS = {
    "tagger": ExportedTagger,
    "classifier": ExportedClassifier,
    "embedder": ExportedEmbedder,
    "bilm": ExportedBiLM,
    "bert": ExportedBert,
}


def find_export(source: str | os.PathLike[str]) -> pathlib.Path | None:
    """Returns the folder of an export: `source`, or its newest version; `None` if there is none."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = pathlib.Path(source)
    if path.is_dir() and _description(path) is None and versions_of(path):
        path = version_folder(path)
    return None if _description(path) is None else path


def is_saved_model(folder: pathlib.Path) -> bool:
    """Returns True if an export, which `find_export` has found, is a SavedModel."""
    return (folder / FILES[SAVED_MODEL]).is_file()


def _description(folder: pathlib.Path) -> pathlib.Path | None:
    """Returns the path of the model.json of an export, or `None` if the folder is none."""
    if is_saved_model(folder):
        found = folder / "assets.extra" / MODEL_JSON
        return found if found.is_file() else None
    # A model.json alone may belong to another library, such as TensorFlow.js.
    is_export = any((folder / name).is_file() for name in FILES.values())
    return folder / MODEL_JSON if is_export and (folder / MODEL_JSON).is_file() else None


def check_engine(engine: str | None) -> None:
    """Raises a ValueError if `engine` is not an engine or cannot be imported."""
    if engine is None:
        return
    if engine not in ENGINES:
        known = ", ".join(map(repr, ENGINES))
        raise ValueError(f"`engine` must be one of {known}, or None; got {engine!r}.")
    module, package, _ = ENGINES[engine]
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"The engine {engine!r} needs {package}, which cannot be imported ({error}). Run: pip "
            f"install {package}"
        ) from error


def open_export(
    folder: pathlib.Path,
    source: str | os.PathLike[str],
    engine: str | None = None,
    num_threads: int | None = None,
) -> ExportedModel:
    """Opens an export in a folder. The other arguments are those of `tfreps.load`.

    Raises:
        ValueError: If model.json is not valid, if the engine cannot run the export or is not
            installed, or if an option is invalid or does not apply to the export.
    """
    check_integers(1, or_none=True, num_threads=num_threads)
    about = read_json(_description(folder) or folder / MODEL_JSON)
    _check(folder, about)
    if about["format"] == SAVED_MODEL:
        program = _saved_model(folder, source, about, engine, num_threads)
    else:
        engines = about["engines"]
        if engine is not None and engine not in engines:
            raise ValueError(
                f"`engine` must be {' or '.join(map(repr, engines))}, or None, for the export "
                f"{source}; got {engine!r}.{_reason(about['format'], engine)}"
            )
        check_engine(engine or engines[0])
        program = Model(folder, num_threads, engine)
    return KINDS[about["kind"]](program, source)


def _check(folder: pathlib.Path, about: dict[str, Any]) -> None:
    """Raises a ValueError if `about` is not the content of a valid model.json."""
    format, kind, engines = (about.get(name) for name in ("format", "kind", "engines"))
    is_valid = isinstance(kind, str) and kind in KINDS and isinstance(format, str)
    is_valid = is_valid and (format == SAVED_MODEL) == is_saved_model(folder)
    if is_valid and format != SAVED_MODEL:
        is_valid = about.get("file") == FILES.get(str(format)) is not None
        is_valid = is_valid and isinstance(engines, list) and set(map(str, engines)) <= {*ENGINES}
        is_valid = is_valid and bool(engines)
    if not is_valid:
        raise ValueError(
            f"{_description(folder) or folder} was not written by this version of tfreps. Export "
            "the model again."
        )


def _reason(format: str, engine: str) -> str:
    if engine in ENGINES and ENGINES[engine].format == format:
        return " OpenVINO would compute the hashes of the LinearEncoder in 32 bits."
    return f" Its format is {format}."


def _saved_model(folder, source, about: dict[str, Any], engine, num_threads):
    given = {"engine": engine, "num_threads": num_threads}
    for name in (name for name, value in given.items() if value is not None):
        raise ValueError(
            f"`{name}` does not apply to {source}, which is a SavedModel and runs in TensorFlow. "
            f"Omit `{name}`, or export the model with `write_portable_export`."
        )
    # Imported here, because it imports TensorFlow, which other exports do not need.
    from tfreps._src.inference.saved_model_program import SavedModelProgram

    return SavedModelProgram(folder, about)
