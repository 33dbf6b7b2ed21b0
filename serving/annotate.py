"""Annotates a corpus of any size with an exported SavedModel, on Apache Beam.

The records are the lines of text files, or the records of JSON lines, Parquet, Avro or TFRecord
files, which may be on any file system that Beam supports. Each record is written with the output of
the model: a tagger adds tokens, tags, confidences and, with a tag scheme, spans; a classifier adds
a label and probabilities; a biLM, BERT model or text embedder adds vectors. The folder --output
contains

    annotated-*         the records, in --output-format
    rejected-*.jsonl    the records that cannot be processed, each with its reason, if there are any
    schema.json         the fields of the records, and the number of records

and appears when all of it is written. Records are not in the order of the input. By default, the
command uses this machine; --runner uses a cluster, whose workers need TensorFlow and the export,
but not tfreps. Options of Beam and its runner follow after `--`.
"""

import importlib.util
import logging
import sys

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.files.progress import make_progress

RECORDS = "input_format=jsonl|parquet|avro|tfrecord"  # formats whose records have fields
READING = {
    "input_format": Option(
        str, "text", "Format of the input files.", ["text", "jsonl", "parquet", "avro", "tfrecord"]
    ),
    "field": Option(
        str, None, "Name of the field that contains the text or, with --signature tokens, the list "
        "of tokens. Defaults to text or, with --signature tokens, to tokens.", needs=RECORDS,
        metavar="NAME",
    ),
    "signature": Option(
        str, "default", "Signature of the export: default, which reads raw text, or tokens, which "
        "reads lists of tokens.", ["default", "tokens"], needs=f"{RECORDS} if signature=tokens",
    ),
    "max_bytes": Option(
        int, 200_000, "Maximum size of a text in bytes. A longer text is rejected.", at_least=1
    ),
    "allow_empty": Option(
        bool, False, "Leave out input files of 0 bytes, which are otherwise an error."
    ),
}  # fmt: skip
WRITING = {
    "output": Option(str, None, "Folder for the annotated records.", required=True, metavar="DIR"),
    "output_format": Option(
        str, "jsonl", "Format of the output files.", ["jsonl", "parquet", "avro", "tfrecord"]
    ),
    "outputs": Option(
        str, None, "Outputs of the signature to write, by name; spans writes the spans of a "
        "tagger. Defaults to the tokens, tags, confidences and spans of a tagger, the labels and "
        "probabilities of a classifier, or the vector of the text.", many=True, metavar="NAME",
    ),
    "prefix": Option(
        str, None, "Text that is put in front of the names of the added fields. By default, the "
        "names have no prefix.", metavar="TEXT",
    ),
    "keep": Option(
        str, None, "Fields of the input to write in addition to the text. Defaults to all fields.",
        many=True, metavar="NAME",
    ),
    "shards": Option(
        int, 0, "Number of output files. With 0, the runner chooses the number.", at_least=0
    ),
    "overwrite": Option(bool, False, "Replace the output folder if this command wrote it."),
}  # fmt: skip
RUNNING = {
    "runner": Option(
        str, "local", "Runner of Beam: local, DataflowRunner, FlinkRunner, SparkRunner, "
        "PortableRunner or PrismRunner.", metavar="NAME",
    ),
    "workers": Option(
        int, 1, "Number of worker processes of the local runner, each with a copy of the model. "
        "For other runners, give the option of that runner after --, as in -- --num_workers=8.",
        at_least=1, needs="runner=local",
    ),
    "threads": Option(
        int, None, "Number of TensorFlow threads in each worker. Defaults to the number of cores "
        "divided by --workers. The number of threads changes results only by rounding.", at_least=1,
    ),
    "batch_size": Option(
        int, 1024, "Number of records that are collected, sorted by length, and divided into calls "
        "of the model.", at_least=1,
    ),
    "batch_tokens": Option(
        int, 4096, "Maximum number of tokens in a call of the model, padding included.", at_least=1
    ),
    "attempts": Option(
        int, 3, "Maximum number of times that the pipeline is started. It is started again if a "
        "worker process of the local runner is killed.", at_least=1,
    ),
}  # fmt: skip
COMMAND = Command(
    "annotate",
    __doc__,
    {
        "export": Option(
            str, None, "Folder written by 'tfreps export', whose newest version is used, or the "
            "folder of one of its versions.", required=True, metavar="DIR",
        ),
        "inputs": Option(
            str, None, "Input files or glob patterns, as local paths or as addresses such as "
            "gs://mine/*.txt.", many=True, required=True, metavar="FILE",
        ),
    },
    [
        Group("input", "Format and fields of the records.", READING),
        Group("output", "Folder, format and fields of the output.", WRITING),
        Group("running", "Runner, workers and batches.", RUNNING),
    ],
    (
        "tfreps annotate exports/ner 'texts/*.txt' --output annotated",
        "tfreps annotate exports/reviews 'gs://mine/reviews/*.parquet' --input-format parquet \\\n"
        "    --output-format parquet --output gs://mine/labeled --runner DataflowRunner \\\n"
        "    -- --project=mine --region=europe-west1 --temp_location=gs://mine/temp",
        "tfreps annotate exports/elmo texts.jsonl --input-format jsonl --outputs elmo --workers 4 "
        "\\\n    --output vectors --output-format parquet",
    ),
    usage="tfreps annotate DIR FILE [FILE ...] --output DIR [options] [-- BEAM OPTIONS]",
)  # fmt: skip


def main(argv=None):
    given, pipeline_options = split_arguments(argv)
    return COMMAND.run(lambda options: annotate(options, pipeline_options), given)


def annotate(options, pipeline_options):
    annotate_corpus = import_annotate_corpus()
    given = {**vars(options), "prefix": options.prefix or ""}
    given["field"] = options.field or {"default": "text", "tokens": "tokens"}[options.signature]
    progress = make_progress("records")
    result = annotate_corpus(**given, pipeline_options=pipeline_options, progress=progress)
    say(options, result)


def split_arguments(argv):
    """Divides a list of arguments at `--`: returns the arguments of this command, and of Beam."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if "--" not in argv:
        return argv, []
    position = argv.index("--")
    return argv[:position], argv[position + 1 :]


def import_annotate_corpus():
    """Imports and returns the function `annotate_corpus`.

    A warning about BigQuery, which Beam logs when it is imported, is suppressed.
    """
    if importlib.util.find_spec("apache_beam") is None:
        raise ValueError(
            "tfreps annotate needs Apache Beam, which is not installed. Install it in an "
            "environment of its own: in a checkout of tfreps, run pip install '.[beam]'."
        )
    logging.disable(logging.WARNING)
    try:
        from tfreps.serving.annotation.corpus import annotate_corpus
    finally:
        logging.disable(logging.NOTSET)
    return annotate_corpus


def say(options, result):
    """Prints the number of written and of rejected records, and a command that shows a few."""
    shards = [path for path in result.files if "/annotated-" in path.replace("\\", "/")]
    lost = f" A worker was lost; attempt {result.attempts} succeeded."
    again = "" if result.attempts == 1 else lost
    print(
        f"Wrote {options.output}: {result.annotated:,} annotated records, {result.tokens:,} "
        f"tokens, in {len(shards)} files.{again}"
    )
    if result.rejected:
        print(
            f"Rejected {result.rejected:,} records, with a reason for each in "
            f"{options.output}/rejected-*.jsonl."
        )
    first = shards[0] if shards else options.output
    print(f"Next, to read the first records:\n  {reading(options.output_format, first)}")


def reading(output_format, path):
    """Returns a shell command that prints the first records of the file `path`."""
    if output_format == "jsonl":
        return f"head -n 3 {path}"
    code = {
        "parquet": f'import pandas; print(pandas.read_parquet("{path}").head(3))',
        "avro": f'import fastavro; print(next(fastavro.reader(open("{path}", "rb"))))',
        "tfrecord": f'import tensorflow as tf; print(*tf.data.TFRecordDataset("{path}").take(1))',
    }[output_format]
    return f"python -c '{code}'"
