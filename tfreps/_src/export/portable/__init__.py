"""Exports for ONNX Runtime and LiteRT, which run without TensorFlow."""
