"""weight_changes: what weights in fewer bits do to a model's answers."""

import numpy as np

from tfreps.export.export_check import SENTENCES


def weight_changes(signatures, kind):
    """Has an export store its weights in fewer bits, and tells what that changes.

    Args:
        signatures: what `open_for_export` returns. The weights of its model are rounded.
        kind: see `StoredWeights.store`.

    Returns:
        str, a sentence with the largest difference of each output on the sentences that exports
        are checked with; empty for `"float32"`, which changes nothing.
    """
    if kind == "float32":
        return ""
    before = signatures.expected(SENTENCES)
    signatures.weights.store(kind)
    after = signatures.expected(SENTENCES)
    changes = []
    for name, value in before.items():
        old = np.asarray(value)
        new = np.asarray(after[name])
        if old.dtype == object:
            changes.append(f"{name} {int((old != new).sum())} of {old.size} others")
        elif old.dtype != np.int32:
            largest = float(np.abs(old).max(initial=0))
            changes.append(f"{name} by {np.abs(new - old).max(initial=0):.2g} of {largest:.3g}")
    return (
        f"Weights as {kind} change the answers to {len(SENTENCES)} sentences at most so: "
        + ", ".join(changes)
        + "."
    )
