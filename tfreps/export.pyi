from ._src.export.decoder.decoder_export import write_decoder as write_decoder
from ._src.export.export_check import check_export as check_export
from ._src.export.export_folder import write_export as write_export
from ._src.export.opening import open_for_export as open_for_export
from ._src.export.portable.model_file import write_model as write_model
from ._src.export.portable.portable_export import write_portable_export as write_portable_export
from ._src.export.weight_changes import weight_changes as weight_changes
