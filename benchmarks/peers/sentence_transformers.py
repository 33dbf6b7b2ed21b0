"""Computes vectors with sentence-transformers.

For benchmarks/embedder_parity.py, it writes them; benchmarks/engines.py measures the time.
"""

import os


def vectors(model, texts, output):
    """Writes the vectors of the texts to a NumPy file."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import numpy as np
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(model, device="cpu")
    np.save(output, model.encode(texts, batch_size=16, show_progress_bar=False))


def prepare(model, backend, precision, texts, threads):
    """Returns the function to time.

    Args:
        model: str. Folder of sentence-transformers.
        backend: str. torch, onnx or openvino.
        precision: str. Precision in which OpenVINO computes, or `None` for its default.
        texts: list of str.
        threads: int.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    options = {}
    if backend == "onnx":
        import onnxruntime

        session = onnxruntime.SessionOptions()
        session.intra_op_num_threads = threads
        options = {"session_options": session, "provider": "CPUExecutionProvider"}
    if backend == "openvino":
        config = {"INFERENCE_NUM_THREADS": threads}
        config |= {"INFERENCE_PRECISION_HINT": precision} if precision else {}
        options = {"ov_config": config}
    model = SentenceTransformer(model, device="cpu", backend=backend, model_kwargs=options)
    return lambda: model.encode(texts, show_progress_bar=False)
