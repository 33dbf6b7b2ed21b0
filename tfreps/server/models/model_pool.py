"""ModelPool: finds models by name, version or label, and loads new versions."""

import contextlib
import logging
import threading

from tfreps.server.models.served_model import ServedModel, no_label
from tfreps.server.requests.serving_error import ServingError

LOG = logging.getLogger("tfreps.server")


class ModelPool:
    """Pool of the models of a server, with a thread that searches for new versions.

    Args:
        configs: List of `ModelConfig`.
        load: Function that takes the folder of a version and returns a `Servable`, or raises an
            error if the version cannot be loaded.

    Attributes:
        models: dict from names of models to `ServedModel`.
        watchers: List of functions without arguments, which are called after every search.

    Example:
    >>> pool = ModelPool([], load=None)
    >>> with pool.lease("half"):
    ...     pass
    Traceback (most recent call last):
    ...
    tfreps.server.requests.serving_error.ServingError: Servable not found for request: Latest(half)
    """

    def __init__(self, configs, load):
        self.models = {config.name: ServedModel(config, load) for config in configs}
        self.watchers = []
        self._told = {}
        self._stop = threading.Event()
        self._thread = None

    def refresh(self):
        """Searches once for versions of all models, loads and unloads them, and logs changes."""
        for model in self.models.values():
            try:
                model.refresh()
            except Exception:
                LOG.exception("%s: cannot search for versions", model.name)
            self._tell(model)
        for watcher in self.watchers:
            watcher()

    def start(self, poll_seconds):
        """Starts a thread that searches for versions every `poll_seconds` seconds."""

        def poll():
            while not self._stop.wait(poll_seconds):
                self.refresh()

        self._thread = threading.Thread(target=poll, name="tfreps-versions", daemon=True)
        self._thread.start()

    def ask_to_stop(self):
        """Stops the search for versions without waiting for its thread to end.

        Loaded versions remain available.
        """
        self._stop.set()

    def stop(self, seconds=None):
        """Stops the search for versions, and waits for its thread to end.

        Args:
            seconds: float. Maximum number of seconds to wait. If `None`, no limit applies.
        """
        self.ask_to_stop()
        if self._thread is not None:
            if seconds is not None:
                seconds = max(seconds, 0)
            self._thread.join(seconds)

    @property
    def ready(self):
        """`True` if every model has a version that can answer requests."""
        return all(model.available for model in self.models.values())

    def model(self, name, asked=None):
        """Returns the `ServedModel` with this name.

        Args:
            name: str. The name of the model.
            asked: str. Error message for an unknown name. If `None`, the message says that the
                newest version was requested.

        Raises:
            ServingError: NOT_FOUND if there is no such model; INVALID_ARGUMENT if `name` is empty.
        """
        if not name:
            raise ServingError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
        if name not in self.models:
            asked = asked or f"Servable not found for request: Latest({name})"
            raise ServingError("NOT_FOUND", asked)
        return self.models[name]

    @contextlib.contextmanager
    def lease(self, name, version=None, label=None):
        """Yields `(version, Servable)` and keeps the version loaded while the block runs.

        Args:
            name: str. The name of the model.
            version: int. The version number. It is ignored if `label` is given. If `version` and
                `label` are `None`, the newest loaded version is used.
            label: str. The label of a version. Defaults to `None`.

        Raises:
            ServingError: NOT_FOUND if there is no such model or the version is not loaded;
                INVALID_ARGUMENT if `name` is empty or there is no such label.
        """
        asked = None
        if version is not None:
            asked = f"Servable not found for request: Specific({name}, {version})"
        if label is not None and name and name not in self.models:
            raise no_label(label)
        model = self.model(name, asked)
        if label is not None:
            version = model.labelled(label)
        with model.lease(version) as leased:
            yield leased

    def status(self, name, version=None):
        """Returns the status of the versions of a model.

        Args:
            name: str. The name of the model.
            version: int. The version to report. If `None`, all versions are reported.

        Returns:
            A list of tuples `(version, state, error)`, newest version first. `version` is an int,
            `state` is a str such as `"AVAILABLE"`, and `error` is a `ServingError` or `None`.

        Raises:
            ServingError: NOT_FOUND if there is no such model or version.
        """
        if name not in self.models:
            asked = "any versions" if version is None else f"version {version}"
            raise ServingError("NOT_FOUND", f"Could not find {asked} of model {name}")
        return self.models[name].status(version)

    def _tell(self, model):
        """Logs changes in the states and errors of the versions of a model."""
        with contextlib.suppress(ServingError):
            for number, state, error in model.status():
                if self._told.get((model.name, number)) != (state, str(error)):
                    self._told[model.name, number] = state, str(error)
                    if error:
                        LOG.error("%s version %d is not served: %s", model.name, number, error)
                    else:
                        LOG.info("%s version %d: %s", model.name, number, state)
