"""RestClient: asks a server of models over REST, this server or TensorFlow Serving."""

import json
import urllib.parse

import requests

SECONDS = 60.0


class RestClient:
    """Client of a server's REST interface, which does not need TensorFlow.

    Args:
        address: `"http://127.0.0.1:8501"`.
        seconds: to wait for an answer.
        ca: PEM file with the certificate to trust, for `https`; None for those of the system.

    Example:
    >>> RestClient("http://127.0.0.1:8501").url("ner", label="stable")
    'http://127.0.0.1:8501/v1/models/ner/labels/stable'
    """

    def __init__(self, address, seconds=SECONDS, ca=None):
        self._address = address.rstrip("/")
        self._seconds = seconds
        self._session = requests.Session()
        self._session.trust_env = False  # no proxies, no passwords from files
        self._session.verify = ca or True
        self._outputs = {}

    def url(self, model, version=None, label=None):
        """Returns the address of a model, or of a version of it."""
        url = f"{self._address}/v1/models/{urllib.parse.quote(model, safe='')}"
        if version is not None:
            return f"{url}/versions/{version}"
        return f"{url}/labels/{urllib.parse.quote(label, safe='')}" if label else url

    def ask(self, model, texts, signature="", version=None, label=None):
        """Returns the answers to some texts.

        Args:
            model: its name.
            texts: list of str.
            signature: which takes nothing but texts; the default one where empty.
            version, label: of the model, or neither for the newest.

        Returns:
            list of dicts from outputs to numbers, strings and nested lists, one for each text.

        Raises:
            ValueError: the server does not answer, or answers with an error.
        """
        url = self.url(model, version, label)
        body = {"instances": texts, **({"signature_name": signature} if signature else {})}
        rows = self._request("POST", f"{url}:predict", json.dumps(body).encode())["predictions"]
        if rows and not isinstance(rows[0], dict):  # one output comes without its name
            name = self._only_output(url, signature)
            return [{name: row} for row in rows]
        return rows

    def status(self, model, version=None, label=None):
        """Returns `(version, state, error message)` for each version of a model.

        Raises:
            ValueError: the server does not answer, or answers with an error.
        """
        found = self._request("GET", self.url(model, version, label))["model_version_status"]
        return [
            (int(entry["version"]), entry["state"], entry["status"].get("error_message", ""))
            for entry in found
        ]

    def close(self):
        """Closes the connection."""
        self._session.close()

    def _only_output(self, url, signature):
        """The name of the one output of a signature."""
        key = url, signature
        if key not in self._outputs:
            self._outputs[key] = self._ask_for_output(url, signature)
        return self._outputs[key]

    def _ask_for_output(self, url, signature):
        found = self._request("GET", f"{url}/metadata")["metadata"]["signature_def"]
        outputs = found["signature_def"][signature or "serving_default"]["outputs"]
        return next(iter(outputs))

    def _request(self, method, url, body=None):
        try:
            answer = self._session.request(method, url, data=body, timeout=self._seconds)
        except requests.Timeout:
            raise ValueError(f"{url}: no answer within {self._seconds:g} seconds.") from None
        except requests.exceptions.SSLError as error:
            raise ValueError(f"{self._address} is not trusted: {error}") from None
        except requests.ConnectionError:
            raise ValueError(
                f"Nobody answers at {self._address}. `tfreps serve DIR` starts a server."
            ) from None
        except requests.RequestException as error:
            raise ValueError(f"{url} cannot be asked: {error}") from None
        try:
            found = answer.json()
        except ValueError:
            raise ValueError(f"{url} answers with {answer.status_code} and no JSON.") from None
        if answer.status_code != 200:
            message = found.get("error", found) if isinstance(found, dict) else found
            raise ValueError(f"The server says {answer.status_code}: {message}")
        return found
