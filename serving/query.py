"""Asks a served model about raw sentences, over REST or gRPC, `tfreps serve` or TensorFlow Serving.

    tfreps query ner "Ada lived in London ." "Another sentence"
    tfreps query reviews --file reviews.txt --grpc --label stable
    tfreps query ner --status

Sentences come from the command line, from --file, or else from standard input, one a line (UTF-8).
Tags, spans, labels and their probabilities are printed to be read; with --json, everything that the
model answered, one JSON object a sentence. REST needs no TensorFlow on this side.
"""

import argparse
import itertools
import json
import sys

from tfreps.cli.options import Option, add_flags, check_options, short_errors
from tfreps.cli.text_streams import read_texts
from tfreps.server.answers import as_lines

BATCH = 32
WHICH = {"version": Option(int, None, "the newest by default", at_least=0)}
WHERE = {
    "rest_port": Option(int, 8501, "(8501)", at_least=0, at_most=65535),
    "grpc_port": Option(int, 8500, "(8500)", at_least=0, at_most=65535),
    "timeout_seconds": Option(float, 60.0, "to wait for an answer (60)", above=0, at_most=1e6),
}


def main(argv=None):
    options = short_errors(make_parser()).parse_intermixed_args(argv)
    check_options(options, WHICH, WHERE)
    if options.file is not None and options.sentences:
        raise ValueError("Give sentences or --file, not both.")
    if options.version is not None and options.label is not None:
        raise ValueError("Give --version or --label, not both.")
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
    parser = argparse.ArgumentParser(
        prog="tfreps query", description="Answers of a served model, over REST or gRPC."
    )
    parser.add_argument("model", metavar="NAME", help="of the model")
    parser.add_argument("sentences", metavar="SENTENCE", nargs="*", help="raw sentences")
    parser.add_argument("--file", help="sentences from a UTF-8 text file, one a line")
    parser.add_argument("--json", action="store_true", help="every output, as JSON lines")
    parser.add_argument("--status", action="store_true", help="which versions are served")
    which = parser.add_argument_group("which")
    add_flags(which, WHICH)
    add = which.add_argument
    add("--signature", default="", help="one that takes texts alone (serving_default)")
    add("--label", help="a name for a version, such as stable")
    where = parser.add_argument_group("where")
    add_flags(where, WHERE)
    add = where.add_argument
    add("--grpc", action="store_true", help="gRPC instead of REST")
    add("--host", default="127.0.0.1", help="of the server (127.0.0.1)")
    add("--tls-ca", metavar="FILE", help="TLS, trusting the certificate in this PEM file")
    return parser


def connect(options):
    """A client of the protocol that was asked for."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    try:
        if options.grpc:
            from tfreps.server.grpc.grpc_client import GrpcClient

            address = f"{host}:{options.grpc_port}"
            return GrpcClient(address, options.timeout_seconds, options.tls_ca)
        from tfreps.server.rest.rest_client import RestClient
    except ModuleNotFoundError as error:
        raise ValueError(
            f"The client needs the package {error.name}: pip install 'tfreps[serving]'"
        ) from None
    address = f"{'https' if options.tls_ca else 'http'}://{host}:{options.rest_port}"
    return RestClient(address, options.timeout_seconds, options.tls_ca)


def batches(options):
    """Lists of sentences, wherever they are."""
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
