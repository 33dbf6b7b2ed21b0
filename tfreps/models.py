"""Models: complete networks built from layers."""

import lazy_loader

import tfreps._src.models.saved_classes  # noqa: F401
import tfreps._src.models.sizes  # noqa: F401 (a module, which lazy_loader does not import)
import tfreps._src.runs.model_files  # noqa: F401 (registers how models are read and written)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("tfreps", __file__)
