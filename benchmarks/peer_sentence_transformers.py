"""Writes the vectors of sentence-transformers for benchmarks/embedder_parity.py.

    .venv-peers/torch/bin/python -m benchmarks.peer_sentence_transformers JOB.json VECTORS.npy

The job has the path of the `model` and the `texts`.
"""

import json
import os
import pathlib
import sys


def main(argv=None):
    job, output = sys.argv[1:] if argv is None else argv
    os.environ["HF_HUB_OFFLINE"] = "1"
    import numpy as np
    from sentence_transformers import SentenceTransformer

    job = json.loads(pathlib.Path(job).read_text("utf-8"))
    model = SentenceTransformer(job["model"], device="cpu")
    np.save(output, model.encode(job["texts"], batch_size=16, show_progress_bar=False))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
