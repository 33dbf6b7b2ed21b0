"""annotate_corpus: annotates the records of files and writes them to files."""

import contextlib
import dataclasses
import errno
import functools
import json
import os
import pathlib
import tempfile
import threading
from collections.abc import Callable, Sequence

import apache_beam as beam
import pyarrow as pa
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics

from tfreps.distribute.beam import beam_runners
from tfreps.distribute.beam.annotate import Annotate
from tfreps.distribute.beam.beam_runners import LostWorkerError
from tfreps.distribute.beam.input_files import (
    READABLE,
    WRITABLE,
    divide_files,
    find_files,
    input_schema,
)
from tfreps.distribute.beam.output_folder import (
    SCHEMA,
    check_output_folder,
    files_in,
    staged_folder,
)
from tfreps.distribute.beam.read_parts import DAMAGED, ReadParts
from tfreps.files.disk_errors import DISK_ERRORS

COUNTERS = "answered", "rejected", "tokens"
PARTS = 64  # of a corpus of medium size
LEAST_PART, MOST_PART = 1 << 16, 64 << 20  # bytes


@dataclasses.dataclass
class CorpusResult:
    """Result of `annotate_corpus`.

    Attributes:
        answered: int. Number of records with an answer.
        rejected: int. Number of records that could not be answered.
        tokens: int. Number of tokens that the model has read.
        files: list of str. The files that were written.
        attempts: int. Number of runs of the pipeline: 1, plus one for each lost worker.
    """

    answered: int
    rejected: int
    tokens: int
    files: list[str]
    attempts: int


def annotate_corpus(
    export: str,
    inputs: Sequence[str],
    output: str,
    input_format: str = "text",
    output_format: str = "jsonl",
    keep: Sequence[str] | None = None,
    num_shards: int = 0,
    overwrite: bool = False,
    allow_empty: bool = False,
    runner: str = beam_runners.LOCAL,
    workers: int = 1,
    pipeline_options: Sequence[str] = (),
    attempts: int = 3,
    progress: Callable[[int, int], None] | None = None,
    batch_size: int = 1024,
    **options,
) -> CorpusResult:
    """Annotates the records of files with an exported SavedModel, and writes them to a folder.

    The folder contains the files `answers-*` with the records and the fields of the answers,
    `rejected-*.jsonl` with the records that cannot be answered, each with its reason (only if there
    are any), and `schema.json`, which describes the records. It appears when everything is written.

    Args:
        export: str. Folder that `tfreps export` wrote, or one of its versions.
        inputs: list of str. Paths or glob patterns on any of Beam's file systems.
        output: str. Folder to write.
        input_format: str. A key of `READABLE`. Defaults to `"text"`.
        output_format: str. A key of `WRITABLE`. Defaults to `"jsonl"`.
        keep: list of str or None. Fields of the input to write in addition to the text. If `None`
            (the default), all fields are written.
        num_shards: int. Number of files to write. With 0, the runner decides. Defaults to 0.
        overwrite: bool. Whether an earlier output is replaced. Defaults to `False`.
        allow_empty: bool. Whether input files of 0 bytes are left out instead of being an error.
            Defaults to `False`.
        runner: str. One of `beam_runners.RUNNERS`. Defaults to `"local"`.
        workers: int. Number of worker processes of the local runner. Defaults to 1, which means
            this process.
        pipeline_options: list of str. Flags of Beam and the runner. Defaults to `()`.
        attempts: int. Number of times that the pipeline is started if a worker process of the local
            runner is lost. Other runners repeat the work of lost workers themselves. Defaults to 3.
        progress: function of two ints or None. Called with the number of records and of tokens
            since the last call; only with the local runner. Defaults to `None`.
        batch_size: int. Number of records that are sorted by length together. Defaults to 1024.
        **options: Options of `Annotate`.

    Returns:
        `CorpusResult`.

    Raises:
        ValueError: If an argument is not valid, an input file is missing, empty or damaged, the
            text field is missing or is not text, or the pipeline fails.
        OSError: If the output cannot be written, for example because the disk is full.
        LostWorkerError: If a worker process is lost in each of the attempts.
    """
    form, target = READABLE[input_format](), WRITABLE[output_format]()
    files = find_files(list(inputs), allow_empty)
    check_output_folder(output, overwrite, list(files))
    beam_runners.make_runner(runner)
    field = options.get("field", "text")
    schema = input_schema(list(files), form, None if keep is None else {*keep, field})
    threads = None if workers == 1 else max(1, (os.cpu_count() or 1) // workers)
    with contextlib.ExitStack() as stack:
        if progress is not None and runner == beam_runners.LOCAL:
            options["progress_folder"] = stack.enter_context(_watched(progress))
        annotate = Annotate(export, **{"threads": threads, **options})
        written = output_schema(schema, annotate, keep, target)
        fit = None if form.is_typed or output_format == "jsonl" else written
        read = ReadParts(form, annotate.check(), keep, fit, batch_size)
        flags = beam_runners.make_options(runner, workers, list(pipeline_options))
        parts = divide_files(files, form, part_bytes(sum(files.values())))

        def build(folder, beam_runner):
            pipeline = beam.Pipeline(beam_runner, flags)
            parted = pipeline | "Parts" >> beam.Create(parts) | beam.Reshuffle()
            records = parted | "Read" >> beam.ParDo(read).with_outputs("rejected", main="batches")
            handler = annotate.handler.with_no_batching()
            answered, rejected = annotate.answers(records.batches, handler)
            encode = EncodeRecords(target, written)
            encoded = answered | "Encode" >> beam.ParDo(encode)
            prefix = FileSystems.join(folder, "answers")
            _ = encoded | "Write" >> target.write(prefix, written, num_shards)
            every = (records.rejected, rejected) | "Every rejected" >> beam.Flatten()
            lines = every | "Encode rejected" >> beam.ParDo(EncodeRejected())
            prefix = FileSystems.join(folder, "rejected")
            _ = lines | "Write rejected" >> beam.io.WriteToText(
                prefix, ".jsonl", skip_if_empty=True
            )
            return pipeline

        about = {"format": output_format, "model": annotate.folder, "fields": _described(written)}
        return _run(build, output, about, runner, workers, attempts)


def output_schema(schema: pa.Schema, annotate: Annotate, keep, target) -> pa.Schema:
    """Returns the schema of the records that are written.

    Args:
        schema: `pyarrow.Schema` of the records that are read.
        annotate: `Annotate`.
        keep: list of str or None. Fields to write in addition to the text.
        target: `RecordFormat` of the output.

    Raises:
        ValueError: If the text field is missing or is not text, a kept field does not exist or has
            the name of a field of the answer, or the output format has no type for a field.
    """
    field, answer = annotate.field, annotate.answer_schema
    fields = {each.name: each for each in schema}
    if field not in fields:
        raise ValueError(
            f"`field` is {field!r}, which the records do not have. They have "
            f"{', '.join(map(repr, fields)) or 'no fields'}."
        )
    if not _is_text(fields[field].type, annotate.is_text):
        expected = "text" if annotate.is_text else "a list of texts (the tokens)"
        raise ValueError(f"The field {field!r} must be {expected}; it is {fields[field].type}.")
    for name in keep or ():
        if name not in fields:
            raise ValueError(
                f"`keep` contains {name!r}, which the records do not have. They have "
                f"{', '.join(map(repr, fields))}."
            )
    kept = {name: each for name, each in fields.items() if keep is None or name in (*keep, field)}
    both = [name for name in answer.names if name in kept and name != field]
    if both:
        raise ValueError(
            f"The records already have the field {both[0]!r}, which is a field of the answer. Set "
            "`prefix` to rename the fields of the answer, or `keep` to leave out those of the "
            "input."
        )
    found = pa.schema([*(f for name, f in kept.items() if name not in answer.names), *answer])
    try:
        target.check_schema(found)
    except ValueError as error:
        raise ValueError(f"{error}. Leave it out by `keep`, or choose another format.") from error
    return found


class EncodeRecords(beam.DoFn):
    """Encodes records for the transform that writes them.

    Args:
        form: `RecordFormat` of the output.
        schema: `pyarrow.Schema` of the records.
    """

    def __init__(self, form, schema):
        self.form = form
        self.schema = schema

    def process(self, record):
        """Yields the encoded record."""
        yield self.form.encode(record, self.schema)


class EncodeRejected(beam.DoFn):
    """Encodes and counts rejections."""

    def __init__(self):
        self.rejected = Metrics.counter("tfreps", "rejected")

    def process(self, rejection):
        """Yields a JSON line; bytes that are not UTF-8 are escaped."""
        self.rejected.inc()
        text = json.dumps(rejection, ensure_ascii=False, default=_printable)
        yield text.encode("utf-8", "backslashreplace").decode("utf-8")


def _printable(value):
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else repr(value)


def _run(build, output, about, runner, workers, attempts):
    """Runs the pipeline in a temporary folder, again after a lost worker; returns the result."""
    for attempt in range(1, attempts + 1):
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
                    f"A worker process was lost in each of {attempts} attempts; nothing was "
                    "written. It may have been killed for its memory: use fewer workers."
                ) from error
        except RuntimeError as error:
            raise _explained(error, output) from error
    raise ValueError(f"`attempts` must be at least 1; got {attempts}.")


def _explained(error, output):
    """Returns an error whose message says what the user can do about a failed pipeline."""
    for number in (*DISK_ERRORS, errno.EACCES, errno.EROFS):
        if os.strerror(number) in str(error):
            return OSError(number, os.strerror(number), output)
    if DAMAGED in str(error):
        return ValueError(str(error))
    return ValueError(f"The pipeline failed, and nothing was written: {error}")


@contextlib.contextmanager
def _watched(progress):
    """Context manager that yields a folder, and reports what workers write into it."""
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


def part_bytes(total: int) -> int:
    """Returns the approximate size of the parts of a corpus of `total` bytes.

    It does not depend on the number of workers, so that the answers do not either.
    """
    return min(max(total // PARTS, LEAST_PART), MOST_PART)


def _is_text(kind, is_text):
    if is_text:
        return pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return pa.types.is_list(kind) and _is_text(kind.value_type, True)


def _described(schema):
    return [{"name": field.name, "type": str(field.type)} for field in schema]
