"""module_folders: the folders of the modules of a sentence-transformers model."""

import json
import pathlib

MODULES = "modules.json"


def module_folders(content: str | bytes) -> dict[str, str]:
    """Reads the list of modules of a sentence-transformers model from its modules.json.

    `content` is the content of the file. Returns a dict from the folder of each module to the kind
    of the module, such as `"Dense"`. The folder is relative to modules.json; a module that is in
    the same folder as modules.json has the folder `""`. Entries that are not valid are left out;
    opening the model raises an error for them.
    """
    try:
        entries = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    found = {}
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        path = pathlib.PurePosixPath(str(entry.get("path", "")))
        if not path.is_absolute() and ".." not in path.parts:
            place = "" if path == pathlib.PurePosixPath() else str(path)
            found[place] = str(entry.get("type")).rpartition(".")[2]
    return found
