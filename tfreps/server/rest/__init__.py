"""The REST interface of TensorFlow Serving, and the page that asks the models."""

__all__: list[str] = []  # tfreps.server exports what users need
