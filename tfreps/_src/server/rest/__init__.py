"""REST interface of TensorFlow Serving, a client for it, and the routes of the web page."""

__all__: list[str] = []  # tfreps.server exports the public names
