"""Creates, opens, continues and publishes the run folders of training commands."""

from tfreps._src.runs.run_folder import RunFolder

__all__ = ["RunFolder"]
