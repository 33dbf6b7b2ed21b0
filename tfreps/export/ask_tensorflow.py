"""Runs a SavedModel in a process that imports TensorFlow but nothing from tfreps.

    python -I ask_tensorflow.py JOB.json ANSWERS.json

The job has the format that ask_c_api.py describes; the names of tensors are not used.
tensorflow_text is imported if the job says that the model needs it; otherwise, importing it is an
error.
"""

import importlib
import json
import pathlib
import sys

import tensorflow as tf


def main(job_path, answers_path):
    job = json.loads(pathlib.Path(job_path).read_text(encoding="utf-8"))
    if job["needs_text"]:
        importlib.import_module("tensorflow_text")  # registers its operations
    signatures = tf.saved_model.load(job["folder"]).signatures
    answers = {}
    for name in job["signatures"]:
        outputs = signatures[name](text=tf.constant(job["texts"], tf.string))
        answers[name] = {key: plain(value.numpy()) for key, value in outputs.items()}
    unwanted = {"tfreps"} if job["needs_text"] else {"tfreps", "tensorflow_text"}
    others = [name for name in sys.modules if name.split(".")[0] in unwanted]
    if others:
        raise RuntimeError(
            f"The export must run without {' and '.join(sorted(unwanted))}; the process imported "
            f"{', '.join(others)}."
        )
    found = {"version": tf.__version__, "answers": answers}
    pathlib.Path(answers_path).write_text(json.dumps(found), encoding="utf-8")


def plain(array):
    """Returns the shape and the values of an array; bytes that are not UTF-8 are replaced."""
    values = array.reshape(-1).tolist()
    if array.dtype == object:
        values = [value.decode("utf-8", "replace") for value in values]
    return {"shape": list(array.shape), "values": values}


if __name__ == "__main__":
    main(*sys.argv[1:])
