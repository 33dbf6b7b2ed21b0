"""Exports trained models as versioned SavedModels, or for ONNX Runtime or LiteRT."""

from tfreps._src.export import (
    check_export,
    open_for_export,
    weight_changes,
    write_export,
    write_portable_export,
)

__all__ = [
    "check_export",
    "open_for_export",
    "weight_changes",
    "write_export",
    "write_portable_export",
]
