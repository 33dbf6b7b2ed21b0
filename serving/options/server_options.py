"""The options of `tfreps serve`."""

from tfreps._src.cli.command import Group
from tfreps._src.cli.options import Option, with_levels

MOST_SENTENCES = 1_000  # maximum number of lines of --sentences that are read
MODELS = {
    "model_config": Option(
        str, None, "Model config file in the format of TensorFlow Serving, such as models.config, "
        "instead of base paths.", metavar="FILE",
    ),
    "label": Option(
        str, [], "Label of a model version. Clients send requests for this version to "
        "/v1/models/NAME/labels/LABEL. The version is served in addition to those of --versions. "
        "May be repeated.", repeated=True, metavar="NAME:LABEL=VERSION",
    ),
    "versions": Option(
        str, [], "Versions of a model to serve: the newest (latest), the two newest (latest:2), "
        "all versions (all), or those with the given numbers (3,4). Defaults to latest. May be "
        "repeated.", repeated=True, metavar="NAME:POLICY",
    ),
    "poll_seconds": Option(
        float, 1.0, "Seconds between searches for new versions. With 0, the server searches only "
        "at startup.", at_least=0, at_most=1e6,
    ),
    "allow_file_ops": Option(
        bool, False, "Load models that use files, the network or Python. By default, they are "
        "rejected.",
    ),
    "try": Option(
        str, None, "Send this sentence to the first model over REST and gRPC, print the outputs, "
        "and exit.", metavar="SENTENCE",
    ),
}  # fmt: skip
ADDRESSES = {
    "rest_port": Option(
        int, 8501, "Port for REST requests; 0 chooses a free port.", at_least=0, at_most=65535
    ),
    "grpc_port": Option(
        int, 8500, "Port for gRPC requests; 0 chooses a free port.", at_least=0, at_most=65535
    ),
    "host": Option(
        str, "127.0.0.1", "Address to listen on; 0.0.0.0 accepts connections from other machines."
    ),
    "tls_cert": Option(
        str, None, "File with the TLS certificate (PEM) for both ports. Requires --tls-key.",
        needs="tls_key", metavar="FILE",
    ),
    "tls_key": Option(
        str, None, "File with the private key (PEM) of the TLS certificate. Requires --tls-cert.",
        needs="tls_cert", metavar="FILE",
    ),
    "allow_host": Option(
        str, [], "Host name of this server that REST requests may use, in addition to localhost "
        "and IP addresses. Requests to other names are rejected with HTTP status 403 if this "
        "option is given or --host is a loopback address. May be repeated.", repeated=True,
        metavar="NAME",
    ),
    "allow_origin": Option(
        str, [], "Web site whose pages may send requests, such as https://example.org; * allows "
        "all sites. By default, only pages of this server may send requests. May be repeated.",
        repeated=True, metavar="ORIGIN",
    ),
}  # fmt: skip
PAGE = {
    "page": Option(
        bool, False, "Serve a web page that shows the outputs of all models for a text."
    ),
    "sentences": Option(
        str, None, "Text file with one sentence per line. The web page of --page finds the nearest "
        f"neighbors of a word in the first {MOST_SENTENCES:,} lines of this file.",
        needs="page",
        metavar="FILE",
    ),
}  # fmt: skip
WORK = {
    "max_batch_size": Option(
        int, 64, "Maximum number of texts in a batch; 1 disables batching.", at_least=1
    ),
    "batch_timeout_ms": Option(
        float, 0.0, "Milliseconds that a batch waits for more texts.", at_least=0, at_most=1e6
    ),
    "num_batch_threads": Option(
        int, 1, "Number of batches that run concurrently.", at_least=1, at_most=1000
    ),
    "max_requests": Option(
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
        int, 2**20, "Maximum number of elements of an input. For a REST request, it is also the "
        "maximum number of JSON values, where each array or object counts as 16 values.",
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
    "max_response_mb": Option(
        int, 128, "Maximum size of a response in MiB, both as arrays and as JSON.", at_least=1
    ),
    "grace_seconds": Option(
        float, 30.0, "Seconds to wait for accepted requests to finish when the server stops.",
        at_least=0, at_most=1e6,
    ),
}  # fmt: skip
LIMITS = (
    "Requests over a limit are rejected before the model runs. Responses over --max-response-mb "
    "are rejected after they are computed. The memory that a model uses while it runs is not "
    "limited. For models written by 'tfreps export', this memory grows with the number of tokens. "
    "For other models, the limit on tokens applies to the number of texts instead. A call that "
    "takes longer than --timeout-seconds is stopped unless the call is part of a batch. Error "
    "messages to clients use the option names of the library: `max_tokens` is --max-tokens, "
    "`allowed_hosts` is --allow-host, and `allowed_origins` is --allow-origin."
)


ARGUMENTS = {
    "folders": Option(
        str, [], "Base path of a model: a folder with numbered versions, such as DIR/1 and DIR/2. "
        "Written as NAME=DIR, the model is called NAME in requests. By default, the model has the "
        "name of the folder.",
        many=True, metavar="[NAME=]DIR",
    )
}  # fmt: skip
GROUPS = [
    Group("models", "Models and versions to serve.", MODELS),
    Group("addresses", "Ports, and clients that may use them.", ADDRESSES),
    Group("page", "Web page on the REST port.", PAGE),
    Group("batches and limits", LIMITS, WORK),
]
COMMON = (  # options that --help shows
    *("model_config", "label", "versions", "allow_file_ops", "try", "rest_port", "grpc_port"),
    *("host", "tls_cert", "tls_key", "allow_host", "allow_origin", "page", "sentences"),
    *("max_batch_size", "batch_timeout_ms", "max_requests", "timeout_seconds"),
)
GROUPS = [group._replace(options=with_levels(group.options, COMMON)) for group in GROUPS]
# Arguments of the server whose flag has another name.
FLAGS = {
    "allowed_hosts": "--allow-host", "allowed_origins": "--allow-origin", "labels": "--label",
}  # fmt: skip
