"""The options of `tfreps serve`."""

from tfreps.cli.options import Option, add_flags, check_options

MOST_SENTENCES = 1_000  # lines of --sentences
MODELS = {
    "poll_seconds": Option(
        float,
        1.0,
        "Seconds between searches for new versions. With 0, the server searches only at startup.",
        at_least=0,
        at_most=1e6,
    ),
}
PORTS = {
    "rest_port": Option(int, 8501, "REST port; 0 chooses a free port.", at_least=0, at_most=65535),
    "grpc_port": Option(int, 8500, "gRPC port; 0 chooses a free port.", at_least=0, at_most=65535),
}
WORK = {
    "max_batch_size": Option(
        int, 64, "Maximum number of sentences in a batch; 1 disables batching.", at_least=1
    ),
    "batch_timeout_ms": Option(
        float, 0.0, "Milliseconds that a batch waits for more sentences.", at_least=0, at_most=1e6
    ),
    "batch_threads": Option(
        int, 1, "Number of batches that run concurrently.", at_least=1, at_most=1000
    ),
    "max_queue": Option(
        int, 256, "Maximum number of requests in progress. Further requests are rejected with HTTP "
        "status 503, or UNAVAILABLE in gRPC.",
        at_least=1,
    ),
    "timeout_seconds": Option(
        float, 60.0, "Time limit of a request in seconds. Slower requests fail with HTTP status "
        "504, or DEADLINE_EXCEEDED in gRPC.",
        above=0, at_most=1e6,
    ),
    "max_message_mb": Option(
        int, 2_047, "Maximum size of a gRPC request in MiB.", at_least=1, at_most=2_047
    ),
    "max_body_mb": Option(
        int, 16, "Maximum size of a REST request in MiB. Larger requests are rejected with HTTP "
        "status 413.",
        at_least=1,
    ),
    "max_elements": Option(
        int, 2**20, "Maximum number of elements of an input, and of values in a REST request, "
        "where an array or object counts as 16.",
        at_least=1,
    ),
    "max_text_mb": Option(
        int, 16, "Maximum total size in MiB of the texts of an input, after they are padded to the "
        "length of the longest.",
        at_least=1,
    ),
    "max_tokens": Option(
        int, 2**14, "Maximum number of tokens in a request, after all texts are padded to the "
        "length of the longest.",
        at_least=1,
    ),
    "max_text_tokens": Option(int, 2**12, "Maximum number of tokens in a text.", at_least=1),
    "max_answer_mb": Option(
        int, 128, "Maximum size of an answer in MiB, both as arrays and as JSON.", at_least=1
    ),
    "workers": Option(
        int, 1, "Number of processes that share the ports and the connections, each with its own "
        "models, batches and limits. More than one help if a single Python process is the limit.",
        at_least=1, at_most=1000,
    ),
    "grace_seconds": Option(
        float, 30.0, "Seconds to wait for accepted requests to finish when the server stops.",
        at_least=0, at_most=1e6,
    ),
}  # fmt: skip
LIMITS = (
    "Requests over a limit are rejected before the model runs. Answers over --max-answer-mb are "
    "rejected after they are computed. The memory that a model uses while it runs is not limited. "
    "For models written by 'tfreps export', it grows with the number of tokens. For other models, "
    "the limit on tokens applies to the number of texts instead. A call that takes longer than "
    "--timeout-seconds is stopped unless it is part of a batch. Error messages to clients use the "
    "option names of the library: `max_tokens` is --max-tokens, `allowed_hosts` is --allow-host, "
    "and `allowed_origins` is --allow-origin."
)


def add_server_flags(parser):
    """Adds the arguments and flags of `tfreps serve` to a parser."""
    parser.add_argument(
        "folders", metavar="[NAME=]DIR", nargs="*",
        help="Base path of a model: a folder with numbered versions. NAME is the name of the model "
        "in requests and defaults to the folder's name.",
    )  # fmt: skip
    models = parser.add_argument_group("models", "Models and versions to serve.")
    add = models.add_argument
    about = (
        "Model config file in the format of TensorFlow Serving, such as models.config, instead of "
        "base paths."
    )
    add("--model-config", metavar="FILE", help=about)
    add(
        "--label", metavar="NAME:LABEL=VERSION", action="append", default=[],
        help="Label for a version of a model, for requests to /v1/models/NAME/labels/LABEL. The "
        "version is served in addition to those of --versions. May be repeated.",
    )  # fmt: skip
    add(
        "--versions", metavar="NAME:POLICY", action="append", default=[],
        help="Versions of a model to serve: the newest (latest), the two newest "
        "(latest:2), all versions (all), or those with the given numbers (3,4). "
        "Defaults to latest. May be repeated.",
    )  # fmt: skip
    add_flags(models, MODELS)
    about = "Load models that use files, the network or Python. By default, they are rejected."
    add("--allow-file-ops", action="store_true", help=about)
    about = "Send this sentence to the first model over REST and gRPC, print the answers, and exit."
    add("--try", metavar="SENTENCE", dest="sentence", help=about)
    addresses = parser.add_argument_group("addresses", "Ports, and clients that may use them.")
    add_flags(addresses, PORTS)
    add = addresses.add_argument
    about = "Address to listen on; 0.0.0.0 accepts connections from other machines."
    add("--host", default="127.0.0.1", help=about)
    about = "TLS certificate (PEM) for both ports. Requires --tls-key."
    add("--tls-cert", metavar="FILE", help=about)
    add("--tls-key", metavar="FILE", help="Private key (PEM) of the TLS certificate.")
    add(
        "--allow-host", metavar="NAME", action="append", default=[],
        help="Host name of this server, in addition to localhost and IP addresses. REST requests "
        "to other names are rejected with HTTP status 403 if this option is given or --host is a "
        "loopback address. May be repeated.",
    )  # fmt: skip
    add(
        "--allow-origin", metavar="ORIGIN", action="append", default=[],
        help="Web site whose pages may send requests, such as https://example.org; * allows all. "
        "By default, only pages of this server may. May be repeated.",
    )  # fmt: skip
    add = parser.add_argument_group("page", "Web page on the REST port.").add_argument
    about = "Serve a web page that shows the outputs of all models for a text."
    add("--page", action="store_true", help=about)
    about = (
        f"Text file with one sentence per line. The page searches its first {MOST_SENTENCES:,} "
        "lines for the nearest neighbours of a word."
    )
    add("--sentences", metavar="FILE", help=about)
    add_flags(parser.add_argument_group("batches and limits", LIMITS), WORK)


def check_server_options(options):
    """Checks the options of `tfreps serve`.

    Args:
        options: namespace of all options of the program.

    Raises:
        ValueError: If an option is out of bounds, or two options do not fit together.
    """
    check_options(options, MODELS, PORTS, WORK)
    if bool(options.folders) == bool(options.model_config):
        given = "both" if options.folders else "neither"
        raise ValueError(f"Expected either base paths of models or --model-config; got {given}.")
    if options.sentence is not None and options.workers > 1:
        raise ValueError("--try requires --workers 1.")
    if options.sentences and not options.page:
        raise ValueError("--sentences requires --page.")
    if bool(options.tls_cert) != bool(options.tls_key):
        raise ValueError("--tls-cert and --tls-key must be given together.")
