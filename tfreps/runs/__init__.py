"""Creates, opens, continues and publishes the run folders of training programs."""

from tfreps.runs.run_folder import RunFolder

__all__ = ["RunFolder"]
