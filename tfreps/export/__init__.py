"""Exports trained models as versioned SavedModels with notes, and checks the exports."""

from tfreps.export.export_check import SENTENCES, check_export
from tfreps.export.export_folder import write_export
from tfreps.export.notes import text_ops
from tfreps.export.open_for_export import open_for_export
from tfreps.export.weight_changes import weight_changes

__all__ = [
    "SENTENCES",
    "check_export",
    "open_for_export",
    "text_ops",
    "weight_changes",
    "write_export",
]
