"""Annotate: the Beam transform that adds a model's outputs to records."""

import os
from collections.abc import Sequence
from typing import Any, Literal

import apache_beam as beam
from apache_beam.internal.cloudpickle import cloudpickle
from apache_beam.io.filesystems import FileSystems
from apache_beam.ml.inference.base import RunInference
from apache_beam.ml.inference.utils import WatchFilePattern

import tfreps.serving.annotation
from tfreps._src.files import saved_models, tensorflow_errors
from tfreps._src.inference import export_outputs
from tfreps.serving.annotation.export_handler import ExportHandler
from tfreps.serving.annotation.signature_specs import (
    added_schema,
    chosen_names,
    read_outputs,
    version_folder,
)

# Makes the pipeline contain the code of these modules, so that workers do not need tfreps.
for module in tfreps.serving.annotation, saved_models, tensorflow_errors, export_outputs:
    cloudpickle.register_pickle_by_value(module)

MOST_BYTES = 200_000


class Annotate(beam.PTransform):
    """Beam transform that adds the outputs of an exported SavedModel to records.

    The input is a `PCollection` of dicts, bounded or not. The result is a tuple of two
    `PCollection`s: the records with the outputs as additional fields, and one dict for each
    rejected record, with the keys `reason` and `record`. A record is rejected if the model cannot
    read it, or if it already has an added field other than `field`; set `prefix` to avoid this.
    Each record is in exactly one of the two collections.

    Args:
        export: str or path-like. Folder that `tfreps export` wrote, on any of Beam's file systems,
            or one of its versions. Without `watch_seconds`, the version that is the newest when the
            pipeline is built annotates all records.
        field: str. Field with the text: a str for the signature `default`, a list of str for the
            signature `tokens`. Defaults to `"text"`.
        signature: str. `"default"`, which reads raw text, or `"tokens"`. Defaults to `"default"`.
        outputs: sequence of str or None. Outputs of the signature to add, or `"spans"`. If `None`
            (the default), a tagger adds `tokens`, `tags`, `confidences` and, with a tag scheme,
            `spans`; a classifier adds `label`, `probability`, `labels` and `probabilities`; any
            other model adds `default`, the vector of the text.
        prefix: str. Prefix of the names of the added fields. Defaults to `""`.
        max_bytes: int. Maximum number of bytes of a text. A longer text is rejected. Defaults to
            200,000.
        watch_seconds: float or None. Interval in seconds at which to look for new versions of the
            export, which then annotate later records. A pipeline with this interval never ends, so
            set it only for streams. If `None` (the default), the version does not change.
        model_updates: `PCollection` of `apache_beam.ml.inference.base.ModelMetadata` or None.
            Folders of new versions, instead of `watch_seconds`. Defaults to `None`.
        batch_size: int. Maximum number of records in a batch. Defaults to 1024.
        batch_tokens: int. Maximum number of tokens in a call of the signature, padding included. A
            longer text forms a call of its own. Defaults to 4096.
        threads: int or None. Number of threads of TensorFlow in a worker process. If `None` (the
            default), TensorFlow decides.
        max_wait_seconds: float or None. Maximum time that a record of a stream waits for its batch.
            Records of similar length then share a batch. If `None` (the default), batches end with
            the bundles of the runner.
        progress_folder: str or None. Local folder in which each worker process writes a file with
            the numbers of records and tokens that it has processed. If `None` (the default), no
            such files are written.

    Raises:
        ValueError: If `export` is neither a SavedModel nor a folder of versions, if it does not
            have the signature or an output, or if `watch_seconds` is given for a single version.

    Example:
        A pipeline that prints annotated records:

            import apache_beam as beam
            from tfreps.serving import Annotate

            with beam.Pipeline() as pipeline:
                texts = pipeline | beam.Create([{"id": 1, "text": "Ada lived in London ."}])
                annotated, rejected = texts | Annotate("exports/ner")
                annotated | beam.Map(print)
    """

    def __init__(
        self,
        export: str | os.PathLike[str],
        field: str = "text",
        signature: Literal["default", "tokens"] = "default",
        outputs: Sequence[str] | None = None,
        prefix: str = "",
        max_bytes: int = MOST_BYTES,
        watch_seconds: float | None = None,
        model_updates: "beam.PCollection[Any] | None" = None,
        batch_size: int = 1024,
        batch_tokens: int = 4096,
        threads: int | None = None,
        max_wait_seconds: float | None = None,
        progress_folder: str | None = None,
    ):
        super().__init__()
        export = os.fspath(export)
        self._folder = version_folder(export)
        self._export = export
        specs = read_outputs(self._folder, signature)
        names = chosen_names(specs, outputs)
        self._added_schema = added_schema(specs, names, prefix)
        self._watch_seconds = watch_seconds
        self._model_updates = model_updates
        if watch_seconds is not None and self._folder == export.rstrip("/"):
            raise ValueError(
                f"`watch_seconds` requires a folder of versions; {export} is a single version. "
                "Pass the folder that contains it."
            )
        self._handler = ExportHandler(
            self._folder,
            field,
            names,
            signature,
            prefix,
            max_bytes,
            batch_size,
            batch_tokens,
            threads,
            max_wait_seconds,
            progress_folder,
        )

    # This method has no type annotations, because Beam would check them.
    def expand(self, records):
        """Returns a tuple of two `PCollection`s: the annotated and the rejected records."""
        updates = self._model_updates
        if self._watch_seconds is not None:
            pattern = FileSystems.join(self._export.rstrip("/"), "*", "saved_model.pb")
            watch = WatchFilePattern(pattern, self._watch_seconds)
            updates = records.pipeline | "Watch versions" >> watch
        results = records | RunInference(self._handler, model_metadata_pcoll=updates)
        name = self._added_schema.names[0]
        return results | "Split" >> beam.Partition(lambda result, _: int(name not in result), 2)
