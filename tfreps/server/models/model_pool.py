"""ModelPool: finds models by name, version or label, and loads new versions."""

import contextlib
import logging
import threading

from tfreps.server.models.served_model import ServedModel, no_versions, not_loaded
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
        """Stops the search for versions without waiting for its thread to end."""
        self._stop.set()

    def stop(self, seconds=None):
        """Stops the search for versions, and waits up to `seconds` seconds for its end."""
        self.ask_to_stop()
        if self._thread is not None:
            self._thread.join(None if seconds is None else max(seconds, 0))

    @property
    def ready(self):
        """`True` if every model has a version that can answer requests."""
        return all(model.available for model in self.models.values())

    @contextlib.contextmanager
    def lease(self, name, version=None, label=None):
        """Yields `(version, Servable)` and keeps the version loaded while the block runs.

        `label` takes precedence over `version`. If both are `None`, it is the newest version.
        """
        if not name:
            raise ServingError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
        model = self.models.get(name)
        if label is not None:
            if model is None or label not in model.config.labels:
                message = f"Unrecognized servable version label: {label}"
                raise ServingError("INVALID_ARGUMENT", message)
            version = model.config.labels[label]
        if model is None:
            raise not_loaded(name, version)
        with model.lease(version) as leased:
            yield leased

    def status(self, name, version=None):
        """Returns the status of the versions of a model; see `ServedModel.status`."""
        if name not in self.models:
            raise no_versions(name, version)
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
