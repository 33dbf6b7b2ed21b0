"""Serves SavedModels with TensorFlow Serving's protocols, for development and tests."""
