"""check_export: runs an export in a new process without tfreps and compares its outputs."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
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
    "<S> [CLS] </S>",  # special tokens of some models
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
        for the texts in `SENTENCES` and the signatures `default` and `explain`. The difference is
        relative to the largest absolute value of this output if that value exceeds 1.

    Raises:
        ValueError: If the export has no signature that reads text, if the process fails, or if an
            output of the export differs from the same output of the model by more than rounding.
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
        return compare(outputs, expected, TOLERANCES[signatures.weights.precision], SENTENCES)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = " ".join(str(error).split())[-600:]
        raise ValueError(
            f"The export failed its check by {python}, so no version was written: "
            f"{reason.rstrip('.')}. If {python} does not have TensorFlow {tf.__version__}, check "
            "the export with a Python interpreter that has it. Otherwise, report this as a bug."
        ) from error


def compare(
    outputs: Mapping[str, np.ndarray],
    expected: Mapping[str, Mapping[str, Any]],
    allowed: float,
    texts: Sequence[str],
) -> float:
    """Compares the outputs of an export with the outputs of the model in memory.

    Args:
        outputs: dict from strings `SIGNATURE/OUTPUT` to arrays. The outputs of the export.
        expected: dict from the name of each signature to a dict of the outputs of the model.
        allowed: float. Largest difference that is accepted, relative to the largest value of the
            output.
        texts: list of str. The texts from which the outputs were computed, for errors.

    Returns:
        float. The largest difference, as `check_export` defines it.

    Raises:
        ValueError: If an output is missing, or has another shape or other strings, or if a
            difference is larger than `allowed`.
    """
    largest = 0.0
    for signature, values in expected.items():
        for name, value in values.items():
            output = f"the output {name!r} of the signature {signature!r}"
            if f"{signature}/{name}" not in outputs:
                raise ValueError(f"{output} is missing; the original model returns it.")
            found, wanted = outputs[f"{signature}/{name}"], np.asarray(value)
            is_numeric = wanted.dtype != object
            scale = max(1.0, float(np.abs(wanted).max(initial=0))) if is_numeric else 1.0
            difference = check_output(output, found, wanted, allowed * scale, texts)
            largest = max(largest, difference / scale)
    return largest


def check_output(
    output: str, found: np.ndarray, expected: np.ndarray, allowed: float, texts: Sequence[str]
) -> float:
    """Compares one output of an export with the same output of the original model.

    Args:
        output: str. Description of the output, with which errors begin.
        found: array `[N, ...]`. The output of the export, numbers or strings.
        expected: array `[N, ...]`. The output of the original model. Strings have dtype object.
        allowed: float. Largest absolute difference of numbers that is accepted.
        texts: list of N str. The texts from which the outputs were computed.

    Returns:
        float. The largest absolute difference of the numbers, or 0 for strings.

    Raises:
        ValueError: If the shapes or strings are not equal, or if a difference of numbers is larger
            than `allowed`. The error names the text for which the outputs differ most.
    """
    shapes = found.shape, expected.shape
    is_text = expected.dtype == object
    if is_text:
        found, expected, allowed = as_bytes(found), as_bytes(expected), 0.0
    found, expected = (_padded(array, np.maximum(*shapes)) for array in (found, expected))
    differences = found != expected if is_text else np.abs(found - expected)
    largest = float(differences.max(initial=0))
    if shapes[0] == shapes[1] and largest <= allowed:
        return largest
    position = np.unravel_index(np.argmax(differences), differences.shape)
    pair = found[position], expected[position]
    if shapes[0] != shapes[1]:
        reason = f"its shape is {shapes[0]} instead of {shapes[1]}"
    elif is_text:
        strings = [value.decode("utf-8", "replace") for value in pair]
        count = np.sum(differences[position[0]])
        reason = f"{count} strings differ, the first is {strings[0]!r} instead of {strings[1]!r}"
    else:
        reason = f"{pair[0]:.6g} instead of {pair[1]:.6g}, which is more than {allowed:.2g} apart"
    raise ValueError(
        f"{output} differs from the output of the original model for the text "
        f"{texts[position[0]]!r}: {reason}."
    )


def as_bytes(array: np.ndarray) -> np.ndarray:
    """Converts an array of str or bytes to an array of bytes with dtype object."""
    encode = np.vectorize(lambda x: x.encode() if isinstance(x, str) else x, otypes=[object])
    return encode(array)


def _padded(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Appends zeros, or empty strings, to an array of numbers or bytes until it has a shape."""
    sizes = [(0, size - own) for size, own in zip(shape, array.shape, strict=True)]
    return np.pad(array, sizes, constant_values=b"" if array.dtype == object else 0)


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
