"""Serves SavedModels over gRPC and REST as TensorFlow Serving does, for development and tests.

    tfreps serve exports/ner
    tfreps serve tagger=exports/ner exports/elmo --rest-port 9001 --grpc-port 0 --page
    curl -d '{"instances": ["Ada lived in London ."]}' localhost:8501/v1/models/ner:predict

Every DIR is a model's base path: numbered versions as `tfreps export --to DIR` writes them, or any
other SavedModels. The newest version serves; a newer one that appears is loaded, warmed up, and
takes over; one that is broken is reported and leaves the serving one alone. --page adds a page to
look at: tags and paths, labels, attention, surprise, and neighbours of words, of exports made with
--explain. Serve only exports that you trust: a SavedModel is a program (SECURITY.md). Ends on
Ctrl-C or SIGTERM, once what was accepted is answered.
"""

import argparse
import contextlib
import gc
import logging
import os
import pathlib
import signal
import sys
import threading
import time

from tfreps.cli.options import Option, add_flags, check_options, short_errors
from tfreps.cli.text_streams import read_texts

PAGE = pathlib.Path(__file__).parent / "page"
MOST_SENTENCES = 1_000
LEAST_THREADS = 8
TRUST = "A SavedModel is a program: serve only exports that you trust (see SECURITY.md)."
MODELS = {
    "poll_seconds": Option(
        float, 1.0, "between looks for versions; 0: never (1)", at_least=0, at_most=1e6
    ),
}
PORTS = {
    "rest_port": Option(int, 8501, "0 for a free one (8501)", at_least=0, at_most=65535),
    "grpc_port": Option(int, 8500, "0 for a free one (8500)", at_least=0, at_most=65535),
}
WORK = {
    "max_batch_size": Option(int, 64, "sentences answered together; 1: none (64)", at_least=1),
    "batch_timeout_ms": Option(
        float, 0.0, "that a batch waits for more (0)", at_least=0, at_most=1e6
    ),
    "batch_threads": Option(int, 1, "batches at the same time (1)", at_least=1, at_most=1000),
    "max_queue": Option(int, 256, "requests in work, then 503 (256)", at_least=1),
    "timeout_seconds": Option(float, 60.0, "of a request, then 504 (60)", above=0, at_most=1e6),
    "max_message_mb": Option(int, 2_047, "of a gRPC request (2047)", at_least=1, at_most=2_047),
    "max_body_mb": Option(int, 128, "of a REST request, then 413 (128)", at_least=1),
    "max_text_mb": Option(int, 16, "texts, each as long as the longest (16)", at_least=1),
    "max_tokens": Option(int, 2**14, "texts x tokens of the longest (16384)", at_least=1),
    "max_text_tokens": Option(int, 2**12, "tokens of one text (4096)", at_least=1),
    "max_answer_mb": Option(int, 128, "of an answer, also as JSON (128)", at_least=1),
    "grace_seconds": Option(
        float, 30.0, "for accepted requests at the end (30)", at_least=0, at_most=1e6
    ),
}
NOTE = (
    "For development, tests and small installations: one Python process. Whatever speaks to it "
    "speaks to the container tensorflow/serving unchanged, which is the one for production."
)

LIMITS = (
    "Requests beyond a limit are rejected before the model runs, answers beyond --max-answer-mb "
    "once they are computed. The memory that a model uses while it runs is not limited: for an "
    "export of `tfreps export` it grows with the number of tokens; for any other model only the "
    "number of texts is limited, not their tokens. A run that takes longer than --timeout-seconds "
    "is stopped, unless it is part of a batch. Errors name an option as the library does: "
    "`max_tokens` is --max-tokens, `allowed_hosts` is --allow-host, `allowed_origins` is "
    "--allow-origin."
)


def main(argv=None):
    options = short_errors(make_parser()).parse_args(argv)
    print_log()
    stopped = threading.Event()
    stop_on_signals(stopped)
    server = make_server(options)
    gc.collect()
    gc.freeze()  # what is there now is never searched for garbage again
    try:
        server.start()
    except ValueError as error:
        raise ValueError(with_flags(str(error))) from error
    report(server, options)
    if options.sentence is not None:
        try_out(server, options)
    else:
        stopped.wait()
    print("Stopping: accepted requests are answered first.", flush=True)
    begin = time.monotonic()
    if not server.stop(options.grace_seconds):
        print(unfinished(server, time.monotonic() - begin), flush=True)
        os._exit(1)  # their threads cannot be stopped
    return 0


def print_log():
    """Prints the log of the server to standard error, each line once."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.addFilter(is_unprinted)
    logging.basicConfig(handlers=[handler])
    log = logging.getLogger("tfreps.server")
    log.setLevel(logging.INFO)
    log.addFilter(name_flags)


def is_unprinted(record):
    """Returns False for the warnings and errors that the `tfreps` command prints itself."""
    is_own = record.name.partition(".")[0] == "tfreps"
    return not (
        is_own and record.levelno >= logging.WARNING and logging.getLogger("tfreps").handlers
    )


def name_flags(record):
    """Replaces the arguments of the library in a log record by flags; keeps the record."""
    record.msg = with_flags(record.getMessage())
    record.args = ()
    return True


def with_flags(message):
    """Returns a message of the library with the flags that set the arguments it names."""
    return message.replace("`allow_file_ops=True`", "--allow-file-ops")


def unfinished(server, seconds):
    """What to print about requests that were in work when the server ended."""
    count = server.core.dispatcher.accepted
    return f"Stopped after {seconds:.1f} seconds with {count} requests still in work."


def stop_on_signals(stopped):
    """The first Ctrl-C or SIGTERM ends the server in order, the second at once."""

    def stop(*_):
        if stopped.is_set():
            os._exit(130)
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps serve", description=f"Serves SavedModels. {TRUST} {NOTE}"
    )
    parser.add_argument("folders", metavar="[NAME=]DIR", nargs="*", help="base path of a model")
    models = parser.add_argument_group("models")
    models.add_argument("--model-config", metavar="FILE", help="TensorFlow Serving's models.config")
    models.add_argument(
        "--label", metavar="NAME:LABEL=VERSION", action="append", default=[],
        help="a name for a version, as in /v1/models/NAME/labels/LABEL; it is served too",
    )  # fmt: skip
    models.add_argument(
        "--versions", metavar="NAME:POLICY", action="append", default=[],
        help="latest (default), latest:2, all, or numbers: 3,4",
    )  # fmt: skip
    add_flags(models, MODELS)
    models.add_argument(
        "--allow-file-ops", action="store_true",
        help="load models that use files, the network or Python; they are refused otherwise",
    )  # fmt: skip
    models.add_argument(
        "--try", metavar="SENTENCE", dest="sentence",
        help="ask the first model this over REST and over gRPC, print both answers, and end",
    )  # fmt: skip
    addresses = parser.add_argument_group("addresses")
    add_flags(addresses, PORTS)
    add = addresses.add_argument
    add("--host", default="127.0.0.1", help="this machine alone by default; 0.0.0.0 for all")
    add("--tls-cert", metavar="FILE", help="PEM; with --tls-key, both ports speak TLS")
    add("--tls-key", metavar="FILE", help="PEM")
    add(
        "--allow-host", metavar="NAME", action="append", default=[],
        help="a name of this server, besides localhost and IP addresses; other names get 403",
    )  # fmt: skip
    add(
        "--allow-origin", metavar="ORIGIN", action="append", default=[],
        help="a web site whose pages may ask, as https://example.org; * for all (none)",
    )  # fmt: skip
    add = parser.add_argument_group("a page to look at, beside REST").add_argument
    add("--page", action="store_true", help="type a sentence, see what every model says")
    add(
        "--sentences", metavar="FILE",
        help=f"among whose words it looks for neighbours; the first {MOST_SENTENCES:,} lines",
    )  # fmt: skip
    add_flags(parser.add_argument_group("batches and limits", LIMITS), WORK)
    return parser


def make_server(options):
    """A ModelServer of the command line's models."""
    check(options)
    try:
        from tfreps.server.model_server import ModelServer, ServerOptions
        from tfreps.server.models import model_configs
        from tfreps.server.models.batching import BatchOptions
    except ModuleNotFoundError as error:
        raise ValueError(
            f"The server needs the package {error.name}: pip install 'tfreps[serving]'"
        ) from None
    spread_operations()
    configs = model_configs.from_folders(options.folders, options.label, options.versions)
    if options.model_config:
        configs += model_configs.read_config_file(options.model_config)
    return ModelServer(
        configs,
        ServerOptions(
            host=options.host,
            rest_port=options.rest_port,
            grpc_port=options.grpc_port,
            poll_seconds=options.poll_seconds,
            batching=BatchOptions(
                options.max_batch_size, options.batch_timeout_ms, options.batch_threads
            ),
            max_queue=options.max_queue,
            timeout_seconds=options.timeout_seconds,
            max_message_mb=options.max_message_mb,
            max_body_mb=options.max_body_mb,
            max_text_mb=options.max_text_mb,
            max_tokens=options.max_tokens,
            max_text_tokens=options.max_text_tokens,
            max_answer_mb=options.max_answer_mb,
            tls_cert=options.tls_cert,
            tls_key=options.tls_key,
            allowed_hosts=tuple(options.allow_host),
            allowed_origins=tuple(options.allow_origin),
            allow_file_ops=options.allow_file_ops,
        ),
        make_routes(options),
    )


def spread_operations():
    """Has TensorFlow run more operations at the same time than there are cores.

    Otherwise those of small requests wait for the large ones of others.
    """
    import tensorflow as tf

    threading_options = tf.config.threading
    if not threading_options.get_inter_op_parallelism_threads():
        with contextlib.suppress(RuntimeError):  # TensorFlow has begun to work already
            threads = max(2 * (os.cpu_count() or 1), LEAST_THREADS)
            threading_options.set_inter_op_parallelism_threads(threads)


def make_routes(options):
    """What the page adds to the REST port; None without it."""
    if not options.page:
        return None
    from tfreps.server.rest.page_routes import page_routes

    sentences = []
    if options.sentences:
        sentences = next(read_texts(options.sentences, MOST_SENTENCES), [])
    return lambda core: page_routes(core, PAGE, sentences)


def check(options):
    check_options(options, MODELS, PORTS, WORK)
    if bool(options.folders) == bool(options.model_config):
        raise ValueError("Give the base paths of models, or --model-config with all of them.")
    if options.sentences and not options.page:
        raise ValueError("--sentences are for the page: give --page too.")
    if bool(options.tls_cert) != bool(options.tls_key):
        raise ValueError("--tls-cert and --tls-key go together.")


def report(server, options):
    """Where to ask, and how."""
    scheme = "https" if options.tls_cert else "http"
    host = f"[{options.host}]" if ":" in options.host else options.host
    name = next(iter(server.core.pool.models))
    tls = " --tls-ca FILE" if options.tls_cert else ""
    if options.page:
        print(f"Page: {scheme}://{host}:{server.rest_port}/page/")
    print(f"REST: {scheme}://{host}:{server.rest_port}/v1/models/{name}")
    print(f"gRPC: {host}:{server.grpc_port}")
    if reads_text(server, name):
        print(f'Try:  tfreps query {name} "A sentence ." --rest-port {server.rest_port}{tls}')
    print(NOTE, flush=True)


def try_out(server, options):
    """Asks the first model over both protocols, as any client does."""
    from tfreps.server.answers import as_lines
    from tfreps.server.grpc.grpc_client import GrpcClient
    from tfreps.server.rest.rest_client import RestClient

    name = next(iter(server.core.pool.models))
    host = f"[{options.host}]" if ":" in options.host else options.host
    scheme, ca = ("https", options.tls_cert) if options.tls_cert else ("http", None)
    clients = {
        "REST": RestClient(f"{scheme}://{host}:{server.rest_port}", ca=ca),
        "gRPC": GrpcClient(f"{host}:{server.grpc_port}", ca=ca),
    }
    for protocol, client in clients.items():
        (answer,) = client.ask(name, [options.sentence])
        client.close()
        print(f"{name} over {protocol}:", *as_lines(options.sentence, answer), sep="\n")


def reads_text(server, name):
    """Whether sentences are all that the default signature of a model takes."""
    with server.core.pool.lease(name) as (_, servable):
        signature = servable.signatures.get("serving_default")
        inputs = [] if signature is None else list(signature.inputs.values())
    return len(inputs) == 1 and inputs[0] is not None and inputs[0].dtype.name == "string"


if __name__ == "__main__":
    sys.exit(main())
