"""local_base: returns the local path of the base model that a PEFT adapter names."""

import os
import pathlib

from tfreps._src.files.json_files import read_json
from tfreps._src.presets.hub_repositories import ADAPTER as CONFIG

WEIGHTS = "adapter_model.safetensors"


def local_base(folder: pathlib.Path) -> pathlib.Path | None:
    """Returns the path of the base model of the adapter in a folder, if it needs no download.

    `base_model_name_or_path` may be a path, relative to the working directory as in PEFT, or a
    preset in the cache. Returns `None` for other folders, and for a base model that has an adapter
    itself.
    """
    if not all((folder / name).is_file() for name in (CONFIG, WEIGHTS)):
        return None
    name = read_json(folder / CONFIG).get("base_model_name_or_path")
    if not isinstance(name, str) or not name:
        return None
    if not os.path.exists(name):
        from tfreps._src.presets.preset_table import cached_preset  # most folders do not need it

        return cached_preset(name)
    return None if os.path.exists(os.path.join(name, CONFIG)) else pathlib.Path(name)
