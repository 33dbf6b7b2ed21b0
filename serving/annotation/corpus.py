"""annotate_corpus: annotates the records of files and writes them to files."""

import contextlib
import functools
import itertools
import json
import os
import pathlib
import tempfile
import threading
from typing import NamedTuple

import apache_beam as beam
import pyarrow as pa
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics
from apache_beam.ml.inference.base import KeyedModelHandler, RunInference
from apache_beam.options.pipeline_options import PipelineOptions

from tfreps.serving.annotation import beam_runners
from tfreps.serving.annotation.annotate import Annotate
from tfreps.serving.annotation.beam_runners import LostWorkerError
from tfreps.serving.annotation.formats.record_format import DAMAGED
from tfreps.serving.annotation.output_folder import (
    SCHEMA,
    check_output_folder,
    files_in,
    staged_folder,
)
from tfreps.serving.annotation.reading import (
    READABLE,
    WRITABLE,
    divide,
    input_schema,
    match_files,
    part_bytes,
    read_part,
)

COUNTERS = "annotated", "rejected", "tokens"


class CorpusResult(NamedTuple):
    """Result of `annotate_corpus`.

    Attributes:
        annotated: int. Number of records with the outputs of the model.
        rejected: int. Number of records that were rejected, such as texts that are too long.
        tokens: int. Number of tokens that the model has read.
        files: list of str. The files that were written.
        attempts: int. Number of runs of the pipeline: 1, plus one for each lost worker.
    """

    annotated: int
    rejected: int
    tokens: int
    files: list[str]
    attempts: int


def annotate_corpus(
    export,
    inputs,
    output,
    input_format="text",
    output_format="jsonl",
    keep=None,
    shards=0,
    overwrite=False,
    allow_empty=False,
    runner=beam_runners.LOCAL,
    workers=1,
    pipeline_options=(),
    attempts=3,
    progress=None,
    batch_size=1024,
    threads=None,
    **options,
):
    """Annotates the records of files with an exported SavedModel, and writes them to a folder.

    The arguments are the options of `tfreps annotate`, and `options` contains further arguments of
    `Annotate`. The output folder appears only when all records have been written.

    Args:
        progress: function of two ints or None. Called repeatedly with the numbers of records and
            tokens that were processed since the last call. Only the local runner calls it. Defaults
            to `None`.

    Returns:
        `CorpusResult`.

    Raises:
        ValueError: If an argument or an input file is not valid, or the pipeline fails.
        OSError: If the output cannot be written, for example because the disk is full.
        LostWorkerError: If a worker process is lost in each of the attempts.
    """
    form, target = READABLE[input_format](), WRITABLE[output_format]()
    files = match_files(list(inputs), allow_empty)
    check_output_folder(output, overwrite, list(files))
    beam_runners.make_runner(runner)
    field = options.get("field", "text")
    kept = None if keep is None else {*keep, field}
    schema = input_schema(list(files), form, kept)
    if threads is None and workers > 1:
        threads = max(1, (os.cpu_count() or 1) // workers)
    with contextlib.ExitStack() as stack:
        if progress is not None and runner == beam_runners.LOCAL:
            options["progress_folder"] = stack.enter_context(_watched(progress))
        annotate = Annotate(export, threads=threads, **options)
        written = output_schema(schema, annotate, keep, target)
        fit = None if form.is_typed or output_format == "jsonl" else written
        flags = PipelineOptions(list(pipeline_options), direct_num_workers=workers)
        divided = divide, form, part_bytes(files.values())
        read = read_part, form, kept, fit, batch_size
        handler = KeyedModelHandler(annotate._handler).with_no_batching()  # the key is the path
        name = annotate._added_schema.names[0]  # is not in the dict of a rejected record

        def build(folder, beam_runner):
            pipeline = beam.Pipeline(beam_runner, flags)
            parts = pipeline | "Files" >> beam.Create(list(files.items()))
            parts = parts | "Divide" >> beam.FlatMap(*divided) | beam.Reshuffle()
            read_parts = beam.FlatMap(*read).with_outputs("rejected", main="batches")
            records = parts | "Read" >> read_parts
            results = records.batches | RunInference(handler)
            split = beam.Partition(lambda pair, _: int(name not in pair[1]), 2)
            annotated, rejected = results | "Split" >> split
            encoded = annotated | beam.Values() | "Encode" >> beam.Map(target.encode, written)
            prefix = FileSystems.join(folder, "annotated")
            _ = encoded | "Write" >> target.write(prefix, written, shards)
            every = (records.rejected, rejected) | "Every rejected" >> beam.Flatten()
            lines = every | "Encode rejected" >> beam.Map(encode_rejected)
            prefix = FileSystems.join(folder, "rejected")
            write = beam.io.WriteToText(prefix, ".jsonl", skip_if_empty=True)
            _ = lines | "Write rejected" >> write
            return pipeline

        fields = [{"name": field.name, "type": str(field.type)} for field in written]
        about = {"format": output_format, "model": annotate._folder, "fields": fields}
        return _run(build, output, about, runner, workers, attempts)


def output_schema(schema, annotate, keep, target):
    """Returns the Arrow schema of the records that are written.

    Args:
        schema: `pyarrow.Schema` of the input records.
        annotate: `Annotate`. Transform that adds fields to the records.
        keep: list of str, or None. Fields of the input to write; all of them if `None`.
        target: `RecordFormat` of the output files.

    Raises:
        ValueError: If the input does not have the field with the text or a field in `keep`, if a
            new field has the name of an input field, or if `target` cannot store a type.
    """
    field, is_text = annotate._handler.field, annotate._handler.signature == "default"
    fields = {each.name: each for each in schema}
    for name in [field, *(keep or ())]:
        if name not in fields:
            what = "`field` is" if name == field else "`keep` contains"
            raise ValueError(
                f"{what} {name!r}, but the records have no such field; they have "
                f"{', '.join(map(repr, fields)) or 'no fields'}."
            )
    kind = fields[field].type
    item = kind if is_text else pa.types.is_list(kind) and kind.value_type
    if not (item and (pa.types.is_string(item) or pa.types.is_large_string(item))):
        expected = "text" if is_text else "a list of texts (the tokens)"
        raise ValueError(
            f"`field` must name a field that contains {expected}; {field!r} contains {kind}. "
            "Set `field` to another field."
        )
    added = annotate._added_schema
    kept = {name: each for name, each in fields.items() if keep is None or name in (*keep, field)}
    both = [name for name in added.names if name in kept and name != field]
    if both:
        raise ValueError(
            f"The records already have the field {both[0]!r}, but the output needs a new field "
            "of this name. Set `prefix` to rename the fields of the output, or `keep` to leave "
            "out fields of the input."
        )
    found = pa.schema([*(f for name, f in kept.items() if name not in added.names), *added])
    try:
        target.check_schema(found)
    except ValueError as error:
        raise ValueError(
            f"{error}. Leave the field out with `keep`, or choose another format."
        ) from error
    return found


def encode_rejected(rejection):
    """Returns a rejected record as one line of JSON, and counts it in Beam's counter `rejected`.

    `rejection` is a pair of the path of the file and a dict with the keys `reason` and `record`.
    Bytes that are not UTF-8 are escaped.
    """
    path, found = rejection
    Metrics.counter("tfreps", "rejected").inc()

    def printable(value):
        is_bytes = isinstance(value, bytes)
        return value.decode("utf-8", "backslashreplace") if is_bytes else repr(value)

    found = {"reason": found["reason"], "file": path, "record": found["record"]}
    text = json.dumps(found, ensure_ascii=False, default=printable)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _run(build, output, about, runner, workers, attempts):
    """Runs the pipeline and returns a `CorpusResult`; after a lost worker, runs it again.

    Each of at most `attempts` runs writes to a new temporary folder, which replaces `output` when
    the run has succeeded.
    """
    for attempt in itertools.count(1):
        try:
            with staged_folder(output) as folder:
                run = functools.partial(build, folder)
                result = beam_runners.run_pipeline(run, runner, workers)
                found = beam_runners.counts(result, COUNTERS)
                text = json.dumps({**about, **found}, indent=2) + "\n"
                with FileSystems.create(FileSystems.join(folder, SCHEMA)) as file:
                    file.write(text.encode())
            return CorpusResult(**found, files=files_in(output), attempts=attempt)
        except LostWorkerError as error:
            if attempt == attempts:
                raise LostWorkerError(
                    f"A worker process was lost in each of {attempts} attempts, and nothing "
                    "was written. The processes may have used too much memory. Use fewer "
                    "workers."
                ) from error
        except RuntimeError as error:
            failed = (
                "" if DAMAGED in str(error) else "The pipeline failed, and nothing was written: "
            )
            raise ValueError(f"{failed}{error}") from error


@contextlib.contextmanager
def _watched(progress):
    """Context manager that reports the progress of worker processes to the function `progress`.

    It yields the path of a temporary folder. Each worker process writes two numbers to a file of
    its own in this folder: the records and the tokens that it has processed. Twice per second,
    `progress` is called with the increase of the two sums over all files.
    """
    end = threading.Event()

    def watch(folder):
        before = [0, 0]
        while not end.wait(0.5):
            now = [0, 0]
            for path in pathlib.Path(folder).iterdir():
                parts = path.read_text().split()
                if len(parts) == 2:
                    now = [total + int(part) for total, part in zip(now, parts, strict=True)]
            if now > before:
                progress(now[0] - before[0], now[1] - before[1])
                before = now

    with tempfile.TemporaryDirectory(prefix="tfreps-progress-") as folder:
        thread = threading.Thread(target=watch, args=(folder,), daemon=True)
        thread.start()
        try:
            yield folder
        finally:
            end.set()
            thread.join()
