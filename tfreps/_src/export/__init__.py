"""Exports trained models as versioned SavedModels, or for ONNX Runtime or LiteRT."""
