"""find_export, open_export: find and open exports for ONNX Runtime and LiteRT."""

import importlib
import os
import pathlib

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.files.json_files import read_json
from tfreps._src.files.version_folders import version_folder, versions_of
from tfreps._src.inference.exported import (
    ExportedClassifier,
    ExportedEmbedder,
    ExportedEncoder,
    ExportedModel,
    ExportedTagger,
)
from tfreps._src.inference.run import Model

# Python modules of the runtimes, and the packages that contain them.
RUNTIMES = {"onnx": ("onnxruntime", "onnxruntime"), "litert": ("ai_edge_litert", "ai-edge-litert")}
MODEL_JSON = "model.json"
FILES = "model.onnx", "model.tflite"
KINDS = {
    "tagger": ExportedTagger,
    "classifier": ExportedClassifier,
    "embedder": ExportedEmbedder,
    "bilm": ExportedEncoder,
    "bert": ExportedEncoder,
}


def find_export(source: str | os.PathLike[str]) -> pathlib.Path | None:
    """Returns the folder of an export: `source`, or its newest version; `None` if there is none."""
    if not isinstance(source, str | os.PathLike):
        return None
    path = pathlib.Path(source)
    if path.is_dir() and not _is_export(path) and versions_of(path):
        path = version_folder(path)
    return path if _is_export(path) else None


def _is_export(folder: pathlib.Path) -> bool:
    # A model.json alone may belong to another library, such as TensorFlow.js.
    return (folder / MODEL_JSON).is_file() and any((folder / name).is_file() for name in FILES)


def open_export(
    folder: pathlib.Path, source: str | os.PathLike[str], num_threads: int | None = None
) -> ExportedModel:
    """Opens an export for ONNX Runtime or LiteRT. The arguments are those of `tfreps.load`.

    Raises:
        ValueError: If model.json is not valid, if the runtime is not installed, or if `num_threads`
            is invalid.
    """
    check_integers(1, or_none=True, num_threads=num_threads)
    about = read_json(folder / MODEL_JSON)
    format, kind = about.get("format"), about.get("kind")
    if format not in RUNTIMES or kind not in KINDS or about.get("file") not in FILES:
        raise ValueError(
            f"{folder / MODEL_JSON} was not written by this version of tfreps. Export the model "
            "again."
        )
    module, package = RUNTIMES[format]
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"The export {source} needs {package}, which cannot be imported ({error}). Run: pip "
            f"install {package}"
        ) from error
    return KINDS[kind](Model(folder, num_threads), source)
