"""DataShare: the part of the training data that a worker reads."""

import os

import tensorflow as tf

from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps._src.layers.ops.replicas import SEEDS_APART
from tfreps.training.workers.strategies import open_strategy
from tfreps.training.workers.workers import Workers


def data_share(options):
    """Returns the `DataShare` for the options of a command.

    If the option `worker_data` is files, the training files are divided among the workers. If it is
    rows, or if the command does not have this option, every worker reads all files.
    """
    divided = getattr(options, "worker_data", "rows") == "files"
    return DataShare(Workers(open_strategy(options.distribute)), divided)


class DataShare:
    """Selection of the training data that a worker reads: all files, or some of them.

    A global batch is the batch of a training step on all workers together. If the files are
    divided, worker `r` of `N` makes its part of every global batch from the files `r`, `r + N`,
    `r + 2 N`, ... in order of name. If the files are not divided, the methods return their
    arguments unchanged.

    All workers must call each method, in the same order.

    Attributes:
        workers: `distribute.workers.Workers`.
        divided: bool. Whether the files are divided among the workers.
        size, index: int. Number of workers among which the files are divided, and number of this
            worker; 1 and 0 if the files are not divided.

    Example:
    >>> from tfreps.training.workers.workers import Workers
    >>> share = DataShare(Workers(tf.distribute.get_strategy()), divided=True)
    >>> share.size, share.part("batch_size", 12), share.total({"tokens": 5})
    (1, 12, {'tokens': 5})
    """

    def __init__(self, workers, divided):
        self.workers = workers
        self.divided = divided
        self.size = workers.size if divided else 1
        self.index = workers.index if divided else 0

    @property
    def own(self):
        """Slice that selects the files of this worker from the list of all files."""
        return slice(self.index, None, self.size)

    def files(self, paths):
        """Returns the list of files that this worker reads.

        `paths` is the list of all files, in order of name.

        Raises:
            ValueError: If there are fewer files than workers, or the workers have different files.
        """
        if self.divided:
            names = [os.path.basename(path) for path in paths]
            self.workers.check_same({"`train`": names}, "Give all workers the same files.")
        if len(paths) < self.size:
            raise ValueError(
                f"`train` must match at least {self.size} files, one for each worker, if "
                f"`worker_data` is files; got {len(paths)}. Split the text into more files, or set "
                "`worker_data` to rows."
            )
        return paths[self.own]

    def part(self, name, number):
        """Returns the size of this worker's part of a global batch, an int or `None`.

        Args:
            name: str. Option that sets the size of the global batch, for the error message.
            number: int or None. Size of the global batch. `None` is returned unchanged.

        Raises:
            ValueError: If `number` is not a multiple of the number of workers.
        """
        if number is None:
            return None
        if number % self.size == 0:
            return number // self.size
        raise ValueError(
            f"`{name}` must be a multiple of {self.size}, the number of workers, if "
            f"`worker_data` is files; got {number}. The next such number is "
            f"{number + -number % self.size}."
        )

    def seed(self, seed):
        """Returns the random seed of this worker, an int that is computed from `seed`.

        If the files are divided, each worker has a different seed. Otherwise, all workers have the
        seed `seed`.
        """
        return (seed + self.index * SEEDS_APART) % 2**31 if self.divided else seed

    def total(self, counts):
        """Returns the sums of counts over all workers.

        `counts` is a dict from names to ints or int arrays; the result has the same names.
        """
        if self.size == 1:
            return counts
        sums = {name: self.workers.sum(counts[name]) for name in sorted(counts)}
        return {name: total if total.ndim else int(total) for name, total in sums.items()}

    def batches(self, batches):
        """Returns `batches`, wrapped in `OwnBatches` if the files are divided."""
        return OwnBatches(batches, self.workers) if self.divided else batches

    def check_resumed(self, checkpoints):
        """Raises ValueError if a run is resumed with another number of workers than before.

        If the files are not divided, any number is accepted. The earlier number is read from the
        newest checkpoint in the folder `checkpoints`.
        """
        found = load_latest_checkpoint(checkpoints) if self.divided else None
        before = self.size if found is None else len(found[2]["position"]["data"]["workers"])
        if before != self.size:
            raise ValueError(
                "If `worker_data` is files, a run must be resumed with the number of workers that "
                f"it was started with: expected {before}; got {self.size}."
            )


class OwnBatches:
    """Batches for `fit_epochs` that each worker makes from its own files.

    In each epoch, all workers have as many batches as the worker with the most batches; the other
    workers add batches without rows at the end. The position in the data consists of the positions
    of all workers.

    Args:
        batches: batches of this worker, with the methods of this class.
        workers: `Workers`.

    Attributes:
        num_tokens: int. Sum of `batches.num_tokens` over all workers. Missing if `batches` does not
            have this attribute.
    """

    is_own = True

    def __init__(self, batches, workers):
        self.own, self.workers = batches, workers
        self._sizes = {}  # number of an epoch -> number of batches in it
        if hasattr(batches, "num_tokens"):
            self.num_tokens = int(workers.sum([batches.num_tokens])[0])
        if hasattr(batches, "total_steps"):
            self.total_steps = batches.total_steps

    def num_batches(self, epoch=0):
        """Returns the number of batches of an epoch, the same on all workers."""
        if epoch not in self._sizes:
            self._sizes[epoch] = max(self.workers.gather(self.own.num_batches(epoch)))
        return self._sizes[epoch]

    def dataset(self, epoch=0, first_batch=0):
        """Returns a `tf.data.Dataset` of this worker's batches of an epoch, from `first_batch` on.

        Batches without rows are added at the end if other workers have more batches.
        """
        own = self.own.num_batches(epoch)
        batches = self.own.dataset(epoch, min(first_batch, own))
        missing = self.num_batches(epoch) - max(own, first_batch)
        if missing <= 0:
            return batches
        empty = tf.nest.map_structure(_without_rows, batches.element_spec)
        return batches.concatenate(tf.data.Dataset.from_tensors(empty).repeat(missing))

    def state(self, epoch, batch):
        """Returns the position after `batch` batches of an epoch, as a JSON-serializable dict."""
        has_state = hasattr(self.own, "state")
        return {"workers": self.workers.gather(self.own.state(epoch, batch) if has_state else None)}

    def restore(self, state):
        """Restores a position that the method `state` returned with the same number of workers."""
        own = state["workers"][self.workers.index]
        if own is not None:
            self.own.restore(own)


def _without_rows(spec):
    """Returns a tensor of the dtype and shape of a `tf.TensorSpec`, but without rows.

    The size of the first axis is 0. Other axes of unknown size have size 1.
    """
    return tf.zeros([0, *(size or 1 for size in spec.shape[1:])], spec.dtype)
