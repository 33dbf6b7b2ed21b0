"""RateCuts: a lower learning rate after every epoch that brought no better figure."""

import keras


class RateCuts(keras.callbacks.Callback):
    """Cuts the learning rate after each epoch without a better validation figure.

    Args:
        factor: `tf.Variable`, of `tfreps.optimizers.schedules.CutRate`.
        cut: float in (0, 1]. What the factor is multiplied by at each cut.
        best: the dict that `BestModel` updates, which has to be called before; gains `cuts`, how
            many there were, so that a checkpoint holds it.
    """

    def __init__(self, factor, cut, best):
        super().__init__()
        self.factor, self.cut, self.best = factor, cut, best

    def on_train_begin(self, logs=None):
        self._set()

    def on_epoch_end(self, epoch, logs=None):
        if self.best.get("waited"):
            self.best["cuts"] = self.best.get("cuts", 0) + 1
            self._set()

    def _set(self):
        self.factor.assign(self.cut ** self.best.get("cuts", 0))
