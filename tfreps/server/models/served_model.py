"""ServedModel: loads and drops the versions of one model, so that one is always serving."""

import contextlib
import dataclasses
import gc
import os
import pathlib
import threading

from tfreps.files.version_folders import version_folder, versions_of
from tfreps.server.requests.serving_error import ServingError, as_serving_error, for_clients

# States of a version, by the names and numbers of TensorFlow Serving.
STATES = {"START": 10, "LOADING": 20, "AVAILABLE": 30, "UNLOADING": 40, "END": 50}


@dataclasses.dataclass
class Version:
    """A version: its state, its error, and its number of users."""

    number: int
    state: str = "START"
    error: ServingError | None = None
    servable: object = None
    users: int = 0
    files: object = None  # what lay in the folder when loading it failed


class ServedModel:
    """One model with its loaded versions: the newest, or others by its policy.

    A new version is loaded and warmed up before requests go to it, the old one stays until it has
    answered what it accepted. A version that cannot be loaded is reported in the status, and tried
    again once its files have changed; meanwhile the next best one serves.

    Args:
        config: a `ModelConfig`.
        load: function from the folder of a version to a `Servable`; raises ValueError.

    Example:
    >>> import pathlib, tempfile
    >>> from tfreps.server.models.model_configs import ModelConfig
    >>> base = pathlib.Path(tempfile.mkdtemp())
    >>> (base / "1").mkdir()
    >>> model = ServedModel(ModelConfig("half", str(base)), load=lambda folder: folder.name)
    >>> model.refresh()
    >>> with model.lease() as (number, servable):
    ...     print(number, servable)
    1 1
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
        """The numbers of the versions that answer, ascending."""
        with self._lock:
            return sorted(n for n, v in self._versions.items() if v.state == "AVAILABLE")

    def status(self, number=None):
        """Returns `(number, state, error or None)` for all known versions, the newest first.

        Raises:
            ServingError: NOT_FOUND: there is none, or not the one asked for.
        """
        with self._lock:
            found = [(v.number, v.state, v.error) for v in self._versions.values()]
        if number is not None:
            found = [entry for entry in found if entry[0] == number]
            if not found:
                raise ServingError(
                    "NOT_FOUND", f"Could not find version {number} of model {self.name}"
                )
        if not found:
            raise ServingError("NOT_FOUND", f"Could not find any versions of model {self.name}")
        return sorted(found, reverse=True)

    def labelled(self, label):
        """Returns the version that a label names.

        Raises:
            ServingError: INVALID_ARGUMENT: there is no such label.
        """
        if label not in self.config.labels:
            raise no_label(label)
        return self.config.labels[label]

    @contextlib.contextmanager
    def lease(self, number=None):
        """Gives `(number, Servable)` of a version, the newest for None, for the time of the block.

        Raises:
            ServingError: NOT_FOUND.
        """
        with self._lock:
            able = [v for v in self._versions.values() if v.state == "AVAILABLE"]
            able = [v for v in able if number in (None, v.number)]
            if not able:
                asked = f"Latest({self.name})"
                if number is not None:
                    asked = f"Specific({self.name}, {number})"
                raise ServingError("NOT_FOUND", f"Servable not found for request: {asked}")
            version = max(able, key=lambda v: v.number)
            version.users += 1
        try:
            yield version.number, version.servable
        finally:
            with self._lock:
                version.users -= 1
                self._end_if_unused(version)

    def refresh(self):
        """Looks at the base path, loads the versions to serve, then drops the others.

        Called by one thread at a time.
        """
        tried = set()  # a folder that is being copied changes all the time: once is enough
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
            tried.update(failed)  # now for the next best one
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
        except ValueError:  # it has gone
            return None

    def _bring_up(self, number):
        version = self._versions[number]
        folder = self._folder(number)
        version.files = files_in(folder)
        version.state = "LOADING"
        try:
            version.servable = self._load(folder)
        except Exception as error:  # reported, and never the end of the server
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
            gc.collect()  # the functions of a SavedModel refer to one another in circles

    def _end_if_unused(self, version):
        if version.state == "UNLOADING" and not version.users:
            version.state = "END"
            version.servable = None
            self._unloaded = True


def no_label(label):
    """Makes the error for a label that the model does not have."""
    return ServingError("INVALID_ARGUMENT", f"Unrecognized servable version label: {label}")


def failure(error, base_path):
    """Why a version is not served. The folder's errors are its own, whatever their type."""
    if isinstance(error, (ValueError, OSError)):
        return for_clients("INVALID_ARGUMENT", " ".join(str(error).split()), base_path)
    return as_serving_error(error)


def files_in(folder):
    """Returns names, sizes and times of all files of a folder, to notice changes."""
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
