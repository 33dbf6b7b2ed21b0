"""CountedSteps: a callback that knows the number of the step and can be restored."""

import keras


class CountedSteps(keras.callbacks.Callback):
    """Counts the steps of training; a base class of callbacks with a state.

    A step counts from its beginning, so that all callbacks of a `fit` agree at its end, in
    whatever order they are called.

    Attributes:
        step: int. Steps begun since the very beginning of the run, earlier calls of `fit` and
            restored steps included.
    """

    def __init__(self):
        super().__init__()
        self.step = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.step += 1

    def state(self):
        """Returns what `restore_state` needs: a dict of JSON types."""
        return {"step": self.step}

    def restore_state(self, state):
        """Takes over what `state` returned, here or in another process."""
        self.step = state["step"]
