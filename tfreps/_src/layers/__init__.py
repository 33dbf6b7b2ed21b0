"""Keras layers: encoders, embeddings, attention, pooling, CRF and sampled softmax."""

from tfreps._src.backend import require_tensorflow_backend

# Every model and layer imports this package, so an unsupported Keras ends here in a clear error.
require_tensorflow_backend()
