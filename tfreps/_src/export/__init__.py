"""Exports trained models as versioned SavedModels with notes, and checks the exports."""

from tfreps._src.export.export_check import check_export
from tfreps._src.export.export_folder import write_export
from tfreps._src.export.open_for_export import open_for_export
from tfreps._src.export.weight_changes import weight_changes

__all__ = [
    "check_export",
    "open_for_export",
    "weight_changes",
    "write_export",
]
