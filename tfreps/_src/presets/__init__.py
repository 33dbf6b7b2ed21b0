"""Published weights: their table, downloads, and uploads to the Hugging Face Hub."""

from tfreps._src.presets.preset_table import Preset, PresetFile, PresetTable, table
from tfreps._src.presets.sources import fetch, fetched

__all__ = ["Preset", "PresetFile", "PresetTable", "fetch", "fetched", "table"]
