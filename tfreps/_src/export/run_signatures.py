"""Runs signatures of a SavedModel in a process that has TensorFlow but imports nothing from tfreps.

    python -I run_signatures.py JOB.json OUTPUTS.npz

The job is `{"folder": ..., "signatures": [...], "texts": [...], "needs_text": false}`; the outputs
are stored as `SIGNATURE/OUTPUT`. If `needs_text` is true, tensorflow-text is imported.
"""

import importlib
import json
import sys

import numpy as np
import tensorflow as tf


def main(job_path, outputs_path):
    with open(job_path, encoding="utf-8") as file:
        job = json.load(file)
    if job["needs_text"]:
        # The import registers the operations of tensorflow-text.
        importlib.import_module("tensorflow_text")
    signatures = tf.saved_model.load(job["folder"]).signatures
    outputs = {}
    for name in job["signatures"]:
        for key, value in signatures[name](text=tf.constant(job["texts"], tf.string)).items():
            array = value.numpy()
            outputs[f"{name}/{key}"] = array.astype("S") if array.dtype == object else array
    np.savez(outputs_path, **outputs)


if __name__ == "__main__":
    main(*sys.argv[1:])
