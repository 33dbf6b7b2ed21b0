"""LMEpochs: endless batches of a language model's text as epochs of so many steps."""

import tensorflow as tf

from tfreps.data.lm.lm_batches import LMBatches


class LMEpochs:
    """Divides the batches of `LMBatches` into epochs, for a loop that trains epoch by epoch.

    The order of the batches is that of one pass after the other, wherever an epoch ends. The last
    epoch may be shorter than the others.

    Args:
        batches: `LMBatches` without an end.
        steps_per_epoch: int, 1 or more.
        total_steps: int, 1 or more. Batches of all epochs together.

    Attributes:
        num_epochs: int.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.text import Vocabulary
        >>> folder = tempfile.TemporaryDirectory()
        >>> text = pathlib.Path(folder.name, "text.txt")
        >>> _ = text.write_text("a b c\\nb a\\n")
        >>> vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])
        >>> epochs = LMEpochs(LMBatches(text, vocabulary, 1, 4), steps_per_epoch=2, total_steps=5)
        >>> epochs.num_epochs, [epochs.num_batches(epoch) for epoch in range(3)]
        (3, [2, 2, 1])
        >>> folder.cleanup()
    """

    def __init__(self, batches: LMBatches, steps_per_epoch: int, total_steps: int):
        self.batches = batches
        self.steps_per_epoch = steps_per_epoch
        self.total_steps = total_steps
        self.num_epochs = -(-total_steps // steps_per_epoch)
        self._restored: tuple[int, dict] | None = None  # a position that came from elsewhere

    def num_batches(self, epoch: int = 0) -> int:
        """The batches of an epoch, counted from 0."""
        return min(self.steps_per_epoch, self.total_steps - epoch * self.steps_per_epoch)

    def dataset(self, epoch: int = 0, first_batch: int = 0) -> tf.data.Dataset:
        """The elements from a batch of an epoch on, without an end; see `LMBatches`.

        Raises:
            ValueError: the position that was restored belongs to other text or other options.
        """
        number = epoch * self.steps_per_epoch + first_batch
        return self.batches.dataset(self._position(number))

    def state(self, epoch: int, batch: int) -> dict:
        """The position after some batches of an epoch: a dict of JSON types."""
        number = epoch * self.steps_per_epoch + batch
        return {"number": number, "batches": self._position(number)}

    def restore(self, state: dict) -> None:
        """Goes on from a position that `state` returned, here or in another process."""
        self._restored = state["number"], state["batches"]

    def _position(self, number: int) -> dict:
        """That of `LMBatches`; where it was restored, for it knows more than has been read here."""
        if self._restored is not None and self._restored[0] == number:
            return self._restored[1]
        return self.batches.state(number)
