"""Published weights: their table, downloads, and uploads to the Hugging Face Hub."""

from tfreps._src.presets import (
    Preset,
    PresetFile,
    PresetTable,
    fetch,
    fetched,
    table,
)

__all__ = [
    "Preset",
    "PresetFile",
    "PresetTable",
    "fetch",
    "fetched",
    "table",
]
