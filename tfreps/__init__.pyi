from . import callbacks as callbacks
from . import convert as convert
from . import data as data
from . import export as export
from . import inference as inference
from . import layers as layers
from . import metrics as metrics
from . import models as models
from . import optimizers as optimizers
from . import plots as plots
from . import presets as presets
from . import reports as reports
from . import runs as runs
from . import serving as serving
from . import tags as tags
from . import text as text
from . import training as training
from ._src.loading import load as load
from ._src.models.precision import choose_precision as choose_precision

__version__: str
