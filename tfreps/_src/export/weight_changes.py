"""weight_changes: stores the weights of an export in fewer bits and reports the changes."""

import numpy as np

from tfreps._src.export.export_check import SENTENCES
from tfreps._src.export.signature_base import Signatures
from tfreps._src.export.stored_weights import Kind


def weight_changes(signatures: Signatures, kind: Kind) -> str:
    """Stores the weights of an export in fewer bits and describes how its outputs change.

    Args:
        signatures: Result of `open_for_export`. The weights of the model are rounded, too.
        kind: str. `"float32"` (unchanged), `"bfloat16"` or `"int8"`.

    Returns:
        str. A message with the largest change of each float output, and the number of changed
        values of each string output, for the texts in `export_check.SENTENCES`. It is empty for
        `"float32"`. If no signature reads text, the message says that the changes were not
        measured.

    Raises:
        ValueError: If `kind` has another value, or if Keras has already quantized the model and
            `kind` is not `"float32"`.
    """
    if kind == "float32":
        return ""
    if not signatures.reads_text:
        signatures.weights.store(kind)
        return (
            f"The weights are stored as {kind}. The changes of the outputs were not measured, "
            "because the export reads only token ids."
        )
    before = signatures.expected(SENTENCES)
    signatures.weights.store(kind)
    after = signatures.expected(SENTENCES)
    changes = []
    for name, value in before.items():
        old = np.asarray(value)
        new = np.asarray(after[name])
        if old.dtype == object:
            changes.append(f"{name} in {int((old != new).sum())} of {old.size} values")
        elif old.dtype != np.int32:
            largest = float(np.abs(old).max(initial=0))
            change = np.abs(new - old).max(initial=0)
            changes.append(f"{name} by at most {change:.2g} (largest value {largest:.3g})")
    return (
        f"Storing the weights as {kind} changes these outputs for {len(SENTENCES)} sentences: "
        + ", ".join(changes)
        + "."
    )
