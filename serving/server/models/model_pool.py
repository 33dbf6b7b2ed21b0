"""ModelPool: finds models by name, version or label, and loads and unloads their versions."""

import contextlib
import dataclasses
import gc
import logging
import os
import pathlib
import threading

from tfreps._src.files.version_folders import version_folder, versions_of
from tfreps.serving.server.requests.serving_error import ServingError, as_serving_error, for_clients

LOG = logging.getLogger("tfreps.serving")
CHECK = "Check the name and the version of the model, and the log of the server."


@dataclasses.dataclass
class Version:
    """Version of a model, with its state, its error and its `Servable`.

    `users` is the number of requests that use the version now.
    """

    number: int
    state: str = "START"  # one of TensorFlow Serving's states of a version
    error: ServingError | None = None
    servable: object = None
    users: int = 0
    files: object = None  # result of `files_in` when the version was last loaded


class ServedModel:
    """Model with its loaded versions, which are selected by its policy and its labels.

    A new version is loaded and warmed up before it receives requests. The old version is unloaded
    once it has finished the requests that it accepted. A version that cannot be loaded is reported
    in the status, and loading is attempted again once its files have changed. Until then, the
    policy selects from the other versions.

    Args:
        config: `ModelConfig` of the model.
        load: callable. The argument `load` of `ModelPool`.
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
        """List of the numbers of the versions that can serve requests, in ascending order."""
        with self._lock:
            return sorted(n for n, v in self._versions.items() if v.state == "AVAILABLE")

    def status(self):
        """Returns a list of tuples `(number, state, error)`, one for each known version.

        The newest version is first. `error` is a ServingError or `None`.
        """
        with self._lock:
            found = [(v.number, v.state, v.error) for v in self._versions.values()]
        return sorted(found, reverse=True)

    @contextlib.contextmanager
    def lease(self, number=None):
        """Context manager that yields the number and the `Servable` of a version.

        The version stays loaded while the block runs. If `number` is `None`, the newest version is
        used. A ServingError is raised if the version is not loaded.
        """
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
        # Versions that could not be loaded. A folder that is still being copied changes all the
        # time, so each version is tried only once per search.
        tried = set()
        while True:
            found = versions_of(self.config.base_path)
            fit = [n for n in found if n not in tried and not self._known_bad(n)]
            labeled = set(self.config.labels.values()) & set(fit)
            wanted = labeled.union(self.config.policy.choose(fit))
            with self._lock:
                loaded = {n for n, v in self._versions.items() if v.state != "END"}
                new = sorted(wanted - loaded, reverse=True)
                self._versions.update({number: Version(number) for number in new})
            failed = [number for number in new if not self._bring_up(number)]
            if not failed:
                break
            tried.update(failed)  # the next iteration selects from the other versions
        self._drop_all_but(wanted, found)

    def _known_bad(self, number):
        version = self._versions.get(number)
        has_failed = version is not None and version.error is not None
        return has_failed and version.files == files_in(self._folder(number))

    def _folder(self, number):
        try:
            return version_folder(self.config.base_path, number)
        except ValueError:  # raised if the folder was removed
            return None

    def _bring_up(self, number):
        """Loads a version and returns True, or records its error and returns False."""
        version = self._versions[number]
        folder = self._folder(number)
        version.files = files_in(folder)
        version.state = "LOADING"
        try:
            version.servable = self._load(folder)
        except Exception as error:
            # The error is reported in the status of the version. It must not stop the server.
            version.error = as_serving_error(error)
            if isinstance(error, (ValueError, OSError)):
                text = " ".join(str(error).split())
                version.error = for_clients("INVALID_ARGUMENT", text, self.config.base_path)
            version.state = "END"
            return False
        version.state = "AVAILABLE"
        return True

    def _drop_all_but(self, wanted, found):
        with self._lock:
            able = {n for n, v in self._versions.items() if v.state == "AVAILABLE"}
            if able & wanted:
                for number in able - wanted:
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


class ModelPool:
    """Models of a server, with a thread that searches for new versions.

    Args:
        configs: list of `ModelConfig`.
        load: callable. Function that takes the folder of a version and returns a `Servable`, or
            raises an error if the version cannot be loaded.

    Raises:
        ValueError: If several models have the same name.

    Attributes:
        models: dict from names of models to `ServedModel`.
    """

    def __init__(self, configs, load):
        self.models = {}
        for config in configs:
            if config.name in self.models:
                raise ValueError(
                    f"The model name {config.name!r} is used more than once. Give each model a "
                    "distinct name."
                )
            self.models[config.name] = ServedModel(config, load)
        self._logged = {}
        self._stop = threading.Event()
        self._thread = None

    def refresh(self):
        """Searches once for versions of all models, loads and unloads them, and logs changes."""
        for model in self.models.values():
            try:
                model.refresh()
            except Exception:
                LOG.exception("%s: cannot search for versions", model.name)
            self._log_changes(model)

    def start(self, poll_seconds):
        """Starts a thread that searches for versions every `poll_seconds` seconds."""

        def poll():
            while not self._stop.wait(poll_seconds):
                self.refresh()

        self._thread = threading.Thread(target=poll, name="tfreps-versions", daemon=True)
        self._thread.start()

    def stop(self, timeout=None):
        """Stops the search for versions, and waits up to `timeout` seconds for its thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(None if timeout is None else max(timeout, 0))

    @property
    def ready(self):
        """`True` if every model has a version that can serve requests."""
        return all(model.available for model in self.models.values())

    @contextlib.contextmanager
    def lease(self, name, version=None, label=None):
        """Context manager that yields the number and the `Servable` of a version of a model.

        The version stays loaded while the block runs. `label` takes precedence over `version`. If
        both are `None`, the newest version is used. A ServingError is raised if the model, the
        label or the version is unknown or not loaded.
        """
        if not name:
            raise ServingError(
                "INVALID_ARGUMENT",
                "ModelSpec has no name specified. Set its field `name` to the name of a model that "
                "this server has.",
            )
        model = self.models.get(name)
        if label is not None:
            if model is None or label not in model.config.labels:
                labels = ", ".join(model.config.labels if model else ()) or "none"
                message = f"Unrecognized servable version label: {label}. The labels are {labels}."
                raise ServingError("INVALID_ARGUMENT", message)
            version = model.config.labels[label]
        if model is None:
            raise not_loaded(name, version)
        with model.lease(version) as leased:
            yield leased

    def status(self, name, version=None):
        """Returns a list of tuples `(number, state, error)`, one for each version of a model.

        If `version` is given, the list contains only this version. `error` is a ServingError or
        `None`. A ServingError is raised if the model or the version is unknown.
        """
        known = self.models[name].status() if name in self.models else []
        found = [entry for entry in known if version in (None, entry[0])]
        if not found:
            asked = "any versions" if version is None else f"version {version}"
            message = f"Could not find {asked} of model {name}. {CHECK}"
            raise ServingError("NOT_FOUND", message)
        return found

    def _log_changes(self, model):
        for number, state, error in model.status():
            if self._logged.get((model.name, number)) != (state, str(error)):
                self._logged[model.name, number] = state, str(error)
                if error:
                    LOG.error("%s version %d is not served: %s", model.name, number, error)
                else:
                    LOG.info("%s version %d: %s", model.name, number, state)


def not_loaded(name, number):
    """Returns the `ServingError` for a request to a version that is not loaded.

    If `number` is `None`, the request is for the newest version, and none is loaded.
    """
    asked = f"Latest({name})" if number is None else f"Specific({name}, {number})"
    message = f"Servable not found for request: {asked}. {CHECK}"
    return ServingError("NOT_FOUND", message)


def files_in(folder):
    """Returns a set of tuples `(path, size, modification time)`, one for each file in a folder.

    Returns `None` if `folder` is `None`.
    """
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
