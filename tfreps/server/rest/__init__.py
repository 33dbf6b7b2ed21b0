"""The REST interface of TensorFlow Serving, and the page that asks the models."""
