from ._src.presets.preset_table import Preset as Preset
from ._src.presets.preset_table import PresetFile as PresetFile
from ._src.presets.preset_table import PresetTable as PresetTable
from ._src.presets.preset_table import list_presets as list_presets
from ._src.presets.sources import cached_path as cached_path
