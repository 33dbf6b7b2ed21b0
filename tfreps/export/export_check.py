"""check_export: runs an export without tfreps and compares its outputs with the model's."""

import ast
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfreps.export.notes import text_ops

SENTENCES = [
    "The dog sat on the mat .",
    "",
    "Ada Lovelace, born in London, wrote the first program.",
    "naïve 你好 !",
]
# The order of additions depends on threads, fused operations and the CPU, so results differ between
# processes. In bfloat16 each product is rounded to 8 bits.
TOLERANCES = {"float32": 1e-4, "bfloat16": 5e-2}
HERE = pathlib.Path(__file__).parent
SECONDS = 300
CLI = "tensorflow.python.tools.saved_model_cli"
CLI_WITH_TEXT = f"import runpy, tensorflow_text; runpy.run_module('{CLI}', run_name='__main__')"


class CheckedExport(NamedTuple):
    """Result of one check of an export.

    Attributes:
        way: str. Description of the process that ran the export.
        largest: float. Largest difference from the model's outputs; NaN if the check failed. If the
            largest absolute value of a model output exceeds 1, the difference in this output is
            divided by that value.
        error: str or None. The last 600 characters of the error message. It is `None` if the check
            passed.
    """

    way: str
    largest: float
    error: str | None

    def line(self) -> str:
        """Returns the result as one line of text."""
        if self.error:
            return f"  FAILED  {self.way}: {self.error}"
        return f"  ok      {self.way}: largest difference {self.largest:.1e}"


def check_export(folder, expected, python=sys.executable, precision="float32", needs_text=False):
    """Runs an export in three ways without tfreps and compares its outputs with the model's.

    New processes use TensorFlow's Python API, `saved_model_cli run`, and the C API of the
    TensorFlow wheel, which programs in C++, Go, Java and Rust use.

    Args:
        folder: str or path-like. Folder of the version.
        expected: dict from the name of a signature that takes `text` to a dict of the model's
            outputs for `SENTENCES`. Only these signatures and outputs are compared.
        python: str. Path of the Python interpreter, which may have a different version of
            TensorFlow. Defaults to the current interpreter.
        precision: str. Compute precision of the model, which sets the allowed difference:
            `"float32"` or `"bfloat16"`. Defaults to `"float32"`.
        needs_text: bool. Whether the export needs operations of TensorFlow Text. Defaults to
            `False`.

    Yields:
        `CheckedExport`, one for each way.
    """
    allowed = TOLERANCES[precision]
    imported = "TensorFlow and TensorFlow Text" if needs_text else "only TensorFlow"
    for way, ask in (
        (f"a process with {imported}", _ask_script("ask_tensorflow.py", needs_text)),
        ("saved_model_cli run", functools.partial(ask_cli, needs_text)),
        ("the C API of TensorFlow's library", _ask_script("ask_c_api.py", needs_text)),
    ):
        with tempfile.TemporaryDirectory() as place:
            try:
                version, answers = ask(python, str(folder), list(expected), pathlib.Path(place))
                largest = compare(answers, expected, allowed)
                yield CheckedExport(f"{way} ({version})", largest, None)
            except (OSError, ValueError, RuntimeError, subprocess.SubprocessError) as error:
                yield CheckedExport(way, float("nan"), " ".join(str(error).split())[-600:])


def check_signatures(signatures, functions, folder, python=sys.executable, on_checked=None):
    """Checks an export with `check_export` against the outputs of its model.

    Args:
        signatures: `BiLMSignatures`, `BertSignatures` or `TextSignatures`, as returned by
            `open_for_export`.
        functions: dict. Concrete function of each signature, by name.
        folder: str or path-like. Folder of the version.
        python: str. Path of the Python interpreter. Defaults to the current interpreter.
        on_checked: function or None. Called with each `CheckedExport` when it is available.
            Defaults to `None`.

    Raises:
        ValueError: If a check fails, or the export has no signature that reads text.
    """
    if "default" not in functions:
        raise ValueError(
            "`check` needs a signature that reads text, but this export reads only token ids. "
            "Export the model without the check."
        )
    expected = {"default": signatures.expected(SENTENCES)}
    if "explain" in functions:
        expected["explain"] = functions["explain"](text=tf.constant(SENTENCES))
    precision = signatures.weights.precision
    needs_text = bool(text_ops(functions))
    failed = []
    for way in check_export(folder, expected, python, precision, needs_text):
        if on_checked is not None:
            on_checked(way)
        if way.error is not None:
            failed.append(way)
    if failed:
        raise ValueError(
            f"{len(failed)} of the checks failed, so no version was written: "
            + "; ".join(f"{way.way}: {way.error}" for way in failed)
        )


def compare(answers, expected, allowed):
    """Returns the largest difference between the numbers in two sets of outputs.

    Args:
        answers: dict from each signature to a dict of the outputs of an export. An output that the
            process could not read is `None` and is not compared.
        expected: dict from each signature to a dict of the outputs of the model.
        allowed: float. Largest allowed difference. If the largest absolute value of a model output
            exceeds 1, the difference in this output is divided by that value.

    Raises:
        ValueError: If a difference is NaN or larger than `allowed`, an output is missing, or
            strings or shapes differ. The message names the output.
    """
    largest = 0.0
    for signature, outputs in expected.items():
        for name, value in outputs.items():
            where = f"the output {name!r} of the signature {signature!r}"
            wanted = np.asarray(value)
            if name not in answers[signature]:
                raise ValueError(f"{where} is missing.")
            found = answers[signature][name]
            if found is None:  # this process could not read the output
                continue
            found = np.asarray(found, wanted.dtype)
            if found.shape != wanted.shape:
                raise ValueError(f"{where} must have shape {wanted.shape}; got {found.shape}.")
            if wanted.dtype == object:
                if (found != as_text(wanted)).any():
                    raise ValueError(f"{where} must be {wanted.tolist()}; got {found.tolist()}.")
                continue
            scale = max(1.0, float(np.abs(wanted).max(initial=0)))
            difference = float(np.abs(found - wanted).max(initial=0)) / scale
            if not difference <= allowed:
                raise ValueError(
                    f"{where} differs from the model's by {difference:.2g} after division by "
                    f"{scale:.3g}; at most {allowed:g} is allowed."
                )
            largest = max(largest, difference)
    return largest


def as_text(array):
    """Converts an array of bytes or str to an array of str."""
    decode = np.vectorize(lambda x: x.decode() if isinstance(x, bytes) else x, otypes=[object])
    return decode(array) if array.size else array


def tensor_names(folder, signatures):
    """Reads the tensor names of each signature from saved_model.pb."""
    model = saved_model_pb2.SavedModel()
    model.ParseFromString((pathlib.Path(folder) / "saved_model.pb").read_bytes())
    found = model.meta_graphs[0].signature_def
    return {
        name: {
            "input": found[name].inputs["text"].name,
            "outputs": {key: tensor.name for key, tensor in found[name].outputs.items()},
        }
        for name in signatures
    }


def _ask_script(script, needs_text):
    """Returns a function that runs one of the scripts in this folder and reads its answers."""

    def ask(python, folder, signatures, place):
        job = {"folder": os.path.abspath(folder), "texts": SENTENCES, "needs_text": needs_text}
        job["signatures"] = tensor_names(folder, signatures)
        (place / "job.json").write_text(json.dumps(job), encoding="utf-8")
        files = [str(place / name) for name in ("job.json", "answers.json")]
        run([python, "-I", str(HERE / script), *files], place)
        found = json.loads((place / "answers.json").read_text(encoding="utf-8"))
        answers = {
            name: {key: shaped(**value) for key, value in outputs.items()}
            for name, outputs in found["answers"].items()
        }
        return f"TensorFlow {found['version']}", answers

    return ask


def shaped(shape, values):
    """Converts a flat list of values to an array of a given shape; strings get dtype object."""
    kind = object if values and isinstance(values[0], str) else None
    return np.array(values, kind).reshape(shape)


def ask_cli(needs_text, python, folder, signatures, place):
    """Runs `saved_model_cli run`; reads numbers from its files and strings from its output."""
    answers = {}
    for name in signatures:
        command = [python, "-m", CLI] if not needs_text else [python, "-c", CLI_WITH_TEXT]
        command += ["run", "--overwrite"]
        command += ["--dir", os.path.abspath(folder), "--tag_set", "serve", "--signature_def", name]
        command += ["--input_exprs", f"text={SENTENCES!r}", "--outdir", str(place)]
        printed = run(command, place)
        parts = re.split(r"^Result for output key (\w+):$", printed, flags=re.M)
        answers[name] = dict(zip(parts[1::2], parts[2::2], strict=True))
        for key, text in answers[name].items():
            is_text = "b'" in text or 'b"' in text
            text = text.rpartition("\nOutput ")[0]  # without the path of its file
            found = printed_strings(text) if is_text else load(place / f"{key}.npy")
            answers[name][key] = found
    return "as a program", answers


def load(path):
    """Reads the array in a file; returns `None` if the file contains pickled strings."""
    try:
        return np.load(path, allow_pickle=False)
    except ValueError:
        return None


def printed_strings(text):
    """Parses an array of bytes that NumPy printed; returns `None` if it is abbreviated."""
    if re.search(r"^ *\.\.\.|[\]'\"] \.\.\. ", text, re.M):
        return None
    literals = r"b'(?:[^'\\]|\\.)*'|b\"(?:[^\"\\]|\\.)*\""
    parts = re.findall(rf"{literals}|\[|\]", text)
    pairs = zip(parts, [*parts[1:], "]"], strict=True)
    listed = [part if part == "[" or after == "]" else part + "," for part, after in pairs]
    return as_text(np.array(ast.literal_eval("".join(listed)), object))


def run(command, place):
    """Runs a process and returns its standard output.

    Raises:
        RuntimeError: If the process fails. The message ends with the last 1,500 characters of its
            standard error.
        subprocess.TimeoutExpired: If the process runs for more than 300 seconds.
    """
    # The process does not inherit the caller's Python path and TensorFlow settings.
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TF_", "KERAS"))}
    options = {"capture_output": True, "text": True, "cwd": place, "timeout": SECONDS}
    done = subprocess.run(command, env={**kept, **quiet}, **options)
    if done.returncode:
        raise RuntimeError(f"The process exited with code {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout
