"""write_export: a model as the next version in its folder, with all that stands beside it."""

import pathlib
import sys
from typing import NamedTuple

from tfreps.export.export_check import check_signatures
from tfreps.export.notes import check_notes, model_name, write_notes
from tfreps.export.saved_model import save_whole
from tfreps.export.text_counts import write_counts
from tfreps.export.warm_up import write_warm_up
from tfreps.files.version_folders import next_version


class WrittenExport(NamedTuple):
    """A version that was written: its folder, its number, signatures, and warm-up requests.

    `functions` is a dict from the name of a signature to its concrete function; `num_warm_up` is
    None where the package tensorflow-serving-api was missing.
    """

    folder: pathlib.Path
    version: int
    functions: dict
    num_warm_up: int | None


def write_export(signatures, base, check=False, overwrite=False, on_checked=None):
    """Writes the next version of a model.

        base/1/, base/2/ ...    versions, each a SavedModel with warm-up requests, and how its texts
                            are cut, for servers that limit the tokens of a request
        base/README.md          what it is, takes and gives, and how to ask it
        base/models.config, base/batching.config    for TensorFlow Serving

    All of it appears whole or not at all; the README tells of the newest version.

    Args:
        signatures: what `open_for_export` returns.
        base: folder of the model, which may have versions already. Its name is the model's.
        check: whether the version is asked before it appears, in processes without tfreps, and
            its answers are compared with the model's; or the Python interpreter (a path) that asks,
            which may have another TensorFlow.
        overwrite: bool. Whether a README.md or one of the two other files may be replaced that
            tfreps did not write.
        on_checked: function that is given the `CheckedExport` of each way of asking, as it comes.

    Returns:
        `WrittenExport`.

    Raises:
        ValueError: `base` is a file, it holds such files without `overwrite`, what the signatures
            refuse, or a check failed.
    """
    base = pathlib.Path(base)
    if base.is_file():
        raise ValueError(f"Expected a folder to write to, but {base} is a file.")
    check_notes(base, overwrite)
    functions = signatures.functions()
    version = next_version(base)
    asked = [n for n in ("default", "explain") if n in functions]
    num_warm_up = []

    def finish(folder):
        write_counts(folder, signatures.text_counts)
        num_warm_up.append(write_warm_up(folder, model_name(base), asked) if asked else 0)
        if check:
            python = sys.executable if check is True else check
            check_signatures(signatures, functions, folder, python, on_checked)

    save_whole(signatures.module(), base / str(version), functions, finish)
    counts = signatures.text_counts
    write_notes(base, version, signatures.title, functions, counts, overwrite)
    return WrittenExport(base / str(version), version, functions, num_warm_up[0])
