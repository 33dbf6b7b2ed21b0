"""Annotate annotates the records of a pipeline, bounded or a stream."""

import sys

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import apache_beam as beam
from apache_beam.ml.inference.base import ModelMetadata
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.testing import test_stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.environments import SubprocessSDKEnvironment
from apache_beam.transforms.window import FixedWindows, GlobalWindows, TimestampedValue

from tests.closeness import assert_close
from tfreps.serving.annotation.annotate import Annotate
from tfreps.serving.annotation.signature_specs import version_folder

STREAMING = "apache_beam.runners.direct.direct_runner.BundleBasedDirectRunner"
# Runs Beam's worker in a process that cannot import tfreps.
WITHOUT_TFREPS = (
    f'"{sys.executable}" -c "import sys; sys.modules[\'tfreps\'] = None; '
    'from apache_beam.runners.worker.sdk_worker_main import main; main(sys.argv)"'
)
RECORDS = [{"id": i, "text": text} for i, text in enumerate(["Ada lives", "", "in London ."])]
RECORDS[0] |= {"reason": "mine", "record": {"tags": 1}}  # the fields of a rejection
RECORDS += [{"id": 3}, {"id": 4, "text": 5}]


def is_expected(model):
    """Returns a check of `assert_that` for the annotated `RECORDS`."""
    expected = [(a.tags, a.confidences) for a in model.tag([r["text"] for r in RECORDS[:3]])]

    def check(found):
        assert sorted(record["id"] for record in found) == [0, 1, 2]
        for record in found:
            tags, confidences = expected[record["id"]]
            assert record["tags"] == tags
            assert_close(record["confidences"], confidences)

    return check


def are_rejected(found):
    reasons = {each["record"]["id"]: each["reason"] for each in found}
    assert reasons == {
        3: "the record has no field 'text'",
        4: "the field 'text' must be a text; got int",
    }


def test_a_bounded_pipeline(export):
    model, folder = export("tagger")
    with beam.Pipeline(FnApiRunner()) as pipeline:
        annotated, rejected = pipeline | beam.Create(RECORDS) | Annotate(folder)
        assert_that(annotated, is_expected(model), label="annotated")
        assert_that(rejected, are_rejected, label="rejected")


def test_workers_need_no_tfreps(export, tmp_path):
    """The worker process annotates, although `import tfreps` fails in it."""
    runner = FnApiRunner(SubprocessSDKEnvironment.from_command_string(WITHOUT_TFREPS))
    model, folder = export("tagger")
    with beam.Pipeline(runner) as pipeline:
        annotated, rejected = pipeline | beam.Create(RECORDS) | Annotate(folder)
        lines = annotated | beam.Map(lambda record: repr(sorted(record["tags"])))
        _ = lines | beam.io.WriteToText(str(tmp_path / "tags"), num_shards=1)
        missing = rejected | beam.Map(import_error)
        _ = missing | "Write errors" >> beam.io.WriteToText(str(tmp_path / "errors"), num_shards=1)
    [tags] = tmp_path.glob("tags*")
    expected = [repr(sorted(record.tags)) for record in model.tag([r["text"] for r in RECORDS[:3]])]
    assert sorted(tags.read_text().splitlines()) == sorted(expected)
    [errors] = tmp_path.glob("errors*")
    assert errors.read_text().splitlines() == ["ModuleNotFoundError"] * 2


def import_error(_):
    """Returns the name of the error of `import tfreps`, or "none"."""
    import importlib

    try:
        importlib.import_module("tfreps")
    except ImportError as error:
        return type(error).__name__
    return "none"


import_error.__module__ = "__main__"  # travels by value too


def test_a_stream_with_windows(export):
    model, folder = export("tagger")
    stream = test_stream.TestStream().advance_watermark_to(0)
    for second, record in enumerate(RECORDS):
        stream = stream.add_elements([TimestampedValue(record, 10 * second)])
        stream = stream.advance_watermark_to(10 * second + 1)
    tags = [record.tags for record in model.tag([record["text"] for record in RECORDS[:3]])]
    expected = [(0, 0, tags[0]), (0, 1, tags[1]), (20, 2, tags[2])]
    options = PipelineOptions(streaming=True)
    with beam.Pipeline(STREAMING, options) as pipeline:
        records = pipeline | stream.advance_watermark_to_infinity()
        records = records | beam.WindowInto(FixedWindows(20))
        annotated, rejected = records | Annotate(folder)
        found = annotated | beam.ParDo(StartOfWindow()) | "All" >> beam.WindowInto(GlobalWindows())
        assert_that(found, equal_to(expected), label="annotated")
        every = rejected | "Every" >> beam.WindowInto(GlobalWindows())
        assert_that(every, are_rejected, label="rejected")


class StartOfWindow(beam.DoFn):
    """Beam function that yields `(start of the window, id, tags)` of each record."""

    def process(self, record, window=beam.DoFn.WindowParam):
        yield int(window.start), record["id"], record["tags"]


def test_new_versions_annotate_later_records(export):
    """A version that Beam's side input names replaces the model between two records."""
    _, tagger = export("tagger")
    _, bert = export("bert_tagger")
    handler = Annotate(tagger, outputs=["tags"])._handler
    first = handler.run_inference([{"text": "the dog"}], handler.load_model())
    handler.update_model_path(f"{version_folder(bert)}/saved_model.pb")
    second = handler.run_inference([{"text": "the dog"}], handler.load_model())
    assert len(first[0]["tags"]) == len(second[0]["tags"]) == 2
    with beam.Pipeline(FnApiRunner()) as pipeline:
        update = ModelMetadata(version_folder(bert), "bert")
        updates = pipeline | "Update" >> beam.Create([update])
        annotate = Annotate(tagger, outputs=["tags"], model_updates=updates)
        annotated, _ = pipeline | beam.Create([{"text": "the dog"}]) | annotate
        assert_that(annotated, equal_to(second))


def test_watching_versions(export):
    _, folder = export("tagger")
    with pytest.raises(
        ValueError, match="`watch_seconds` requires a folder of versions; .* is a si"
    ):
        Annotate(version_folder(folder), watch_seconds=5)
    pipeline = beam.Pipeline(STREAMING, PipelineOptions(streaming=True))  # is built, but not run
    records = (
        pipeline | test_stream.TestStream().add_elements(RECORDS).advance_watermark_to_infinity()
    )
    annotated, _ = records | Annotate(folder, watch_seconds=5)
    assert not annotated.is_bounded
    names = [label for label in pipeline.applied_labels if "MatchContinuously" in label]
    assert names and "Watch versions" in names[0]
