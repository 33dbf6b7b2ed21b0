"""VersionStatus: the state of a version of a served model."""

from typing import NamedTuple


class VersionStatus(NamedTuple):
    """State of a version of a model.

    Attributes:
        version: int. Number of the version.
        state: str. State such as `"AVAILABLE"`, as in TensorFlow Serving.
        error: str. Error message, empty if there is no error.
    """

    version: int
    state: str
    error: str
