"""CountedSteps: a callback that counts steps and whose state can be restored."""

from collections.abc import Mapping
from typing import Any

import keras

from tfreps._src.callbacks.step_logs import Logs


class CountedSteps(keras.callbacks.Callback):
    """Base class for callbacks that count training steps and whose state can be restored.

    A step is counted when it begins, so that all callbacks have the same count at the end of the
    step, regardless of their order.

    Attributes:
        step: int. Number of steps begun since the start of the run, including the
            steps of earlier calls to `fit` and of the run whose state was restored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.step: int = 0

    def on_train_batch_begin(self, batch: int, logs: Logs | None = None) -> None:
        self.step += 1

    def state(self) -> dict[str, Any]:
        """Returns the state that `restore_state` needs, as a JSON-serializable dict."""
        return {"step": self.step}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Restores the state from a dict that `state()` returned, possibly in another process."""
        self.step = state["step"]
