"""write_export: writes the next version of a model, its README and configuration files."""

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
    """Result of `write_export`.

    Attributes:
        folder: `pathlib.Path`. Folder of the version.
        version: int. Number of the version.
        functions: dict. Concrete function of each signature, by name.
        num_warm_up: int or None. Number of warm-up requests. It is `None` if the package
            tensorflow-serving-api is not installed.
    """

    folder: pathlib.Path
    version: int
    functions: dict
    num_warm_up: int | None


def write_export(signatures, base, check=False, overwrite=False, on_checked=None):
    """Writes the next version of an exported model.

        base/1/, base/2/ ...    versions, each a SavedModel with warm-up requests and a description
                            of its tokenization for servers that limit the tokens in a request
        base/README.md          description, inputs and outputs, and example requests
        base/models.config, base/batching.config    configuration of TensorFlow Serving

    The version and each file are written atomically. The README describes the newest version.

    Args:
        signatures: `BiLMSignatures`, `BertSignatures` or `TextSignatures`, as returned by
            `open_for_export`.
        base: str or path-like. Folder of the model, which may already contain versions. Its name is
            the name of the model.
        check: bool, str or path-like. If `True`, separate processes run the new version without
            tfreps, and the version is written only if their outputs match those of the model. A
            path selects the Python interpreter of these processes, which may have a different
            version of TensorFlow. Defaults to `False`.
        overwrite: bool. Whether to replace a README.md, models.config or batching.config that
            tfreps did not write. Defaults to `False`.
        on_checked: function or None. Called with each `CheckedExport` when it is available.
            Defaults to `None`.

    Returns:
        `WrittenExport`.

    Raises:
        ValueError: If `base` is a file, if it contains a README.md, models.config or
            batching.config that tfreps did not write and `overwrite` is `False`, if the signatures
            cannot be built, if no larger version number is possible, or if `check` is set and a
            check fails or no signature reads text.
    """
    base = pathlib.Path(base)
    if base.is_file():
        raise ValueError(f"{base} is a file; expected a folder or a new path. Choose another path.")
    check_notes(base, overwrite)
    functions = signatures.functions()
    version = next_version(base)
    num_warm_up = []

    def finish(folder):
        write_counts(folder, signatures.text_counts)
        num_warm_up.append(write_warm_up(folder, model_name(base), functions))
        if check:
            python = sys.executable if check is True else check
            check_signatures(signatures, functions, folder, python, on_checked)

    save_whole(signatures.module(), base / str(version), functions, finish)
    counts = signatures.text_counts
    about = signatures.known, signatures.notices
    write_notes(base, version, signatures.title, functions, counts, overwrite, *about)
    return WrittenExport(base / str(version), version, functions, num_warm_up[0])
