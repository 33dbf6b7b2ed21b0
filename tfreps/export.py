"""Exports trained models as versioned SavedModels with notes, and checks the exports."""

from tfreps._src.export import (
    check_export,
    open_for_export,
    weight_changes,
    write_export,
)

__all__ = [
    "check_export",
    "open_for_export",
    "weight_changes",
    "write_export",
]
