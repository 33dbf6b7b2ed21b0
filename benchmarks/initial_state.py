"""Measures how far the outputs with each `initial_state` are from those of bilm-tf.

    python -m benchmarks.initial_state PATH/TO/bilm_tf_fixture

The fixture of bilm-tf has 30 sentences in 10 batches of 3, which bilm-tf embedded with its state
carried from batch to batch. The program prints the relative L2 distance between the top layers and
the mean cosine similarity of their token vectors, over the nine batches that do not start from
zeros.
"""

import json
import pathlib

import h5py
import numpy as np

from benchmarks.runner import parse
from tfreps.models import BiLM
from tfreps.text import batch_to_ids


def main(argv=None):
    given = {"type": pathlib.Path, "help": "Folder of the bilm-tf fixture."}
    folder = parse(argv, "benchmarks.initial_state", __doc__, folder=given).folder
    lists = json.loads(folder.joinpath("lm_embeddings_sentences.json").read_text(encoding="utf-8"))
    batches = [[lists[row][i].split() for row in range(3)] for i in range(10)]
    expected = [expected_batch(folder, i) for i in range(10)]
    for state in ("carry", "warm", "zero"):
        files = folder / "options.json", folder / "lm_weights.hdf5"
        bilm = BiLM.from_pretrained(*files, initial_state=state)
        print(json.dumps({"initial_state": state, **compare(bilm, batches, expected)}))
    return 0


def expected_batch(folder, number):
    """Returns the expected top layer `[T, 2P]` of each sentence of a batch."""
    sentences = []
    for row in range(3):
        with h5py.File(folder / f"lm_embeddings_{row}.hdf5") as file:
            sentences.append(np.concatenate(list(file[str(number)][...]), axis=-1))
    return sentences


def compare(bilm, batches, expected):
    ours, theirs = [], []
    for number, batch in enumerate(batches):
        top = bilm(batch_to_ids(batch))["sequence_output"].numpy()  # [3, T, 2P]
        if number:
            ours += [top[row, : len(sentence)] for row, sentence in enumerate(batch)]
            theirs += expected[number]
    ours, theirs = np.concatenate(ours), np.concatenate(theirs)
    norms = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return {
        "relative_distance": float(np.linalg.norm(ours - theirs) / np.linalg.norm(theirs)),
        "mean_cosine": float(np.mean((ours * theirs).sum(1) / norms)),
    }


if __name__ == "__main__":
    raise SystemExit(main())
