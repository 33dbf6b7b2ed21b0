"""Published weights: their table, downloads, and uploads to the Hugging Face Hub."""

from tfreps._src.presets.preset_table import Preset, PresetFile, PresetTable, list_presets
from tfreps._src.presets.sources import cached_path, local_copy

__all__ = ["Preset", "PresetFile", "PresetTable", "cached_path", "list_presets", "local_copy"]
