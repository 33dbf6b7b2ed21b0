"""ExportHandler: applies an exported SavedModel to records in Beam's `RunInference`.

Beam's workers run this file without an installation of tfreps; they need TensorFlow and the export.
"""

import contextlib
import json
import os
import tempfile

import tensorflow as tf
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics
from apache_beam.ml.inference.base import ModelHandler

from tfreps._src.files.saved_models import load_saved_model
from tfreps._src.files.tensorflow_errors import essence
from tfreps._src.inference.export_outputs import call_signature, signature_rows

COUNTS = "assets.extra/tfreps_counts.json"  # file in the export, written by `tfreps export`
SPACED = "spaces", "words", "treebank", "bert_words"  # tokenizations with about one token per word
# Limits, in words, between the groups into which Beam divides texts by length.
BUCKETS = [8, 16, 32, 64, 128, 256, 512, 1024]
# Errors that one text may cause for all texts of a call.
SEPARABLE = tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError


class ExportHandler(ModelHandler):
    """Model handler that applies an exported SavedModel to records.

    A record is a dict, and one of its fields contains the text. `run_inference` sorts the records
    of a batch by length and calls the signature for groups of at most `batch_tokens` tokens,
    padding included. If a call fails, the group is divided until the records that the model cannot
    read are found.

    The result for a record is the record with the outputs as additional fields or, if the model
    cannot read the text, a dict with the keys `reason` and `record`. Each worker process loads one
    copy of the model.

    Args:
        folder: str. Version folder of the export, on any of Beam's file systems.
        names: list of str. Names of the outputs to add to each record, in the form that
            `signature_rows` accepts.

    The other arguments are those of `Annotate`.
    """

    def __init__(
        self,
        folder,
        field,
        names,
        signature="default",
        prefix="",
        max_bytes=200_000,
        batch_size=1024,
        batch_tokens=4096,
        threads=None,
        max_wait_seconds=None,
        progress_folder=None,
    ):
        if max_wait_seconds is None:
            how = {"min_batch_size": batch_size}
        else:
            how = {"max_batch_duration_secs": max_wait_seconds}
            how |= {"batch_length_fn": self.num_words, "batch_bucket_boundaries": BUCKETS}
        super().__init__(max_batch_size=batch_size, **how)
        self.folder = folder
        self.field = field
        self.names = names
        self.signature = signature
        self.prefix = prefix
        self.taken = {prefix + name.partition(":")[0] for name in names} - {field}
        self.max_bytes = max_bytes
        self.batch_tokens = batch_tokens
        self.threads = threads
        self.progress_folder = progress_folder
        self.done = [0, 0]  # numbers of records and tokens that this process has annotated

    def load_model(self):
        """Returns a `LoadedExport`. Beam calls this method once per worker process and version."""
        if self.threads is not None:
            with contextlib.suppress(RuntimeError):  # raised if TensorFlow has started
                tf.config.threading.set_intra_op_parallelism_threads(self.threads)
                tf.config.threading.set_inter_op_parallelism_threads(self.threads)
        return LoadedExport(local_folder(self.folder), self.signature)

    def update_model_path(self, model_path=None):
        """Sets the folder of the next version: `model_path`, or the folder of this file."""
        if model_path:
            self.folder = model_path.removesuffix("saved_model.pb").rstrip("/\\")

    def run_inference(self, batch, model, inference_args=None):
        """Returns a list with the result, a dict, for each record of a batch.

        `model` is a `LoadedExport`. `inference_args` is ignored.
        """
        rows = [self._reason(record) for record in batch]
        readable = [i for i, reason in enumerate(rows) if reason is None]
        sizes = [model.num_tokens(batch[i][self.field]) for i in readable]
        for group in groups(sizes, self.batch_tokens):
            chosen = [readable[i] for i in group]
            found = self._predict(model, [batch[i][self.field] for i in chosen])
            for i, row in zip(chosen, found, strict=True):
                rows[i] = row
        return [self._result(record, row) for record, row in zip(batch, rows, strict=True)]

    def num_words(self, record):
        """Returns the number of words in the text of a record, by which Beam forms batches."""
        text = record.get(self.field)
        return len(text) if isinstance(text, list) else str(text).count(" ") + 1

    def get_num_bytes(self, batch):
        """Returns an estimate of the size of a batch in bytes.

        Without this method, Beam would pickle every batch to find its size.
        """
        return sum(len(str(record.get(self.field))) for record in batch)

    def _reason(self, record):
        """Returns the reason why the model cannot read a record, a str, or `None` if it can."""
        if self.field not in record:
            return f"the record has no field {self.field!r}"
        if both := self.taken & record.keys():
            return f"the record already has the field {sorted(both)[0]!r} of the output"
        text = record[self.field]
        if self.signature == "default" and not isinstance(text, str):
            return f"the field {self.field!r} must be a text; got {type(text).__name__}"
        tokens = [text] if self.signature == "default" else text
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            return f"the field {self.field!r} must be a list of texts; got {type(text).__name__}"
        try:
            size = sum(len(token.encode("utf-8")) for token in tokens)
        except UnicodeEncodeError:
            return f"the field {self.field!r} contains a character that UTF-8 cannot represent"
        if size > self.max_bytes:
            return f"the text is too long: {size:,} bytes, and at most {self.max_bytes:,} are read"
        return None

    def _result(self, record, row):
        """Returns the result for a record, given its outputs, a dict, or the reason, a str."""
        if isinstance(row, str):
            return {"reason": row, "record": record}
        Metrics.counter("tfreps", "annotated").inc()
        return {**record, **{self.prefix + name: value for name, value in row.items()}}

    def _predict(self, model, texts):
        """Returns a list with one item for each text.

        An item is a dict of outputs, or a str with the reason why the text is rejected.
        """
        try:
            outputs = model.predict(texts)
            rows = signature_rows(outputs, self.names, texts)
        except SEPARABLE as error:
            if len(texts) == 1:
                return [essence(error.message)[:500]]
            half = len(texts) // 2
            return self._predict(model, texts[:half]) + self._predict(model, texts[half:])
        self._count(len(texts), int(outputs["sequence_len"].sum()))
        return [self._cut(model, *pair) or pair[1] for pair in zip(texts, rows, strict=True)]

    def _count(self, records, tokens):
        """Adds `tokens` to Beam's counter of tokens, and updates the file in `progress_folder`.

        The file contains the total numbers of records and tokens of this process. It is not written
        if `progress_folder` is `None`.
        """
        Metrics.counter("tfreps", "tokens").inc(tokens)
        if self.progress_folder is not None:
            self.done = [self.done[0] + records, self.done[1] + tokens]
            path = os.path.join(self.progress_folder, f"{os.getpid()}-{id(self)}")
            with open(path, "w") as file:
                file.write(f"{self.done[0]} {self.done[1]}")

    def _cut(self, model, text, row):
        """Returns the reason to reject a text that a tagger read only in part, or `None`."""
        if not model.cuts_sentences or "tokens" not in row:
            return None
        read = row["tokens"]
        whole = len(text) if isinstance(text, list) else num_characters(text)
        done = len(read) if isinstance(text, list) else sum(map(num_characters, read))
        if done == whole:
            return None
        return f"the sentence is too long: the model reads only its first {len(read)} tokens"


class LoadedExport:
    """Signature of a SavedModel in the memory of a worker.

    `cuts_sentences` is `True` for a tagger that truncates long sentences.
    """

    def __init__(self, folder, signature):
        # The model is stored, because the function does not keep its variables in memory.
        self.model = load_saved_model(folder)
        self.function = self.model.signatures[signature]
        path = os.path.join(folder, COUNTS)
        counts = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                counts = json.load(file)
        self.added = counts.get("added_per_text", 0)
        self.most = counts.get("most_per_text")
        self.is_spaced = counts.get("tokens", "spaces") in SPACED
        self.cuts_sentences = "tags" in self.function.structured_outputs and self.added > 0

    def num_tokens(self, text):
        """Returns an estimate of the number of tokens that the model reads of a text."""
        if isinstance(text, str) and self.is_spaced:
            # The second estimate is for text without spaces, such as Chinese.
            size = max(text.count(" ") + 1, len(text) // 4)
        else:
            size = len(text)
        return min(size + self.added, self.most or size + self.added)

    def predict(self, texts):
        """Returns the outputs for a list of texts (str or lists of tokens) as a dict of arrays."""
        return call_signature(self.function, texts)


def groups(sizes, most):
    """Divides items into groups of similar size; yields the indices of each group as a list.

    The size of a padded group is the number of its items times the largest of their sizes. It is at
    most `most`, unless the group has only one item.

    Example:
    >>> list(groups([5, 1, 9, 2], 10))
    [[1, 3], [0], [2]]
    """
    group = []
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        if group and (len(group) + 1) * sizes[index] > most:
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def local_folder(folder):
    """Returns the path of a folder, or of a temporary local copy of a folder that is remote."""
    if FileSystems.get_scheme(folder) is None:
        return folder
    copy = tempfile.mkdtemp(prefix="tfreps-export-")
    for file in FileSystems.match([folder.rstrip("/") + "/**"])[0].metadata_list:
        path = os.path.join(copy, os.path.relpath(file.path, folder))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with FileSystems.open(file.path) as source, open(path, "wb") as target:
            while part := source.read(1 << 20):
                target.write(part)
    return copy


def num_characters(text):
    """Returns the number of printable characters in a text, without spaces and U+FFFD."""
    return sum(c.isprintable() and not c.isspace() and c != "\ufffd" for c in text)
