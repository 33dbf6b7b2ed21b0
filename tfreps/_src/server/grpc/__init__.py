"""The gRPC interface of TensorFlow Serving, and a client for it."""

__all__: list[str] = []  # tfreps.server exports the public names
