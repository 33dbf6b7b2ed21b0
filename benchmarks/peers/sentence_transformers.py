"""Writes the vectors of sentence-transformers for benchmarks/embedder_parity.py."""

import os


def vectors(model, texts, output):
    """Writes the vectors of the texts to a NumPy file."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import numpy as np
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(model, device="cpu")
    np.save(output, model.encode(texts, batch_size=16, show_progress_bar=False))
