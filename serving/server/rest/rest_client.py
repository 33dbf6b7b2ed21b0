"""RestClient: client for the REST interface of this server or of TensorFlow Serving."""

import json
import os
import urllib.parse
from typing import Any

import requests

from tfreps.serving.server.model_client import TIMEOUT, ModelClient, VersionStatus


class RestClient(ModelClient):
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

    def close(self) -> None:
        """Closes the connection to the server."""
        self._session.close()

    def _predict(self, which, texts, signature):
        url = self.url(*which)
        body = {"instances": texts, **({"signature_name": signature} if signature else {})}
        rows = self._request("POST", f"{url}:predict", json.dumps(body).encode())["predictions"]
        # A row of a model with a single output is not a dict of outputs.
        if rows and not isinstance(rows[0], dict):
            name = self._only_output(url, signature)
            return [{name: row} for row in rows]
        return rows

    def _status(self, which):
        found = self._request("GET", self.url(*which))["model_version_status"]
        return [
            VersionStatus(
                int(entry["version"]), entry["state"], entry["status"].get("error_message", "")
            )
            for entry in found
        ]

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
