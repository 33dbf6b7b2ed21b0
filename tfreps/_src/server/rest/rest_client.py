"""RestClient: client for the REST interface of this server or of TensorFlow Serving."""

import json
import urllib.parse

import requests

SECONDS = 60.0


class RestClient:
    """Client for the REST interface of a server. The client does not need TensorFlow.

    Args:
        address: str. The address of the server, such as `"http://127.0.0.1:8501"`.
        seconds: float. Number of seconds to wait for an answer. Defaults to 60.0.
        ca: str, path-like object or None. PEM file with the certificate to trust for `https`. If
            `None`, the certificate authorities that `requests` trusts by default are trusted.
            Defaults to `None`.

    Example:
    >>> RestClient("http://127.0.0.1:8501").url("ner", label="stable")
    'http://127.0.0.1:8501/v1/models/ner/labels/stable'
    """

    def __init__(self, address, seconds=SECONDS, ca=None):
        self._address = address.rstrip("/")
        self._seconds = seconds
        self._session = requests.Session()
        self._session.trust_env = False  # ignores proxies and stored passwords
        self._session.verify = ca or True
        self._outputs = {}

    def url(self, model, version=None, label=None):
        """Returns the URL of a model, or of its version with the given number or label."""
        url = f"{self._address}/v1/models/{urllib.parse.quote(model, safe='')}"
        if version is not None:
            return f"{url}/versions/{version}"
        return f"{url}/labels/{urllib.parse.quote(label, safe='')}" if label else url

    def ask(self, model, texts, signature="", version=None, label=None):
        """Sends texts to a model and returns its answers.

        Args:
            model: str. The name of the model.
            texts: list of str. The texts to send.
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
        if rows and not isinstance(rows[0], dict):  # a single output has no name
            name = self._only_output(url, signature)
            return [{name: row} for row in rows]
        return rows

    def status(self, model, version=None, label=None):
        """Returns the status of the versions of a model.

        Args:
            model: str. The name of the model.
            version: int or None. The version to report. If `version` and `label` are both `None`,
                all versions are reported. Defaults to `None`.
            label: str or None. The label of the version to report if `version` is `None`. The
                server may ignore it and report all versions. Defaults to `None`.

        Returns:
            list of tuples `(version, state, error_message)`. `version` is an int. `state` is a
            str such as `"AVAILABLE"`. `error_message` is a str, empty if there is no error.

        Raises:
            ValueError: If the request fails, or the server returns an error or invalid JSON.
        """
        found = self._request("GET", self.url(model, version, label))["model_version_status"]
        return [
            (int(entry["version"]), entry["state"], entry["status"].get("error_message", ""))
            for entry in found
        ]

    def close(self):
        """Closes the connection to the server."""
        self._session.close()

    def _only_output(self, url, signature):
        """Returns the name of the only output of a signature."""
        key = url, signature
        if key not in self._outputs:
            found = self._request("GET", f"{url}/metadata")["metadata"]["signature_def"]
            outputs = found["signature_def"][signature or "serving_default"]["outputs"]
            self._outputs[key] = next(iter(outputs))
        return self._outputs[key]

    def _request(self, method, url, body=None):
        try:
            answer = self._session.request(method, url, data=body, timeout=self._seconds)
        except requests.Timeout:
            raise ValueError(
                f"{url} did not respond within {self._seconds:g} seconds. To wait longer, increase "
                "`seconds` (`timeout_seconds` in `tfreps query`)."
            ) from None
        except requests.exceptions.SSLError as error:
            raise ValueError(
                f"The TLS connection to {self._address} failed: {error}. If the certificate of the "
                "server is not trusted, pass its PEM file as `ca` (`tls_ca` in `tfreps query`)."
            ) from None
        except requests.ConnectionError:
            raise ValueError(
                f"No server answers at {self._address}. Start one with `tfreps serve DIR`."
            ) from None
        except requests.RequestException as error:
            raise ValueError(f"The request to {url} failed: {error}") from None
        try:
            found = answer.json()
        except ValueError:
            raise ValueError(
                f"{url} returned status {answer.status_code} without valid JSON. Check that the "
                "address is that of a REST interface."
            ) from None
        if answer.status_code != 200:
            message = found.get("error", found) if isinstance(found, dict) else found
            raise ValueError(f"The server returned status {answer.status_code}: {message}")
        return found
