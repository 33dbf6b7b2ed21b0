"""Serves SavedModels over gRPC and REST with the API of TensorFlow Serving.

Every DIR is the base path of a model: it contains numbered versions, such as those that
`tfreps export` writes. By default, the newest version is served. When a newer version appears, it
is loaded and warmed up, and then replaces the previous one. If the new version cannot be loaded,
the error is reported and the previous version is still served. --page adds a web page that shows
the outputs of all models for a text. For exports that were made with --explain, the outputs include
the best tag sequences, attention weights or the surprisal of each token. Serve only exports that
you trust: a SavedModel is a program (see SECURITY.md). On Ctrl-C or SIGTERM, the server finishes
all accepted requests and then stops with exit code 0, or with 1 if requests are unfinished after
--grace-seconds. A second signal stops it at once with exit code 130 (Ctrl-C) or 143 (SIGTERM). To
query the server, run, for example,

    curl -d '{"instances": ["Ada lived in London ."]}' localhost:8501/v1/models/ner:predict
"""

import contextlib
import dataclasses
import gc
import os
import pathlib
import signal
import threading
import time

from tfreps._src.cli.command import Command
from tfreps._src.cli.start_tensorflow import start_tensorflow
from tfreps._src.cli.text_streams import read_texts
from tfreps.serving.options import server_options
from tfreps.serving.options.server_log import server_log
from tfreps.serving.server.connect import connect, needs_extra
from tfreps.serving.server.output_lines import as_lines

PAGE = pathlib.Path(__file__).parent / "page"
LEAST_THREADS = 4
TRUST = "A SavedModel is a program: serve only exports that you trust (see SECURITY.md)."
NOTE = (
    "This server is for development, tests and small installations: it is a Python program. Its "
    "clients also work with the container tensorflow/serving, which is recommended for production."
)
STOPS = (
    "Ctrl-C or SIGTERM stops the server with exit code 0 once all accepted requests are finished; "
    "a second signal stops it at once."
)
COMMAND = Command(
    "serve",
    f"Serves SavedModels over gRPC and REST. {TRUST} {NOTE} {STOPS}",
    server_options.ARGUMENTS,
    server_options.GROUPS,
    (
        "tfreps serve exports/ner",
        "tfreps serve tagger=exports/ner exports/elmo --rest-port 9001 --grpc-port 0 --page",
        'tfreps serve exports/ner --try "Ada lived in London ."',
    ),
    flags=server_options.FLAGS,
    tensorflow=False,  # `serve` starts TensorFlow itself, after it has set the signal handlers
)


def main(argv=None):
    return COMMAND.run(serve, argv)


def serve(options):
    """Runs the server until a signal arrives or --try is finished; returns the exit code."""
    if bool(options.folders) == bool(options.model_config):
        given = "both" if options.folders else "neither"
        raise ValueError(
            f"Expected either the base paths of models or --model-config; got {given}. Give "
            "exactly one of the two."
        )
    options.sentence = vars(options)["try"]
    stopped = threading.Event()
    stop_on_signals(stopped)
    start_tensorflow()
    with server_log(COMMAND) as log:
        server = start_server(options, log)
        print(report(server, options), flush=True)
        if options.sentence is not None:
            try_out(server, options)
        else:
            stopped.wait()
        print("Stopping once all accepted requests are finished.", flush=True)
        return end(server, options)


def start_server(options, log):
    """Returns a `ModelServer` for the options, which has been started.

    `log` is a `ServerLog`, which prints the errors of models once the server has started or failed.
    """
    try:
        server = make_server(options)
        gc.collect()
        gc.freeze()  # excludes all current objects from later garbage collections
        server.start()
    except ValueError as error:
        log.flush_errors(but=str(error))
        raise
    log.flush_errors()
    return server


def end(server, options):
    """Stops a server once all accepted requests are finished, and returns the exit code 0.

    If requests are unfinished after --grace-seconds, this process ends with exit code 1.
    """
    begin = time.monotonic()
    if not server.stop(options.grace_seconds):
        seconds, count = time.monotonic() - begin, server._core.in_progress
        print(f"Stopped after {seconds:.1f} seconds with {count} unfinished requests.", flush=True)
        os._exit(1)  # the threads of the requests cannot be stopped
    return 0


def stop_on_signals(stopped):
    """Sets the event `stopped` at the first SIGINT (Ctrl-C) or SIGTERM.

    A second signal ends the process at once.
    """

    def stop(number, _):
        if stopped.is_set():
            os._exit(128 + number)
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def make_server(options):
    """Returns a `ModelServer` for the models on the command line."""
    with needs_extra("server"):
        from tfreps.serving.server.model_server import ModelServer
        from tfreps.serving.server.models import model_configs
        from tfreps.serving.server.requests.server_options import BatchOptions, ServerOptions
    spread_operations()
    configs = model_configs.from_folders(options.folders, options.label, options.versions)
    if options.model_config:
        configs += model_configs.read_config_file(options.model_config)
    names = {field.name for field in dataclasses.fields(ServerOptions)} & vars(options).keys()
    return ModelServer(
        configs,
        ServerOptions(
            **{name: getattr(options, name) for name in names},
            batching=BatchOptions(
                options.max_batch_size, options.batch_timeout_ms, options.num_batch_threads
            ),
            allowed_hosts=tuple(options.allow_host),
            allowed_origins=tuple(options.allow_origin),
        ),
        make_routes(options),
    )


def spread_operations():
    """Lets TensorFlow run at least 4 operations concurrently, even on machines with fewer cores.

    Otherwise, operations of small requests would wait for large operations of other requests. More
    threads would take more memory, because each thread stores the kernels of oneDNN (TensorFlow's
    library for CPUs) for all shapes that it has processed.
    """
    import tensorflow as tf

    threading_options = tf.config.threading
    if not threading_options.get_inter_op_parallelism_threads():
        with contextlib.suppress(RuntimeError):  # raised if TensorFlow is already initialized
            threads = max(os.cpu_count() or 1, LEAST_THREADS)
            threading_options.set_inter_op_parallelism_threads(threads)


def make_routes(options):
    """Returns a function that takes a server and returns the routes of the web page.

    Returns `None` without --page.
    """
    if not options.page:
        return None
    from tfreps.serving.server.rest.page_routes import page_routes

    sentences = []
    if options.sentences:
        sentences = next(read_texts(options.sentences, server_options.MOST_SENTENCES), [])
    return lambda server: page_routes(server._core, PAGE, sentences)


def report(server, options):
    """Returns a text with the addresses of the server and a command that queries it."""
    scheme = "https" if options.tls_cert else "http"
    host = f"[{options.host}]" if ":" in options.host else options.host
    name = next(iter(server._core.pool.models))
    tls = " --ca-file FILE" if options.tls_cert else ""
    lines = [f"Page: {scheme}://{host}:{server.rest_port}/page/"] if options.page else []
    lines.append(f"REST: {scheme}://{host}:{server.rest_port}/v1/models/{name}")
    lines.append(f"gRPC: {host}:{server.grpc_port}")
    if reads_text(server, name):
        query = f"tfreps query {name} TEXT --rest-port {server.rest_port}"
        lines.append(f"Try:  {query}{tls}")
    return "\n".join([*lines, NOTE])


def try_out(server, options):
    """Sends the sentence of --try to the first model over both protocols; prints the outputs."""
    name = next(iter(server._core.pool.models))
    for protocol, port in (("REST", server.rest_port), ("gRPC", server.grpc_port)):
        client = connect(options.host, port, protocol == "gRPC", ca_file=options.tls_cert)
        (outputs,) = client.predict(name, [options.sentence])
        client.close()
        print(f"{name} over {protocol}:", *as_lines(options.sentence, outputs), sep="\n")


def reads_text(server, name):
    """Returns True if text is the only input of the default signature of a model."""
    with server._core.pool.lease(name) as (_, servable):
        signature = servable.signatures.get("serving_default")
        inputs = [] if signature is None else list(signature.inputs.values())
    return len(inputs) == 1 and inputs[0] is not None and inputs[0].dtype.name == "string"
