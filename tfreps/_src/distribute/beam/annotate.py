"""Annotate: the Beam transform that adds a model's answers to records."""

import apache_beam as beam
from apache_beam.internal.cloudpickle import cloudpickle
from apache_beam.io.filesystems import FileSystems
from apache_beam.ml.inference.base import RunInference
from apache_beam.ml.inference.utils import WatchFilePattern

import tfreps._src.distribute.beam
from tfreps._src.distribute.beam.export_handler import ExportHandler
from tfreps._src.distribute.beam.records import CheckRecords
from tfreps._src.distribute.beam.signature_specs import (
    answer_schema,
    chosen_names,
    read_outputs,
    version_folder,
)
from tfreps._src.files import saved_models
from tfreps._src.inference import answers, export_answers

# Workers have no tfreps: the code that they run travels with the pipeline.
for module in tfreps._src.distribute.beam, saved_models, export_answers, answers:
    cloudpickle.register_pickle_by_value(module)

MOST_BYTES = 200_000


class Annotate(beam.PTransform):
    """Adds the answers of an exported SavedModel to records.

    The input is a `PCollection` of dicts, bounded or not. The result is a pair of `PCollection`s:
    the records with the fields of the answer added, and one dict for each record that cannot be
    answered, with the keys `reason` and `record`. No record is in both, and none is lost.

    Args:
        export: str. Folder that `tfreps export` wrote, on any of Beam's file systems, or one of its
            versions. Without `watch_seconds`, the newest version of the moment when the pipeline is
            built answers all records.
        field: str. Field with the text: a str for the signature `default`, a list of str for the
            signature `tokens`. Defaults to `"text"`.
        signature: str. `"default"`, which reads raw text, or `"tokens"`. Defaults to `"default"`.
        outputs: list of str or None. Outputs of the signature to add, or `"spans"`. If `None` (the
            default), a tagger adds `tokens`, `tags`, `confidences` and, with a tag scheme, `spans`;
            a classifier adds `label`, `probability`, `labels` and `probabilities`; any other model
            adds `default`, the vector of the text.
        prefix: str. Prefix of the names of the added fields. Defaults to `""`.
        max_bytes: int. Maximum number of bytes of a text. A longer text is rejected. Defaults to
            200,000.
        watch_seconds: float or None. Interval in seconds at which to look for new versions of the
            export, which then answer later records. Only for streams. If `None` (the default), the
            version does not change.
        model_updates: `PCollection` of `apache_beam.ml.inference.base.ModelMetadata` or None.
            Folders of new versions, instead of `watch_seconds`. Defaults to `None`.
        **options: Options of `ExportHandler`: `batch_size`, `batch_tokens`, `threads`,
            `max_wait_seconds` and `progress_folder`.

    Raises:
        ValueError: If the export has no such signature or output, or `watch_seconds` is given for a
            single version.

    Example:

    ```python
    import apache_beam as beam
    from tfreps._src.distribute.beam.annotate import Annotate

    with beam.Pipeline() as pipeline:
        texts = pipeline | beam.Create([{"id": 1, "text": "Ada lived in London ."}])
        answered, rejected = texts | Annotate("exports/ner")
        answered | beam.Map(print)
    ```
    """

    def __init__(
        self,
        export,
        field="text",
        signature="default",
        outputs=None,
        prefix="",
        max_bytes=MOST_BYTES,
        watch_seconds=None,
        model_updates=None,
        **options,
    ):
        super().__init__()
        self.folder = version_folder(export)
        self.export = export
        specs = read_outputs(self.folder, signature)
        names = chosen_names(specs, outputs)
        self.answer_schema = answer_schema(specs, names, prefix)
        taken = self.answer_schema.names
        self.check = CheckRecords(field, signature == "default", taken, max_bytes)
        self.watch_seconds = watch_seconds
        self.model_updates = model_updates
        if watch_seconds is not None and self.folder == export.rstrip("/"):
            raise ValueError(
                f"`watch_seconds` requires a folder of versions; {export} is a single version."
            )
        self.handler = ExportHandler(self.folder, field, names, signature, prefix, **options)

    def expand(self, records):
        """Returns the pair of `PCollection`s."""
        checked = records | "Check" >> beam.ParDo(self.check).with_outputs("rejected", main="read")
        answered, rejected = self.answers(checked.read, self.handler)
        return answered, (checked.rejected, rejected) | "Every rejected" >> beam.Flatten()

    def answers(self, records, handler):
        """Returns the pair of `PCollection`s for records, or for batches of them."""
        updates = self.model_updates
        if self.watch_seconds is not None:
            pattern = FileSystems.join(self.export.rstrip("/"), "*", "saved_model.pb")
            watch = WatchFilePattern(pattern, self.watch_seconds)
            updates = records.pipeline | "Watch versions" >> watch
        answers = records | RunInference(handler, model_metadata_pcoll=updates)
        name = self.answer_schema.names[0]
        return answers | "Split" >> beam.Partition(lambda answer, _: int(name not in answer), 2)
