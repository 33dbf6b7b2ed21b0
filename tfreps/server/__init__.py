"""A server of SavedModels that speaks TensorFlow Serving's protocols, for development and tests."""
