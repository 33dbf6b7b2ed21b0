"""Training: the loop over epochs, on one device or on replicas."""

__all__: list[str] = []  # internal: not part of the public API
