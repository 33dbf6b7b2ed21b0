"""RestClient: client for the REST interface of this server or of TensorFlow Serving."""

import json
import os
import urllib.parse
from collections.abc import Sequence
from typing import Any

import requests

from tfreps.serving.server.requests.version_status import VersionStatus

TIMEOUT = 60.0


class RestClient:
    """Client for the REST interface of a server. The client does not need TensorFlow.

    Args:
        address: str. The address of the server, such as `"http://127.0.0.1:8501"`.
        timeout: float. Seconds to wait for a response. Defaults to 60.0.
        ca_file: str, path-like or None. PEM file with the certificate to trust for `https`. If
            `None`, the certificate authorities that `requests` trusts by default are trusted.
            Defaults to `None`.

    Example:
    >>> RestClient("http://127.0.0.1:8501").url("ner", label="stable")
    'http://127.0.0.1:8501/v1/models/ner/labels/stable'
    """

    def __init__(
        self,
        address: str,
        timeout: float = TIMEOUT,
        ca_file: str | os.PathLike[str] | None = None,
    ):
        self._address = address.rstrip("/")
        self._timeout = timeout
        self._session = requests.Session()
        # The session ignores proxies and stored passwords of the environment.
        self._session.trust_env = False
        self._session.verify = True if ca_file is None else os.fspath(ca_file)
        self._outputs: dict[tuple[str, str], str] = {}

    def url(self, model: str, version: int | None = None, label: str | None = None) -> str:
        """Returns the URL of a model, or of a version of the model.

        Args:
            model: str. The name of the model.
            version: int or None. The number of the version. Defaults to `None`.
            label: str or None. The label of the version, used if `version` is `None`. Defaults to
                `None`.

        Returns:
            str. The URL, without `:predict` or `/metadata` at the end.
        """
        url = f"{self._address}/v1/models/{urllib.parse.quote(model, safe='')}"
        if version is not None:
            return f"{url}/versions/{version}"
        return f"{url}/labels/{urllib.parse.quote(label, safe='')}" if label else url

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
            ValueError: If the request fails, or the server returns an error or invalid JSON.
        """
        url = self.url(model, version, label)
        body = {"instances": texts, **({"signature_name": signature} if signature else {})}
        rows = self._request("POST", f"{url}:predict", json.dumps(body).encode())["predictions"]
        # A row of a model with a single output is not a dict of outputs.
        if rows and not isinstance(rows[0], dict):
            name = self._only_output(url, signature)
            return [{name: row} for row in rows]
        return rows

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
            ValueError: If the request fails, or the server returns an error or invalid JSON.
        """
        found = self._request("GET", self.url(model, version, label))["model_version_status"]
        return [
            VersionStatus(
                int(entry["version"]), entry["state"], entry["status"].get("error_message", "")
            )
            for entry in found
        ]

    def close(self) -> None:
        """Closes the connection to the server."""
        self._session.close()

    def _only_output(self, url: str, signature: str) -> str:
        """Returns the name of the only output of a signature. The server is asked for it once."""
        key = url, signature
        if key not in self._outputs:
            found = self._request("GET", f"{url}/metadata")["metadata"]["signature_def"]
            outputs = found["signature_def"][signature or "serving_default"]["outputs"]
            self._outputs[key] = next(iter(outputs))
        return self._outputs[key]

    def _request(self, method: str, url: str, body: bytes | None = None) -> Any:
        try:
            response = self._session.request(method, url, data=body, timeout=self._timeout)
        except requests.Timeout:
            raise ValueError(
                f"{url} did not respond within {self._timeout:g} seconds. To wait longer, increase "
                "`timeout`."
            ) from None
        except requests.exceptions.SSLError as error:
            raise ValueError(
                f"The TLS connection to {self._address} failed: {error}. If the certificate of the "
                "server is not trusted, pass its PEM file as `ca_file`."
            ) from None
        except requests.ConnectionError:
            raise ValueError(
                f"No server responds at {self._address}. Start one with `tfreps serve DIR`, or "
                "check the address."
            ) from None
        except requests.RequestException as error:
            raise ValueError(
                f"The request to {url} failed: {error}. Check the address, and that the server "
                "is running."
            ) from None
        try:
            found = response.json()
        except ValueError:
            raise ValueError(
                f"{url} returned status {response.status_code} without valid JSON. Check that "
                "this is the address of a REST interface."
            ) from None
        if response.status_code != 200:
            message = found.get("error", found) if isinstance(found, dict) else found
            raise ValueError(f"The server returned status {response.status_code}: {message}")
        return found
