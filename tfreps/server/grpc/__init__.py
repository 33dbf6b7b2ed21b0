"""gRPC interface of TensorFlow Serving, with a client."""

__all__: list[str] = []  # tfreps.server exports the public names
