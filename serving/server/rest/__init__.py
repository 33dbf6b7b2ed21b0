"""REST interface of TensorFlow Serving, a client for it, and the routes of the web page."""
