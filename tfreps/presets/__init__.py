"""Published weights: their table, downloads, and uploads to the Hugging Face Hub."""

from tfreps.models.registry import register_converter
from tfreps.presets import model_presets
from tfreps.presets.preset_table import Preset, PresetFile, PresetTable, table
from tfreps.presets.sources import fetch, fetched

__all__ = ["Preset", "PresetFile", "PresetTable", "fetch", "fetched", "table"]

register_converter("WholeModel", "preset", model_presets.read, model_presets.write)
register_converter("WholeModel", "source", model_presets.read_pretrained, None)
register_converter("WholeModel", "hub", model_presets.read, model_presets.upload)
