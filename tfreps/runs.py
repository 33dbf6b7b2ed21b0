"""Creates, opens, continues and publishes the run folders of training commands."""

from tfreps._src.runs import (
    RunFolder,
)

__all__ = [
    "RunFolder",
]
