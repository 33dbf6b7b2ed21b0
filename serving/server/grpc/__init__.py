"""The gRPC interface of TensorFlow Serving, and a client for it."""
