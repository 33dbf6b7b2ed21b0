"""The gRPC interface of TensorFlow Serving."""
