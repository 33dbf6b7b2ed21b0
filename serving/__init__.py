"""Serves and applies exported models: a model server, its clients, and Apache Beam.

`ModelServer` serves SavedModels with TensorFlow Serving's protocols, for development and tests.
`Annotate` annotates a corpus on Apache Beam.

The gRPC interface supports Predict, GetModelMetadata, GetModelStatus and the standard health
service. The REST interface supports the status of models, `/metadata`, `:predict` and Prometheus
metrics. The server differs from `tensorflow_model_server` in these respects:

- Classify, Regress, MultiInference, SessionRun and HandleReloadConfigRequest return UNIMPLEMENTED.
- The health service reports NOT_SERVING while requests that exceeded their time limit occupy all
  workers of a model.
- If a version cannot be loaded, the next best one is served, even at startup.

It is deliberately stricter in the following respects:

- It listens on the loopback interface by default, where its REST interface only accepts requests
  for known hosts. On every network interface, REST requests from unknown web sites are rejected
  (`RequestGuard`). CORS headers are sent to known sites, not to all sites.
- A request with both `Content-Length` and `Transfer-Encoding` is rejected with HTTP status 400.
- Requests with too many tokens, or with texts, arrays or bodies (compressed or not) that are too
  large, are rejected before memory is allocated. Responses that are too large are rejected once
  they are computed (`ServerOptions`). Tokens are counted by the rule that `tfreps export` stores
  with the model. For other models, each text counts as one token.
- Long requests wait in a separate queue. A request is stopped when its client disconnects or its
  time limit is exceeded, unless it is already running as part of a batch.
- An input must have the shape that its signature declares; TensorFlow Serving leaves this check to
  the graph.
- JSON must be UTF-8, and an integer must be in the range of its type: 300 for an int8 is
  rejected, whereas TensorFlow Serving uses its lowest 8 bits.
- Error messages to clients contain no absolute paths; the paths are in the log.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
