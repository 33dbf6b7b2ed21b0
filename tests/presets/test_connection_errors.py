import http.client

import pytest
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

from tfreps._src.presets.connection_errors import naming_source


@pytest.mark.parametrize(
    "error, message",
    [
        (OSError("broken\n pipe."), "^a.zip cannot be downloaded: broken pipe. Try again.$"),
        (OfflineModeIsEnabled("off"), "^a.zip cannot be downloaded: HF_HUB_OFFLINE is set. Unset"),
        (http.client.BadStatusLine("odd"), "^a.zip cannot be downloaded: odd. Try again.$"),
        (HfHubHTTPError.__bases__[0]("timed out"), "^a.zip cannot be downloaded: timed out. Try"),
        (KeyError("x"), "^a.zip has no key.$"),
    ],
)
def test_one_sentence_that_names_the_source(error, message):
    with pytest.raises(ValueError, match=message):
        with naming_source(
            "a.zip", "downloaded", "Try again.", sentences={KeyError: "has no key."}
        ):
            raise error


@pytest.mark.parametrize("error", [OSError(28, "No space left", "a.zip"), RuntimeError("a bug")])
def test_other_errors_pass(error):
    with pytest.raises(type(error)) as raised:
        with naming_source("a.zip", "downloaded", "Try again."):
            raise error
    assert raised.value is error
