"""ModelPool: finds the models of a server by name, version or label, and keeps them up to date."""

import contextlib
import logging
import threading

from tfreps.server.models.served_model import ServedModel, no_label
from tfreps.server.requests.serving_error import ServingError

LOG = logging.getLogger("tfreps.server")


class ModelPool:
    """The models that a server has, and the thread that looks for new versions of them.

    Args:
        configs: list of `ModelConfig`.
        load: function from a version's folder to a `Servable`.

    Attributes:
        models: dict from names to `ServedModel`.
        watchers: functions without arguments, called after each look at the folders.

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

    def refresh(self, starting=False):
        """Looks for versions of all models once, and logs changes and errors.

        Args:
            starting: bool. If `True`, the error of the newest version of a model without any
                version to serve is not logged, because `ModelServer.start` raises it. Defaults
                to `False`.
        """
        for model in self.models.values():
            try:
                model.refresh()
            except Exception:
                LOG.exception("%s: cannot look for versions", model.name)
            self._tell(model, skip=1 if starting and not model.available else 0)
        for watcher in self.watchers:
            watcher()

    def start(self, poll_seconds):
        """Starts a thread that looks at the folders every so many seconds."""

        def poll():
            while not self._stop.wait(poll_seconds):
                self.refresh()

        self._thread = threading.Thread(target=poll, name="tfreps-versions", daemon=True)
        self._thread.start()

    def ask_to_stop(self):
        """Ends the polling; loaded versions stay."""
        self._stop.set()

    def stop(self, seconds=None):
        """Does the same as `ask_to_stop`, and waits until it has ended, or for so many seconds."""
        self.ask_to_stop()
        if self._thread is not None:
            if seconds is not None:
                seconds = max(seconds, 0)
            self._thread.join(seconds)

    @property
    def ready(self):
        """Whether every model has a version that answers."""
        return all(model.available for model in self.models.values())

    def model(self, name, asked=None):
        """Returns the model of this name.

        Args:
            name: of the model.
            asked: what to say that there is not; by default, its newest version.

        Raises:
            ServingError: NOT_FOUND; INVALID_ARGUMENT for no name at all.
        """
        if not name:
            raise ServingError("INVALID_ARGUMENT", "ModelSpec has no name specified.")
        if name not in self.models:
            asked = asked or f"Servable not found for request: Latest({name})"
            raise ServingError("NOT_FOUND", asked)
        return self.models[name]

    @contextlib.contextmanager
    def lease(self, name, version=None, label=None):
        """Gives `(version, Servable)` for a request, which stays loaded while the block runs.

        Args:
            name: of the model.
            version: its number; None for the newest, or for `label`.
            label: a name for a version.

        Raises:
            ServingError: NOT_FOUND; INVALID_ARGUMENT for a label that is none.
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
        """Returns `(version, state, error or None)` for each version of a model, the newest first.

        Raises:
            ServingError: NOT_FOUND.
        """
        if name not in self.models:
            asked = "any versions" if version is None else f"version {version}"
            raise ServingError("NOT_FOUND", f"Could not find {asked} of model {name}")
        return self.models[name].status(version)

    def _tell(self, model, skip=0):
        """Logs changes of the versions of a model, except for the newest `skip` versions."""
        with contextlib.suppress(ServingError):
            for number, state, error in model.status()[skip:]:
                if self._told.get((model.name, number)) != (state, str(error)):
                    self._told[model.name, number] = state, str(error)
                    if error:
                        LOG.error("%s version %d is not served: %s", model.name, number, error)
                    else:
                        LOG.info("%s version %d: %s", model.name, number, state)
