"""A server of SavedModels that speaks TensorFlow Serving's protocols, for development and tests.

gRPC: Predict, GetModelMetadata, GetModelStatus, and the standard health service. REST: status,
`/metadata`, `:predict`, and Prometheus metrics. Where it differs from `tensorflow_model_server`:

- classify, regress, MultiInference, SessionRun and HandleReloadConfigRequest are UNIMPLEMENTED;
- an input must fit the shape in its signature, which TensorFlow Serving leaves to the graph;
- it listens on loopback unless told otherwise, and refuses texts, bodies (packed ones too) and
  arrays beyond its limits before memory is taken (`ServerOptions`);
- a version that cannot be loaded leaves the next best one serving, also at the start;
- each version that was rolled in leaves an idle thread of TensorFlow's batch operation behind.
"""
