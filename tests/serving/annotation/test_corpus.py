"""annotate_corpus writes every record once, with the outputs of the model, or nothing at all."""

import gzip
import json
import os
import pathlib
import resource
import signal
import threading

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa

from tests.closeness import assert_close
from tests.serving.annotation.bucket import BucketFileSystem
from tests.serving.annotation.formats.formats_catalogue import READ, WRITE
from tfreps.serving.annotation import beam_runners, corpus, reading
from tfreps.serving.annotation.beam_runners import LostWorkerError
from tfreps.serving.annotation.corpus import annotate_corpus

# After an error, Beam leaves the file open that it was writing.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

TEXTS = ["Ada lives in London .", "", "naïve 你好 .", "London " * 30, "Ada"]


def annotated(folder, output_format="jsonl"):
    """Returns the records of an output folder, sorted by text."""
    found = []
    for path in pathlib.Path(folder).glob("annotated-*"):
        found += READ[output_format](path)
    return sorted(found, key=lambda record: record["text"])


def rejected(folder):
    return [
        line for path in pathlib.Path(folder).glob("rejected-*") for line in READ["jsonl"](path)
    ]


def lines(folder):
    """Returns the sorted lines of the annotated records, byte for byte."""
    paths = pathlib.Path(folder).glob("annotated-*")
    return sorted(line for path in paths for line in path.read_bytes().splitlines())


def write_texts(path, count):
    """Writes distinct lines of different lengths; returns the path as str."""
    words = ["Ada", "lives", "in", "London", ".", "Rome"]
    rng = np.random.default_rng(0)
    rows = [f"{i} " + " ".join(rng.choice(words, rng.integers(1, 30))) for i in range(count)]
    path.write_text("\n".join(rows) + "\n")
    return str(path)


@pytest.mark.parametrize("output_format", WRITE)
def test_outputs_are_those_of_the_model(export, tmp_path, output_format):
    model, folder = export("tagger")
    (tmp_path / "in.txt").write_text("\n".join(TEXTS) + "\n")
    out = str(tmp_path / "out")
    found = annotate_corpus(folder, [f"{tmp_path}/*.txt"], out, output_format=output_format)
    assert (found.annotated, found.rejected, found.attempts) == (5, 0, 1)
    rows = sorted(TEXTS, key=str.strip)
    for record, text in zip(annotated_as_lists(out, output_format), rows, strict=True):
        [expected] = model.tag([text])
        assert (record["tokens"], record["tags"]) == (expected.tokens, expected.tags)
        assert_close(record["confidences"], expected.confidences)
        assert record["starts"] == [span.start for span in expected.spans]
    assert found.tokens == sum(len(record.tokens) for record in model.tag(TEXTS))
    about = json.loads((tmp_path / "out" / "schema.json").read_text())
    assert about["format"] == output_format and about["annotated"] == 5
    assert [field["name"] for field in about["fields"]] == [
        *("text", "tokens", "tags", "confidences", "spans")
    ]


def annotated_as_lists(folder, output_format):
    """Returns the records with the starts of their spans, which TFRecord stores separately."""
    found = []
    for path in pathlib.Path(folder).glob("annotated-*"):
        for record in READ[output_format](path):
            spans = record.get("spans") or []
            starts = record.get("spans_start", [span["start"] for span in spans])
            found.append({**record, "starts": starts})
    return sorted(found, key=lambda record: "".join(record["text"]))


@pytest.mark.parametrize("input_format", WRITE)
def test_every_input_format(export, tmp_path, input_format):
    records = [{"id": i, "text": text, "tokens": [], "score": 0.5} for i, text in enumerate(TEXTS)]
    WRITE[input_format](tmp_path / "in", records)
    how = {"input_format": input_format, "outputs": ["label"], "keep": ["id"]}
    found = annotate_corpus(export("classifier")[1], [f"{tmp_path}/in"], f"{tmp_path}/out", **how)
    assert found.annotated == 5
    labels = [record.label for record in export("classifier")[0].classify(TEXTS)]
    expected = [
        {"id": i, "text": text, "label": label}
        for i, (text, label) in enumerate(zip(TEXTS, labels, strict=True))
    ]
    assert sorted(annotated(f"{tmp_path}/out"), key=lambda record: record["id"]) == expected


def test_lists_of_tokens(export, tmp_path):
    records = [{"id": 1, "tokens": ["Ada", "lives"]}, {"id": 2, "tokens": []}]
    WRITE["jsonl"](tmp_path / "in", records)
    how = {"input_format": "jsonl", "field": "tokens", "signature": "tokens", "outputs": ["tags"]}
    annotate_corpus(export("tagger")[1], [f"{tmp_path}/in"], f"{tmp_path}/out", **how)
    [path] = (tmp_path / "out").glob("annotated-*")
    expected = [record.tags for record in export("tagger")[0].tag([r["tokens"] for r in records])]
    assert [record["tags"] for record in READ["jsonl"](path)] == expected


def test_vectors_in_parquet(export, tmp_path):
    (tmp_path / "in.txt").write_text("the bank\n")
    how = {"outputs": ["default", "elmo"], "output_format": "parquet"}
    annotate_corpus(export("bilm")[1], [f"{tmp_path}/in.txt"], f"{tmp_path}/out", **how)
    [record] = annotated(f"{tmp_path}/out", "parquet")
    assert np.shape(record["elmo"]) == (2, 12)
    assert_close(np.mean(record["elmo"], axis=0), record["default"])


def test_one_vector_per_text(export, tmp_path):
    texts = ["the bank", "a dog"]
    (tmp_path / "in.txt").write_text("the bank\na dog\n")
    model, folder = export("embedder")
    result = annotate_corpus(folder, [f"{tmp_path}/in.txt"], f"{tmp_path}/out")
    found = sorted(annotated(f"{tmp_path}/out"), key=lambda record: texts.index(record["text"]))
    assert_close([record["vectors"] for record in found], model(texts).vectors)
    assert (result.annotated, result.tokens) == (2, 4)


def test_what_cannot_be_read_is_rejected_and_the_rest_is_done(export, tmp_path):
    good = [{"id": 1, "text": "Ada"}, {"id": 2, "text": "London"}]
    bad = [b"\xff\xfe", b'{"id": 3}', b'{"id": 4, "text": 7}', b"[1]", b'{"id": "x", "text": "a"}']
    bad.append(json.dumps({"id": 5, "text": "x" * 101}).encode())
    raw = [json.dumps(record).encode() for record in good]
    (tmp_path / "in.jsonl").write_bytes(b"\n".join([raw[0], *bad, raw[1]]) + b"\n")
    (tmp_path / "first.jsonl").write_bytes(b"\n".join(raw[:1] * 1000))
    how = {"input_format": "jsonl", "output_format": "parquet", "max_bytes": 100}
    paths = [f"{tmp_path}/first.jsonl", f"{tmp_path}/in.jsonl"]
    found = annotate_corpus(export("tagger")[1], paths, f"{tmp_path}/out", **how)
    assert (found.annotated, found.rejected) == (1002, 6)
    reasons = sorted(each["reason"] for each in rejected(f"{tmp_path}/out"))
    assert reasons == [
        "the field 'id' must be int64, as in most of the first records; got 'x'",
        "the field 'text' must be string, as in most of the first records; got 7",
        "the line must be UTF-8 text; byte 1 of the line is not",
        "the line must be a JSON object; got list",
        "the record has no field 'text'",
        "the text is too long: 101 bytes, and at most 100 are read",
    ]
    assert {each["file"] for each in rejected(f"{tmp_path}/out")} == {f"{tmp_path}/in.jsonl"}


def test_a_field_that_the_first_records_lack(export, tmp_path):
    """JSON lines keep it; a format whose fields are known in advance rejects the record."""
    records = [{"text": "Ada"}] * 1000 + [{"text": "Ada", "more": [{"a": 1}]}]
    WRITE["jsonl"](tmp_path / "in", records)
    for output_format, rejected in {"jsonl": 0, "tfrecord": 1}.items():
        how = {"input_format": "jsonl", "output_format": output_format, "outputs": ["tags"]}
        out = f"{tmp_path}/{output_format}"
        found = annotate_corpus(export("tagger")[1], [f"{tmp_path}/in"], out, **how)
        assert (found.annotated, found.rejected) == (1001 - rejected, rejected)


def test_the_number_of_workers_does_not_change_a_byte(export, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LEAST_PART", 1 << 12)
    path, folder = write_texts(tmp_path / "in.txt", 1500), export("tagger")[1]
    for workers in (1, 2):
        how = {"workers": workers, "threads": 1, "progress": lambda *_: None}
        found = annotate_corpus(folder, [path], f"{tmp_path}/out{workers}", **how)
        assert found.annotated == 1500
    assert lines(f"{tmp_path}/out1") == lines(f"{tmp_path}/out2")
    assert len(set(lines(f"{tmp_path}/out1"))) == 1500


class WorkerKiller:
    """Progress function that kills one worker process after `limit` records."""

    def __init__(self, limit):
        self.left = limit
        self.killed = []

    def __call__(self, records, tokens):
        self.left -= records
        if self.left <= 0 and not self.killed:
            self.killed = worker_processes()[:1]
            for process in self.killed:
                os.kill(process, signal.SIGKILL)


def worker_processes():
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"tfreps.serving.annotation.local_worker" in command and b"-m" in command:
            found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_a_killed_worker_changes_nothing(export, tmp_path, monkeypatch):
    """The output is that of an undisturbed run, byte for byte after sorting."""
    monkeypatch.setattr(reading, "LEAST_PART", 1 << 12)
    path, folder = write_texts(tmp_path / "in.txt", 12_000), export("tagger")[1]
    how = {"workers": 2, "threads": 1, "batch_tokens": 512}
    progress = WorkerKiller(500)
    found = annotate_corpus(folder, [path], f"{tmp_path}/out", progress=progress, **how)
    assert progress.killed and found.attempts == 2
    annotate_corpus(folder, [path], f"{tmp_path}/undisturbed", **how)
    assert lines(f"{tmp_path}/out") == lines(f"{tmp_path}/undisturbed")
    assert len(set(lines(f"{tmp_path}/out"))) == 12_000
    assert sorted(os.listdir(tmp_path)) == ["in.txt", "out", "undisturbed"]


def test_workers_that_are_lost_again_and_again(export, tmp_path, monkeypatch):
    (tmp_path / "in.txt").write_text("Ada\n")
    calls = []

    def lose(*_):
        calls.append(1)
        raise LostWorkerError("lost")

    monkeypatch.setattr(beam_runners, "run_pipeline", lose)
    with pytest.raises(
        LostWorkerError, match="A worker process was lost in each of 2 attempts, and no"
    ):
        annotate_corpus(export("tagger")[1], [f"{tmp_path}/in.txt"], f"{tmp_path}/o", attempts=2)
    assert len(calls) == 2 and os.listdir(tmp_path) == ["in.txt"]


def test_a_bucket(export, tmp_path):
    """Export, input and output may be on a file system that has no folders."""
    BucketFileSystem.folder = tmp_path
    (tmp_path / "in.txt").write_text("Ada lives\n")
    source = pathlib.Path(export("tagger")[1])
    for path in source.rglob("*"):
        if path.is_file():
            name = str(path.relative_to(source)).replace("/", "%")
            (tmp_path / f"ner%{name}").write_bytes(path.read_bytes())
    found = annotate_corpus("bucket://ner", ["bucket://in.txt"], "bucket://out")
    assert found.annotated == 1
    assert found.files == [
        "bucket://out/annotated-00000-of-00001.jsonl",
        "bucket://out/schema.json",
    ]
    assert len(list(tmp_path.glob("out*"))) == 2


def tagged(export, tmp_path, **options):
    """Annotates `in.txt` and returns the error; checks that nothing was written."""
    if not (tmp_path / "in.txt").exists():
        (tmp_path / "in.txt").write_text("Ada\n")
    before = sorted(os.listdir(tmp_path))
    given = {"inputs": [f"{tmp_path}/in.txt"], **options}
    folder = given.pop("folder", export("tagger")[1])
    with pytest.raises((ValueError, OSError)) as error:
        annotate_corpus(folder, output=f"{tmp_path}/out", **given)
    assert sorted(os.listdir(tmp_path)) == before
    return str(error.value)


@pytest.mark.parametrize("input_format", [name for name in WRITE if name != "jsonl"])
def test_a_damaged_shard(export, tmp_path, input_format):
    path = tmp_path / "in.txt"
    WRITE[input_format](path, [{"text": "Ada " * 50}] * 40)
    path.write_bytes(path.read_bytes()[:-20])
    how = {"input_format": input_format, "outputs": ["tags"], "keep": []}
    message = tagged(export, tmp_path, **how)
    assert message.startswith(f"{path} is damaged, truncated, or not in the given `input_format` (")
    path.write_bytes(b"no file of this format")
    assert "is damaged, truncated" in tagged(export, tmp_path, **how)


def test_a_shard_that_is_damaged_after_its_first_records(export, tmp_path):
    path = tmp_path / "in.txt.gz"
    rng = np.random.default_rng(0)
    text = "".join(f"{number}\n" for number in rng.integers(0, 10**9, 60_000))
    path.write_bytes(gzip.compress(text.encode())[:-100])
    message = tagged(export, tmp_path, inputs=[str(path)])
    assert message.startswith(
        f"{path} is damaged, truncated, or not in the given `input_format` (Compr"
    )


def test_an_empty_shard(export, tmp_path):
    (tmp_path / "in.txt").write_bytes(b"")
    assert "in.txt is empty (0 bytes)" in tagged(export, tmp_path)


def test_fields_that_are_missing_or_no_text(export, tmp_path):
    write = WRITE["parquet"]
    write(tmp_path / "in.txt", [{"id": 1, "text": "Ada"}])
    how = {"input_format": "parquet"}
    message = tagged(export, tmp_path, field="body", **how)
    assert (
        message == "`field` is 'body', but the records have no such field; they have 'id', 'text'."
    )
    message = tagged(export, tmp_path, field="id", **how)
    assert "a field that contains text; 'id' contains int64. Set `field` to another" in message
    message = tagged(export, tmp_path, signature="tokens", **how)
    assert "contains a list of texts (the tokens); 'text' contains string. Set `field`" in message
    assert "`keep` contains 'x', but" in tagged(export, tmp_path, keep=["x"], **how)
    write(tmp_path / "in.txt", [{"tags": "mine", "text": "Ada"}])
    assert "already have the field 'tags'" in tagged(export, tmp_path, **how)
    annotate_corpus(
        export("tagger")[1], [f"{tmp_path}/in.txt"], f"{tmp_path}/out", prefix="my_", **how
    )
    [record] = annotated(f"{tmp_path}/out")
    assert record["tags"] == "mine" and len(record["my_tags"]) == 1


def test_types_that_a_format_lacks(export, tmp_path):
    when = pa.table({"text": ["Ada"], "when": pa.array([0], pa.timestamp("us"))})
    pa.parquet.write_table(when, tmp_path / "in.txt")
    for output_format in ("jsonl", "avro", "tfrecord"):
        how = {"input_format": "parquet", "output_format": output_format}
        message = tagged(export, tmp_path, **how)
        assert "the field 'when'" in message and "Leave the field out with `keep`" in message
    how = {"input_format": "parquet", "output_format": "parquet"}
    annotate_corpus(export("tagger")[1], [f"{tmp_path}/in.txt"], f"{tmp_path}/out", **how)
    assert annotated(f"{tmp_path}/out", "parquet")[0]["when"].year == 1970


def test_other_arguments(export, tmp_path):
    assert "`runner` must be one of local, " in tagged(export, tmp_path, runner="X")
    assert "is not a SavedModel" in tagged(export, tmp_path, folder=str(tmp_path))
    assert "matches no file" in tagged(export, tmp_path, inputs=[f"{tmp_path}/no*"])
    assert "`outputs` contains 'elmo'" in tagged(export, tmp_path, outputs=["elmo"])
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "letter").write_text("mine")
    assert "out already exists" in tagged(export, tmp_path)
    assert "was not written by `tfreps annotate`" in tagged(export, tmp_path, overwrite=True)


def test_a_full_disk(export, tmp_path):
    """The limit of the size of a file fails as a full disk does."""
    write_texts(tmp_path / "in.txt", 3000)
    export("tagger")  # is written without the limit
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        message = tagged(export, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert message.endswith(f"File too large: '{tmp_path}/out'")


def test_a_run_replaces_the_output_of_an_earlier_one(export, tmp_path):
    (tmp_path / "in.txt").write_bytes(b"Ada\n\xff")
    given = export("tagger")[1], [f"{tmp_path}/in.txt"], f"{tmp_path}/out"
    assert annotate_corpus(*given, shards=3).files[2:] == [
        f"{tmp_path}/out/annotated-00002-of-00003.jsonl",
        f"{tmp_path}/out/rejected-00000-of-00001.jsonl",
        f"{tmp_path}/out/schema.json",
    ]
    (tmp_path / "in.txt").write_text("Ada\n")
    found = annotate_corpus(*given, overwrite=True)
    assert [os.path.basename(path) for path in found.files] == [
        "annotated-00000-of-00001.jsonl",
        "schema.json",
    ]


def test_progress_is_reported(tmp_path):
    seen = []
    event = threading.Event()

    def progress(records, tokens):
        seen.append((records, tokens))
        event.set()

    with corpus._watched(progress) as folder:
        pathlib.Path(folder, "1").write_text("3 30")
        pathlib.Path(folder, "2").write_text("")  # a worker is about to write it
        assert event.wait(10)
    assert seen == [(3, 30)]
