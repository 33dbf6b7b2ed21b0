"""Checkpoints: saves all that an exact resumption needs, and restores it."""

import contextlib
import logging
import time

from tfreps.callbacks.checkpoint_file import load_latest_checkpoint, save_checkpoint
from tfreps.callbacks.counted_steps import CountedSteps
from tfreps.callbacks.metric_log import check_finite
from tfreps.callbacks.stop_signals import Stopped, is_asked, raise_if_asked
from tfreps.optimizers import build_optimizer


class OutOfTime(Exception):
    """Ends `fit` within an epoch, when a checkpoint of that moment has been saved."""


class Checkpoints(CountedSteps):
    """Saves everything that an exact resumption needs, and restores it.

    Weights, optimizer, seeds of dropout and negatives, carried LSTM state, running metrics,
    the position in the data, the number of the step and the state of other callbacks, in one file
    that is written whole or not at all. Keras's own weights files hold neither seeds nor metrics
    nor the position. The model has to have all its variables once it is compiled.

    The checkpoint of an epoch's end is saved when all callbacks have seen that end, whatever their
    order. One that cannot be written is logged as a warning; training goes on.

    A signal that asks the program to stop (see `stop_signals`) ends `fit` after the next step,
    with a checkpoint of it. While the model is measured see `kept_when_stopped`.

    Args:
        folder: where checkpoints lie.
        position: function from the number of a step to the JSON-able position in the data; None
            for the number of the step itself.
        every: int. Steps between checkpoints; there is one at the end of each epoch too.
        callbacks: dict from a name to a callback with `state()` and `restore_state(state)`, such as
            `BestModel`; the states are saved, and restored, under these names.
        minutes: float or None. Training ends after this time.
        measure_when_over: bool. Whether the time ends the epoch as any other is ended, measured;
            else `OutOfTime` ends `fit`, and a resumed run goes on within the epoch.

    Attributes:
        unmeasured: dict or None. The metrics of an epoch whose steps are done, and that is not
            measured yet: what `fit` hands to `on_epoch_end`, less those of validation.

    Raises, from `fit`:
        ValueError: the loss is not a number any more; nothing of that is saved.
        Stopped: a signal came.
        OutOfTime: the time is over.

    Example:
    >>> import keras, numpy as np, tempfile
    >>> def make_model():
    ...     model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    ...     model.compile(keras.optimizers.Adam(), "mse")
    ...     return model
    >>> x, folder = np.ones([8, 2]), tempfile.mkdtemp()
    >>> given = {"batch_size": 4, "verbose": 0, "shuffle": False}
    >>> trained = make_model()
    >>> _ = trained.fit(x, x[:, :1], epochs=2, callbacks=[Checkpoints(folder)], **given)
    >>> restored, checkpoints = make_model(), Checkpoints(folder)
    >>> _ = restored.evaluate(x, x[:, :1], verbose=0)  # makes the variables of the metrics
    >>> checkpoints.restore(restored), checkpoints.step
    (4, 4)
    >>> bool(np.all(restored.get_weights()[0] == trained.get_weights()[0]))
    True
    """

    def __init__(
        self,
        folder,
        position=None,
        every=1000,
        callbacks=None,
        minutes=None,
        measure_when_over=False,
    ):
        super().__init__()
        self.folder, self.every, self.callbacks = folder, every, callbacks or {}
        self.position = (lambda step: step) if position is None else position
        self.minutes, self.measure_when_over = minutes, measure_when_over
        self.begin = time.monotonic()
        self.metrics_to_restore, self.unmeasured = None, None
        self.is_due = False  # whether the end of an epoch is to be saved

    def restore(self, model):
        """Restores the newest checkpoint into a compiled model, and the callbacks' states.

        Returns:
            The position in the data; None where there is no checkpoint.

        Raises:
            ValueError: for a checkpoint of another model, or with other callbacks.
        """
        found = load_latest_checkpoint(self.folder)
        if found is None:
            return None
        self.step, arrays, state = found
        build_optimizer(model)
        self._restore_variables(model, arrays)
        if state["in_epoch"]:
            self.metrics_to_restore = [v.numpy() for v in model.metrics_variables]
        if set(state["callbacks"]) != set(self.callbacks):
            raise ValueError(
                f"The checkpoint in {self.folder} holds the states of "
                f"{_names(state['callbacks'])}; expected those of {_names(self.callbacks)}: use "
                "the callbacks of the earlier run."
            )
        for name, callback in self.callbacks.items():
            callback.restore_state(state["callbacks"][name])
        self.unmeasured = state["unmeasured"]
        return state["position"]

    def save(self, in_epoch):
        """Saves a checkpoint of this moment, within an epoch or at its end."""
        arrays = {name: variable.numpy() for name, variable in _variables(self.model).items()}
        state = {
            "position": self.position(self.step),
            "callbacks": {name: each.state() for name, each in self.callbacks.items()},
            "in_epoch": in_epoch,
            "unmeasured": self.unmeasured,
        }
        try:
            save_checkpoint(self.folder, self.step, arrays, state)
        except OSError as error:  # the last good one is still there: go on
            log = logging.getLogger(__name__)
            log.warning("no checkpoint at step %d: %s", self.step, error)

    @contextlib.contextmanager
    def kept_when_stopped(self, before=None):
        """Saves a checkpoint where a signal ends what is inside while an epoch is measured.

        Args:
            before: function that is called then, before the checkpoint is saved.
        """
        try:
            yield
        except Stopped:
            if self.unmeasured is not None:
                if before is not None:
                    before()
                self.save(in_epoch=False)
            raise

    def on_epoch_begin(self, epoch, logs=None):
        self._save_end_of_epoch()
        if self.metrics_to_restore is not None:  # Keras has just reset them
            for variable, value in zip(
                self.model.metrics_variables, self.metrics_to_restore, strict=True
            ):
                variable.assign(value)
            self.metrics_to_restore = None

    def on_train_batch_end(self, batch, logs=None):
        metrics = {name: float(value) for name, value in (logs or {}).items()}
        is_last = batch + 1 == self.params["steps"]
        is_over = self.minutes and time.monotonic() - self.begin > 60 * self.minutes
        if is_over and (is_last or self.measure_when_over):
            self.model.stop_training = True
        if is_last or self.model.stop_training:
            self.unmeasured = metrics  # the end of the epoch saves
            return
        is_stop = is_asked()
        if self.step % self.every == 0 or is_over or is_stop:
            check_finite(metrics, self.step)
            self.save(in_epoch=True)
        if is_stop:
            raise_if_asked(f" at step {self.step:,}")
        if is_over:
            raise OutOfTime

    def on_test_batch_end(self, batch, logs=None):
        if self.unmeasured is not None:
            raise_if_asked(f" at step {self.step:,}")

    def on_epoch_end(self, epoch, logs=None):
        check_finite(logs or {}, self.step)
        self.unmeasured, self.is_due = None, True

    def on_train_end(self, logs=None):
        self._save_end_of_epoch()

    def _save_end_of_epoch(self):
        if self.is_due:
            self.is_due = False
            self.save(in_epoch=False)
            raise_if_asked(f" at step {self.step:,}")

    def _restore_variables(self, model, arrays):
        variables = _variables(model)
        if set(variables) != set(arrays):
            odd = sorted(set(variables) ^ set(arrays))
            raise ValueError(
                f"The checkpoint in {self.folder} belongs to another model or optimizer: "
                f"{len(odd)} arrays are only here or only there, the first {odd[0]}."
            )
        for name, variable in variables.items():
            if tuple(variable.shape) != arrays[name].shape:
                raise ValueError(
                    f"The checkpoint in {self.folder} belongs to another model: {name} has "
                    f"shape {arrays[name].shape}, expected {tuple(variable.shape)}."
                )
            variable.assign(arrays[name])


def _names(callbacks):
    return ", ".join(sorted(callbacks)) or "no callbacks"


def _variables(model):
    """All variables of a model, its metrics and its optimizer by a name of their own.

    Without the names of layers, some of which Keras counts up through the process; those of the
    optimizer's variables hold them.
    """
    variables = {}
    for number, variable in enumerate(model.variables):
        variables[f"model/{number}/{variable.name}"] = variable
    for number, variable in enumerate(model.metrics_variables):
        variables[f"metrics/{number}/{variable.name}"] = variable
    for number, variable in enumerate(model.optimizer.variables):
        variables[f"optimizer/{number}"] = variable
    return variables
