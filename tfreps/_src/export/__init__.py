"""Exports trained models as versioned SavedModels, or for ONNX Runtime or LiteRT."""

from tfreps._src.export.export_check import check_export
from tfreps._src.export.export_folder import write_export
from tfreps._src.export.open_for_export import open_for_export
from tfreps._src.export.portable.portable_export import write_portable_export
from tfreps._src.export.weight_changes import weight_changes

__all__ = [
    "check_export",
    "open_for_export",
    "weight_changes",
    "write_export",
    "write_portable_export",
]
