"""A server of SavedModels that speaks TensorFlow Serving's protocols, for development and tests.

gRPC: Predict, GetModelMetadata, GetModelStatus, and the standard health service. REST: status,
`/metadata`, `:predict`, and Prometheus metrics. Where it differs from `tensorflow_model_server`:

- classify, regress, MultiInference, SessionRun and HandleReloadConfigRequest are UNIMPLEMENTED;
- health is not serving while all workers of a model are held by requests beyond their time;
- a version that cannot be loaded leaves the next best one serving, also at the start;
- each version that was rolled in leaves an idle thread of TensorFlow's batch operation behind.

Where it is stricter on purpose:

- it listens on loopback by default, and answers only to hosts and web sites that it
  knows (`RequestGuard`); CORS headers go to the sites that are named, not to all;
- a request with both `Content-Length` and `Transfer-Encoding` gets 400;
- tokens, texts, bodies (packed ones too) and arrays beyond its limits are refused before memory is
  taken, answers once they are computed (`ServerOptions`). Tokens are counted as an export says that
  it cuts texts; in a model that `tfreps export` did not write, a text counts as one;
- long requests wait in a lane of their own, and work whose client is gone or late is stopped;
- an input must fit the shape in its signature, which TensorFlow Serving leaves to the graph;
- JSON must be UTF-8, and a whole number must be in the range of its type: 300 for an int8 gets
  400, where TensorFlow Serving keeps its lowest 8 bits;
- error messages to clients have no absolute paths; the log has them.
"""

import importlib

_HOMES = {
    "BatchOptions": "models.batching",
    "GrpcClient": "grpc.grpc_client",
    "ModelConfig": "models.model_configs",
    "ModelServer": "model_server",
    "RestClient": "rest.rest_client",
    "ServerOptions": "model_server",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
