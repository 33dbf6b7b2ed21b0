"""Published weights: their table, downloads, and uploads to the Hugging Face Hub."""

from tfreps._src.presets import (
    Preset,
    PresetFile,
    PresetTable,
    cached_path,
    list_presets,
)

__all__ = [
    "Preset",
    "PresetFile",
    "PresetTable",
    "cached_path",
    "list_presets",
]
