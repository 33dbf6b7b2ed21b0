"""Sends raw sentences to a served model over REST or gRPC and prints its outputs.

The server is tfreps serve or TensorFlow Serving. Sentences are read from the command line, from
--file, or from standard input, one per line (UTF-8). For taggers and classifiers, the command
prints tags, spans, labels and their probabilities as text; for other models, it prints the shape
and the first numbers of each output. With --json, it prints all outputs of the model as one JSON
object per sentence. REST does not need TensorFlow on the client.
"""

import json

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.start_tensorflow import start_tensorflow
from tfreps._src.cli.text_streams import FILE, SENTENCES, read_sentences
from tfreps.serving.server.connect import connect
from tfreps.serving.server.output_lines import as_lines

BATCH = 32
COMMAND = Command(
    "query",
    __doc__,
    {
        "model": Option(
            str, None, "Name of the model on the server.", required=True, metavar="NAME"
        ),
        "sentences": SENTENCES,
    },
    [
        Group("input", "Sentences to send.", {
            "file": FILE,
        }),
        Group("output", "Outputs to print.", {
            "json": Option(
                bool, False, "Print all outputs of the model as JSON lines. By default, tags, "
                "spans and labels are printed as text, and arrays are abbreviated.",
            ),
            "status": Option(
                bool, False, "Print the versions of the model and their states instead of sending "
                "sentences.",
            ),
        }),
        Group("version", "Version and signature of the model.", {
            "version": Option(
                int, None, "Number of the version to query. Defaults to the newest version.",
                at_least=0, excludes="label",
            ),
            "signature": Option(
                str, None, "Name of the signature to call, whose only input must be text. Defaults "
                "to serving_default.",
            ),
            "label": Option(str, None, "Label of the version to query, such as stable."),
        }),
        Group("server", "Address and protocol of the server.", {
            "rest_port": Option(
                int, 8501, "Port of the server for REST requests.", at_least=0, at_most=65535
            ),
            "grpc_port": Option(
                int, 8500, "Port of the server for gRPC requests.", at_least=0, at_most=65535
            ),
            "timeout_seconds": Option(
                float, 60.0, "Seconds to wait for a response.", above=0, at_most=1e6
            ),
            "grpc": Option(bool, False, "Use gRPC instead of REST."),
            "host": Option(str, "127.0.0.1", "Host name or IP address of the server."),
            "ca_file": Option(
                str, None, "PEM file with the certificate of the server; the connection then uses "
                "TLS. By default, the connection is not encrypted.", metavar="FILE",
            ),
        }),
    ],
    (
        'tfreps query ner "Ada lived in London ." "Another sentence"',
        "tfreps query reviews --file reviews.txt --grpc --label stable",
        "tfreps query ner --status",
    ),
    flags={"timeout": "--timeout-seconds"},
    tensorflow=False,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(query, argv)


def query(options):
    if options.grpc:
        start_tensorflow()
    port = options.grpc_port if options.grpc else options.rest_port
    client = connect(options.host, port, options.grpc, options.timeout_seconds, options.ca_file)
    which = {"version": options.version, "label": options.label}
    try:
        if options.status:
            print_status(client.status(options.model, **which))
            return
        for batch in read_sentences(options, BATCH):
            predictions = client.predict(options.model, batch, options.signature or "", **which)
            for text, outputs in zip(batch, predictions, strict=True):
                show(text, outputs, options.json)
    finally:
        client.close()


def show(text, outputs, as_json):
    if as_json:
        print(json.dumps({"text": text, **outputs}, ensure_ascii=False), flush=True)
    else:
        print(*as_lines(text, outputs), sep="\n", flush=True)


def print_status(versions):
    for version, state, error in versions:
        print(f"version {version}: {state}{f', {error}' if error else ''}")
