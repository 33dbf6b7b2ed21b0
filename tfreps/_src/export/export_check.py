"""check_export: runs an export in a new process without tfreps and compares its outputs."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from tfreps._src.export.notes import text_ops
from tfreps._src.export.signature_base import Signatures

SENTENCES = [
    "The dog sat on the mat .",
    "",
    "Ada Lovelace, born in London, wrote the first program.",
    "naïve 你好 !",
    "<S> [CLS] </S>",  # tokens that some models read differently
    "<UNK> [MASK] <pad>",
    "[PAD] #NUM#",
]
# The order of additions depends on threads, fused operations and the CPU, so results differ between
# processes. In bfloat16, each multiplication is rounded to 8 significant bits.
TOLERANCES = {"float32": 1e-4, "bfloat16": 5e-2}
SCRIPT = pathlib.Path(__file__).with_name("run_signatures.py")
SECONDS = 300


def check_export(
    signatures: Signatures,
    functions: Mapping[str, Any],
    folder: str | os.PathLike[str],
    python: str | os.PathLike[str] = sys.executable,
) -> float:
    """Runs an export in a new process without tfreps, and checks its outputs.

    Args:
        signatures: Result of `open_for_export`.
        functions: dict from the names of signatures to concrete functions, as in the attribute
            `functions` of the result of `write_export`.
        folder: str or path-like. Folder of the version, which contains its SavedModel.
        python: str or path-like. Python interpreter, which may have a different version of
            TensorFlow. Defaults to the current interpreter.

    Returns:
        float. Largest difference between an output of the export and the same output of the model,
        for five sentences and the signatures `default` and `explain`. The difference is relative to
        the largest absolute value of this output if that value exceeds 1.

    Raises:
        ValueError: If the process fails, a difference is too large, or the export has no signature
            that reads text.
    """
    if "default" not in functions:
        raise ValueError(
            "`check` needs a signature that reads text, but this export reads only token ids. "
            "Export the model without the check."
        )
    expected = {"default": signatures.expected(SENTENCES)}
    if "explain" in functions:
        expected["explain"] = functions["explain"](text=tf.constant(SENTENCES))
    job = {
        "folder": os.path.abspath(folder),
        "signatures": list(expected),
        "texts": SENTENCES,
        "needs_text": bool(text_ops(functions)),
    }
    try:
        outputs = _run(job, str(python))
        return compare(outputs, expected, TOLERANCES[signatures.weights.precision])
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = " ".join(str(error).split())[-600:]
        raise ValueError(
            f"The export failed its check by {python}, so no version was written: "
            f"{reason.rstrip('.')}. Use a Python environment with the TensorFlow version of "
            "this one. If the versions are equal, report the failure as a bug."
        ) from error


def compare(
    outputs: Mapping[str, np.ndarray], expected: Mapping[str, Mapping[str, Any]], allowed: float
) -> float:
    """Compares the outputs of an export with the outputs of the model in memory.

    Args:
        outputs: dict from strings `SIGNATURE/OUTPUT` to arrays. The outputs of the export.
        expected: dict from the name of each signature to a dict of the outputs of the model.
        allowed: float. Largest difference that is accepted.

    Returns:
        float. The largest difference, as `check_export` defines it.

    Raises:
        ValueError: If an output is missing, or has another shape or other strings, or if a
            difference is larger than `allowed`.
    """
    largest = 0.0
    for signature, values in expected.items():
        for name, value in values.items():
            where = f"the output {name!r} of the signature {signature!r}"
            if f"{signature}/{name}" not in outputs:
                raise ValueError(f"{where} must be returned, but is missing.")
            found = outputs[f"{signature}/{name}"]
            wanted = np.asarray(value)
            if found.shape != wanted.shape:
                raise ValueError(f"{where} must have shape {wanted.shape}; got {found.shape}.")
            if wanted.dtype == object:
                wanted, found = as_bytes(wanted), found.tolist()
                if wanted != found:
                    raise ValueError(f"{where} must be {wanted}; got {found}.")
                continue
            scale = max(1.0, float(np.abs(wanted).max(initial=0)))
            difference = float(np.abs(found - wanted).max(initial=0)) / scale
            if not difference <= allowed:
                raise ValueError(
                    f"{where} must differ from the output of the model by at most {allowed:g} "
                    f"after division by {scale:.3g}; got {difference:.2g}."
                )
            largest = max(largest, difference)
    return largest


def as_bytes(array: np.ndarray) -> list:
    """Converts an array of str or bytes to nested lists of bytes."""
    encode = np.vectorize(lambda x: x.encode() if isinstance(x, str) else x, otypes=[object])
    return (encode(array) if array.size else array).tolist()


def _run(job: dict[str, Any], python: str) -> dict[str, np.ndarray]:
    """Runs `run_signatures.py` in a new process with the input `job`, and returns its outputs.

    The result is a dict from the strings `SIGNATURE/OUTPUT` to arrays.
    """
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    with tempfile.TemporaryDirectory() as scratch:
        given, written = (os.path.join(scratch, name) for name in ("job.json", "outputs.npz"))
        pathlib.Path(given).write_text(json.dumps(job), encoding="utf-8")
        done = subprocess.run(
            [python, "-I", str(SCRIPT), given, written],
            env={**os.environ, **quiet},
            **{"capture_output": True, "text": True, "cwd": scratch, "timeout": SECONDS},
        )
        if done.returncode:
            raise ValueError(
                f"the process must end with code 0; it ended with code {done.returncode}: "
                f"{done.stderr}"
            )
        with np.load(written, allow_pickle=False) as file:
            return dict(file)
