"""Formats of several files: folders in which one or two files are corrupt."""

import json
import shutil

from tests.hostile.format import Format
from tests.hostile.mutations import mutated, mutated_json


def folder_format(name, cases, write, read, **bounds):
    """Returns a `Format` of folders.

    Args:
        name: The name of the `Format`.
        cases: The number of cases.
        write: Function that writes a valid folder to a path that does not exist yet.
        read: Function that reads a folder, with the arguments path and `Random`.
        **bounds: Further arguments of the `Format`.
    """

    def prepare(folder):
        write(folder / "whole")
        found = {
            path.relative_to(folder / "whole"): path.read_bytes()
            for path in sorted((folder / "whole").rglob("*"))
            if path.is_file()
        }
        shutil.rmtree(folder / "whole")
        return found

    def ask(files, random, folder):
        case = folder / "case"
        broken = random.sample(sorted(files), min(len(files), random.choice([1, 1, 1, 2])))
        try:
            for path, data in files.items():
                if path in broken and random.random() < 0.03:
                    continue  # leaves out the file
                target = case / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(changed(path, data, random) if path in broken else data)
            before = sorted(case.rglob("*"))
            read(case, random)
            assert sorted(case.rglob("*")) == before
        finally:
            shutil.rmtree(case, ignore_errors=True)
        return True

    return Format(name, cases, prepare, ask, **bounds)


def changed(path, data, random):
    """Returns a corrupt file; in JSON, values are changed more often than bytes."""
    if path.suffix == ".json" and random.random() < 0.7:
        return mutated_json(json.loads(data), random)
    return mutated(data, random)
