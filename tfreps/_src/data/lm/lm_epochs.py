"""LMEpochs: endless batches for a language model, divided into epochs."""

from typing import Any

from tfreps._src.data.element_types import Dataset
from tfreps._src.data.lm.lm_batches import LMBatches


class LMEpochs:
    """Batches of `LMBatches` divided into epochs of a fixed number of steps.

    The batches are in the order of `LMBatches`; an epoch may end within a pass over the text.
    The last epoch may be shorter than the others.

    Args:
        batches: `LMBatches` with `passes=None`, which never end.
        steps_per_epoch: int, positive. Number of batches per epoch.
        total_steps: int, positive. Number of batches in all epochs together.

    Attributes:
        num_epochs: int. Number of epochs.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import LMBatches, LMEpochs
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
        self.num_epochs: int = -(-total_steps // steps_per_epoch)
        # Number of an epoch, and the position in it, that were passed to `restore`.
        self._restored: tuple[int, dict[str, Any]] | None = None

    def num_batches(self, epoch: int = 0) -> int:
        """Returns the number of batches in an epoch; epochs are counted from 0."""
        return min(self.steps_per_epoch, self.total_steps - epoch * self.steps_per_epoch)

    def dataset(self, epoch: int = 0, first_batch: int = 0) -> Dataset:
        """Returns an endless data set of batches that starts at batch `first_batch` of an epoch.

        `first_batch` is counted from 0. Raises a ValueError if a restored position belongs to
        another text or other options.
        """
        number = epoch * self.steps_per_epoch + first_batch
        return self.batches.dataset(self._position(number))

    def state(self, epoch: int, batch: int) -> dict[str, Any]:
        """Returns the position after `batch` batches of an epoch, as a JSON-serializable dict."""
        number = epoch * self.steps_per_epoch + batch
        return {"number": number, "batches": self._position(number)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restores a position that the method `state` returned, in this or another process."""
        self._restored = state["number"], state["batches"]

    def _position(self, number: int) -> dict[str, Any]:
        """Returns the state of `LMBatches` after `number` batches.

        If the restored state is that of the same position, it is returned unchanged, because
        `LMBatches` may not have recorded a position near it yet. In that case, `LMBatches.state`
        would return the beginning, and all text up to the position would be read again.
        """
        if self._restored is not None and self._restored[0] == number:
            return self._restored[1]
        return self.batches.state(number)
