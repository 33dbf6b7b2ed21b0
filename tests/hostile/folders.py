"""Formats of several files: whole folders of which one file or two are broken."""

import json
import shutil

from tests.hostile.format import Format
from tests.hostile.mutations import mutated, mutated_json


def folder_format(name, cases, write, read, **bounds):
    """A Format of folders.

    Args:
        name, cases: as of a Format.
        write: function that writes a folder as it should be, which does not exist yet.
        read: function that reads one; it is given a `Random` too.
        **bounds: more arguments of the Format.
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
                    continue  # it is missing
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
    """A broken file; of JSON its values more often than its bytes."""
    if path.suffix == ".json" and random.random() < 0.7:
        return mutated_json(json.loads(data), random)
    return mutated(data, random)
