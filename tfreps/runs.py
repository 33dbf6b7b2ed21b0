"""Creates, opens, continues and publishes the run folders of training programs."""

from tfreps._src.runs import (
    RunFolder,
)

__all__ = [
    "RunFolder",
]
