"""ServedModel: loads and unloads the versions of one model without interruption."""

import contextlib
import dataclasses
import gc
import os
import pathlib
import threading

from tfreps.files.version_folders import version_folder, versions_of
from tfreps.server.requests.serving_error import ServingError, as_serving_error, for_clients

# States of a version, with the names and numbers of TensorFlow Serving.
STATES = {"START": 10, "LOADING": 20, "AVAILABLE": 30, "UNLOADING": 40, "END": 50}


@dataclasses.dataclass
class Version:
    """Version of a model, with its state, its error and the number of requests that use it."""

    number: int
    state: str = "START"
    error: ServingError | None = None
    servable: object = None
    users: int = 0
    files: object = None  # the files in the folder when it was last loaded


class ServedModel:
    """Model with its loaded versions, which are selected by its policy and its labels.

    A new version is loaded and warmed up before it receives requests. The old version is unloaded
    once it has answered the requests that it accepted. A version that cannot be loaded is reported
    in the status, and loading is attempted again once its files have changed. Until then, the next
    best version is served.

    Args:
        config: `ModelConfig`.
        load: Function that takes the folder of a version and returns a `Servable`, or raises an
            error if the version cannot be loaded.
    """

    def __init__(self, config, load):
        self.name = config.name
        self.config = config
        self._load = load
        self._lock = threading.Lock()
        self._versions = {}
        self._unloaded = False

    @property
    def available(self):
        """The numbers of the versions that can answer requests, in ascending order."""
        with self._lock:
            return sorted(n for n, v in self._versions.items() if v.state == "AVAILABLE")

    def status(self, number=None):
        """Returns tuples `(number, state, error)` of all known versions or of one, newest first.

        `state` is a str such as `"AVAILABLE"`, and `error` is a `ServingError` or `None`.
        """
        with self._lock:
            found = [(v.number, v.state, v.error) for v in self._versions.values()]
        found = [entry for entry in found if number in (None, entry[0])]
        if not found:
            raise no_versions(self.name, number)
        return sorted(found, reverse=True)

    @contextlib.contextmanager
    def lease(self, number=None):
        """Yields `(number, Servable)` of one version or the newest, and keeps it loaded."""
        with self._lock:
            able = [v for v in self._versions.values() if v.state == "AVAILABLE"]
            able = [v for v in able if number in (None, v.number)]
            if not able:
                raise not_loaded(self.name, number)
            version = max(able, key=lambda v: v.number)
            version.users += 1
        try:
            yield version.number, version.servable
        finally:
            with self._lock:
                version.users -= 1
                self._end_if_unused(version)

    def refresh(self):
        """Searches the base path, loads the versions to serve, then unloads the others.

        If none of the versions to serve is available, the others remain loaded. Only one thread at
        a time may call this method.
        """
        tried = set()  # a folder that is being copied keeps changing, so it is only tried once
        while True:
            found = versions_of(self.config.base_path)
            fit = [n for n in found if n not in tried and not self._known_bad(n)]
            wanted = self._wanted(fit)
            new = [n for n in reversed(wanted) if self._state(n) in (None, "END")]
            with self._lock:
                self._versions.update({number: Version(number) for number in new})
            failed = [number for number in new if not self._bring_up(number)]
            if not failed:
                break
            tried.update(failed)  # the next iteration loads the next best version
        self._drop_all_but(wanted, found)

    def _wanted(self, numbers):
        labelled = set(self.config.labels.values()) & set(numbers)
        return sorted(labelled.union(self.config.policy.choose(numbers)))

    def _state(self, number):
        with self._lock:
            return self._versions[number].state if number in self._versions else None

    def _known_bad(self, number):
        with self._lock:
            version = self._versions.get(number)
        if version is None or version.error is None:
            return False
        return version.files == files_in(self._folder(number))

    def _folder(self, number):
        try:
            return version_folder(self.config.base_path, number)
        except ValueError:  # the folder was removed
            return None

    def _bring_up(self, number):
        version = self._versions[number]
        folder = self._folder(number)
        version.files = files_in(folder)
        version.state = "LOADING"
        try:
            version.servable = self._load(folder)
        except Exception as error:  # reported in the status; must not end the server
            version.error = failure(error, self.config.base_path)
            version.state = "END"
            return False
        version.state = "AVAILABLE"
        return True

    def _drop_all_but(self, wanted, found):
        with self._lock:
            able = {n for n, v in self._versions.items() if v.state == "AVAILABLE"}
            if able & set(wanted):
                for number in able - set(wanted):
                    version = self._versions[number]
                    version.state = "UNLOADING"
                    self._end_if_unused(version)
            for number in [n for n, v in self._versions.items() if v.state == "END"]:
                if number not in found:
                    del self._versions[number]
            unloaded = self._unloaded
            self._unloaded = False
        if unloaded:
            gc.collect()  # the functions of a SavedModel form reference cycles

    def _end_if_unused(self, version):
        if version.state == "UNLOADING" and not version.users:
            version.state = "END"
            version.servable = None
            self._unloaded = True


def not_loaded(name, number):
    """Returns the error for a version that is not loaded, or for a model without versions."""
    asked = f"Latest({name})" if number is None else f"Specific({name}, {number})"
    return ServingError("NOT_FOUND", f"Servable not found for request: {asked}")


def no_versions(name, number):
    """Returns the error for a status of a version, or of any version, that is not known."""
    asked = "any versions" if number is None else f"version {number}"
    return ServingError("NOT_FOUND", f"Could not find {asked} of model {name}")


def failure(error, base_path):
    """Returns the reason why a version is not served, as a ServingError."""
    if isinstance(error, (ValueError, OSError)):
        return for_clients("INVALID_ARGUMENT", " ".join(str(error).split()), base_path)
    return as_serving_error(error)


def files_in(folder):
    """Returns the paths, sizes and modification times of all files in a folder, or None."""
    if folder is None:
        return None
    found = set()
    for parent, _, names in os.walk(folder):
        for name in names:
            path = pathlib.Path(parent, name)
            with contextlib.suppress(OSError):
                stat = path.stat()
                found.add((str(path), stat.st_size, stat.st_mtime_ns))
    return found
