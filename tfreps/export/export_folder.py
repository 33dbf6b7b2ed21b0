"""write_export: a model as the next version in its folder, with all that stands beside it."""

import pathlib
from typing import NamedTuple

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


def write_export(signatures, base, check=None, overwrite=False):
    """Writes the next version of a model.

        base/1/, base/2/ ...    versions, each a SavedModel with warm-up requests, and how its texts
                            are cut, for servers that limit the tokens of a request
        base/README.md          what it is, takes and gives, and how to ask it
        base/models.config, base/batching.config    for TensorFlow Serving

    All of it appears whole or not at all; the README tells of the newest version.

    Args:
        signatures: `BiLMSignatures`, `TextSignatures` or `BertSignatures`.
        base: folder of the model, which may have versions already. Its name is the model's.
        check: function of the folder under its temporary name and the dict of functions, which
            raises what keeps the version from appearing; or None.
        overwrite: bool. Whether a README.md or one of the two other files may be replaced that
            tfreps did not write.

    Returns:
        `WrittenExport`.

    Raises:
        ValueError: `base` is a file, it holds such files without `overwrite`, or what the
            signatures refuse.
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
        if check is not None:
            check(folder, functions)

    save_whole(signatures.module(), base / str(version), functions, finish)
    counts = signatures.text_counts
    write_notes(base, version, signatures.title, functions, counts, overwrite)
    return WrittenExport(base / str(version), version, functions, num_warm_up[0])
