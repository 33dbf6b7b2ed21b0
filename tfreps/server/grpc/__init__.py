"""The gRPC interface of TensorFlow Serving."""

__all__: list[str] = []  # tfreps.server exports what users need
