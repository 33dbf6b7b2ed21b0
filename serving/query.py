"""Sends raw sentences to a served model over REST or gRPC and prints its answers.

The server is tfreps serve or TensorFlow Serving. Sentences are read from the command line, from
--file, or from standard input, one per line (UTF-8). For taggers and classifiers, the program
prints tags, spans, labels and their probabilities as text; for other models, it prints the shape
and the first numbers of each output. With --json, it prints all outputs of the model as one JSON
object per sentence. REST does not need TensorFlow on the client.
"""

import itertools
import json
import sys

from tfreps.cli.options import Option, add_flags, check_options, checked_parser, first_line
from tfreps.cli.program_help import program_parser
from tfreps.cli.text_streams import read_texts
from tfreps.server.answers import as_lines

BATCH = 32
WHICH = {
    "version": Option(
        int, None, "Number of the version to query. Defaults to the newest version.", at_least=0
    )
}
WHERE = {
    "rest_port": Option(int, 8501, "REST port of the server.", at_least=0, at_most=65535),
    "grpc_port": Option(int, 8500, "gRPC port of the server.", at_least=0, at_most=65535),
    "timeout_seconds": Option(float, 60.0, "Seconds to wait for an answer.", above=0, at_most=1e6),
}
EXAMPLES = (
    'tfreps query ner "Ada lived in London ." "Another sentence"',
    "tfreps query reviews --file reviews.txt --grpc --label stable",
    "tfreps query ner --status",
)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else list(argv)
    options = checked_parser(make_parser(), argv).parse_intermixed_args(argv)
    check_options(options, WHICH, WHERE)
    if options.file is not None and options.sentences:
        raise ValueError("--file cannot be combined with sentences on the command line.")
    if options.version is not None and options.label is not None:
        raise ValueError("--version cannot be combined with --label.")
    client = connect(options)
    which = {"version": options.version, "label": options.label}
    try:
        if options.status:
            print_status(client.status(options.model, **which))
            return 0
        for batch in batches(options):
            answers = client.ask(options.model, batch, options.signature, **which)
            for text, answer in zip(batch, answers, strict=True):
                show(text, answer, options.json)
    finally:
        client.close()
    return 0


def make_parser():
    parser = program_parser("tfreps query", first_line(__doc__), EXAMPLES)
    parser.add_argument("model", metavar="NAME", help="Name of the model on the server.")
    about = "Raw sentences. Defaults to the lines of --file or of standard input."
    parser.add_argument("sentences", metavar="SENTENCE", nargs="*", help=about)
    add = parser.add_argument_group("input", "Sentences to send.").add_argument
    add("--file", help="UTF-8 text file with one sentence per line.")
    add = parser.add_argument_group("output", "Answers to print.").add_argument
    add("--json", action="store_true", help="Print all outputs of the model as JSON lines.")
    about = "Print the versions of the model and their states instead of sending sentences."
    add("--status", action="store_true", help=about)
    which = parser.add_argument_group("version", "Version and signature of the model.")
    add_flags(which, WHICH)
    add = which.add_argument
    about = "Signature to call; its only input must be text. Defaults to serving_default."
    add("--signature", default="", help=about)
    add("--label", help="Label of the version to query, such as stable.")
    where = parser.add_argument_group("server", "Address and protocol of the server.")
    add_flags(where, WHERE)
    add = where.add_argument
    add("--grpc", action="store_true", help="Use gRPC instead of REST.")
    add("--host", default="127.0.0.1", help="Host name or IP address of the server.")
    add("--tls-ca", metavar="FILE", help="Use TLS and trust the certificate in this PEM file.")
    return parser


def connect(options):
    """Returns a client for the protocol that the options select."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    try:
        if options.grpc:
            from tfreps.server.grpc.grpc_client import GrpcClient

            address = f"{host}:{options.grpc_port}"
            return GrpcClient(address, options.timeout_seconds, options.tls_ca)
        from tfreps.server.rest.rest_client import RestClient
    except ModuleNotFoundError as error:
        raise ValueError(
            f"The client needs the module {error.name}, which is not installed. In a checkout of "
            "tfreps, run pip install '.[serving]'."
        ) from None
    address = f"{'https' if options.tls_ca else 'http'}://{host}:{options.rest_port}"
    return RestClient(address, options.timeout_seconds, options.tls_ca)


def batches(options):
    """Yields lists of sentences from the command line, the file or standard input."""
    if options.sentences:
        sentences = iter(options.sentences)
        while batch := list(itertools.islice(sentences, BATCH)):
            yield batch
    else:
        yield from read_texts("-" if options.file is None else options.file, BATCH)


def show(text, answer, as_json):
    if as_json:
        print(json.dumps({"text": text, **answer}, ensure_ascii=False), flush=True)
    else:
        print(*as_lines(text, answer), sep="\n", flush=True)


def print_status(versions):
    for version, state, error in versions:
        print(f"version {version}: {state}{f', {error}' if error else ''}")


if __name__ == "__main__":
    sys.exit(main())
