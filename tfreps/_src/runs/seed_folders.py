"""Paths of runs that differ in their random seed, which are in one common folder."""

import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any

SEED = re.compile(r"seed-\d+")


def seed_folder(path: str | os.PathLike[str], seed: int) -> pathlib.Path:
    """Returns the run folder of a seed in the common folder `path`."""
    return pathlib.Path(path, f"seed-{seed}")


def seed_folders(path: pathlib.Path) -> list[pathlib.Path]:
    """Returns the folders in the common folder `path` that have the names of run folders."""
    return sorted(item for item in path.glob("seed-*") if is_seed(item.name))


def is_seed(name: str) -> bool:
    """Returns True if `name` is a name that `seed_folder` gives to a folder."""
    return SEED.fullmatch(name) is not None


def check_one_seed(path: pathlib.Path, options: Mapping[str, Any]) -> None:
    """Raises a ValueError if the run in `path`, with these options, is that of several seeds."""
    if options.get("seeds"):
        raise ValueError(
            f"{path} contains runs of several seeds. Choose one of them, such as "
            f"{seed_folder(path, options['seeds'][0])}."
        )
