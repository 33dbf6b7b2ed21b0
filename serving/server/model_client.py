"""ModelClient: the methods that the REST client and the gRPC client have in common."""

from collections.abc import Sequence
from typing import Any, NamedTuple

Which = tuple[str, int | None, str | None]  # name of a model, and a version or a label
TIMEOUT = 60.0


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


class ModelClient:
    """Client for models on a server. Its subclasses send the requests."""

    def predict(
        self,
        model: str,
        texts: Sequence[str],
        signature: str = "",
        version: int | None = None,
        label: str | None = None,
    ) -> list[dict[str, Any]]:
        """Sends texts to a model and returns its outputs.

        Args:
            model: str. The name of the model.
            texts: sequence of str. The texts to send.
            signature: str. The name of a signature whose only input is text. If empty, the default
                signature is used. Defaults to `""`.
            version: int or None. The version of the model. If `None`, it is selected by `label`.
                Defaults to `None`.
            label: str or None. The label of a version. If `version` and `label` are both `None`,
                the newest version is used. Defaults to `None`.

        Returns:
            list of dicts, one per text. Each dict maps output names to numbers, strings or nested
            lists.

        Raises:
            ValueError: If the server does not respond, or returns an error or an invalid response,
                or if the signature does not exist or does not have text as its only input.
        """
        return self._predict((model, version, label), texts, signature)

    def status(
        self, model: str, version: int | None = None, label: str | None = None
    ) -> list[VersionStatus]:
        """Returns the status of the versions of a model.

        Args:
            model: str. The name of the model.
            version: int or None. The version to report. If `version` and `label` are both `None`,
                all versions are reported. Defaults to `None`.
            label: str or None. The label of the version to report if `version` is `None`. The
                server may ignore the label and report all versions. Defaults to `None`.

        Returns:
            list of named tuples `(version, state, error)`. `version` is an int. `state` is a str
            such as `"AVAILABLE"`. `error` is a str, empty if there is no error.

        Raises:
            ValueError: If the server does not respond, or returns an error or an invalid response.
        """
        return self._status((model, version, label))

    def close(self) -> None:
        """Closes the connection to the server."""
        raise NotImplementedError

    def _predict(self, which: Which, texts: Sequence[str], signature: str) -> list[dict[str, Any]]:
        raise NotImplementedError

    def _status(self, which: Which) -> list[VersionStatus]:
        raise NotImplementedError
