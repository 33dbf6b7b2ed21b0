"""Checkpoints: saves all that an exact resumption needs, and restores it."""

import contextlib
import sys

import keras

from tfreps.callbacks.checkpoint_file import load_latest_checkpoint, save_checkpoint
from tfreps.callbacks.figure_log import check_finite
from tfreps.callbacks.stop_signals import Stopped, is_asked, raise_if_asked
from tfreps.optimizers import build_optimizer


class OutOfTime(Exception):
    """Ends `fit` within an epoch, when a checkpoint of that moment has been saved."""


class Checkpoints(keras.callbacks.Callback):
    """Saves everything that an exact resumption needs, and restores it.

    Weights, optimiser, seeds of dropout and negatives, carried LSTM state, running metrics,
    the position in the data and the number of the step, in one file that is written whole or
    not at all. Keras's own weights files hold neither seeds nor metrics nor the position. The model
    has to have all its variables once it is compiled.

    A signal that asks the program to stop (see `stop_signals`) ends `fit` after the next step,
    with a checkpoint of it. While the model is measured see `kept_when_stopped`.

    Args:
        folder: where checkpoints lie.
        position: function from the number of a step to the JSON-able position in the data.
        every: int. Steps between checkpoints; there is one at the end of each epoch too.
        extra: dict of whatever else shall be kept, of JSON types; updated in place.

    Attributes:
        step: int. Steps done since the very beginning of the run.
        out_of_time: bool. Set to have the next batch save a checkpoint and raise `OutOfTime`.
        unmeasured: dict or None. The figures of an epoch whose steps are done, and that is not
            measured yet: what `fit` hands to `on_epoch_end`, less those of validation.

    Raises, from `fit`:
        ValueError: the loss is no number any more; nothing of that is saved.
        Stopped: a signal came.
    """

    def __init__(self, folder, position, every=1000, extra=None):
        super().__init__()
        self.folder, self.position, self.every = folder, position, every
        self.extra = {} if extra is None else extra
        self.step, self.metrics_to_restore, self.out_of_time = 0, None, False
        self.unmeasured = None

    def restore(self, model):
        """Restores the newest checkpoint into a compiled model.

        Returns:
            The position in the data; None where there is no checkpoint.

        Raises:
            ValueError: for a checkpoint of another model.
        """
        found = load_latest_checkpoint(self.folder)
        if found is None:
            return None
        self.step, arrays, state = found
        build_optimizer(model)
        variables = _variables(model)
        if set(variables) != set(arrays):
            odd = sorted(set(variables) ^ set(arrays))
            raise ValueError(
                f"The checkpoint in {self.folder} belongs to another model or optimiser: "
                f"{len(odd)} arrays are only here or only there, the first {odd[0]}."
            )
        for name, variable in variables.items():
            if tuple(variable.shape) != arrays[name].shape:
                raise ValueError(
                    f"The checkpoint in {self.folder} belongs to another model: {name} has "
                    f"shape {arrays[name].shape}, expected {tuple(variable.shape)}."
                )
            variable.assign(arrays[name])
        if state["in_epoch"]:
            self.metrics_to_restore = [v.numpy() for v in model.metrics_variables]
        self.extra.update(state["extra"])
        self.unmeasured = state["unmeasured"]
        return state["position"]

    def save(self, in_epoch):
        """Saves a checkpoint of this moment, within an epoch or at its end."""
        arrays = {name: variable.numpy() for name, variable in _variables(self.model).items()}
        position = self.position(self.step)
        state = {"position": position, "extra": self.extra, "in_epoch": in_epoch}
        state["unmeasured"] = self.unmeasured
        try:
            save_checkpoint(self.folder, self.step, arrays, state)
        except OSError as error:  # the last good one is still there: go on
            print(f"\nwarning: no checkpoint at step {self.step}: {error}", file=sys.stderr)

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
        if self.metrics_to_restore is not None:  # Keras has just reset them
            for variable, value in zip(
                self.model.metrics_variables, self.metrics_to_restore, strict=True
            ):
                variable.assign(value)
            self.metrics_to_restore = None

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        figures = {name: float(value) for name, value in (logs or {}).items()}
        if batch + 1 == self.params["steps"] or self.model.stop_training:
            self.unmeasured = figures  # the end of the epoch saves
            return
        is_stop = is_asked()
        if self.step % self.every == 0 or self.out_of_time or is_stop:
            check_finite(figures, self.step)
            self.save(in_epoch=True)
        if is_stop:
            raise_if_asked(f" at step {self.step:,}")
        if self.out_of_time:
            raise OutOfTime

    def on_test_batch_end(self, batch, logs=None):
        if self.unmeasured is not None:
            raise_if_asked(f" at step {self.step:,}")

    def on_epoch_end(self, epoch, logs=None):
        self.unmeasured = None
        self.save(in_epoch=False)
        raise_if_asked(f" at step {self.step:,}")


def _variables(model):
    """All variables of a model, its metrics and its optimiser by a name of their own.

    Without the names of layers, some of which Keras counts up through the process; those of the
    optimiser's variables hold them.
    """
    variables = {}
    for number, variable in enumerate(model.variables):
        variables[f"model/{number}/{variable.name}"] = variable
    for number, variable in enumerate(model.metrics_variables):
        variables[f"metrics/{number}/{variable.name}"] = variable
    for number, variable in enumerate(model.optimizer.variables):
        variables[f"optimizer/{number}"] = variable
    return variables
