"""Version policies."""

import pytest

from tfreps.server.models.version_policy import VersionPolicy, read_policy


@pytest.mark.parametrize(
    "text, chosen",
    [("latest", [9]), ("latest:2", [3, 9]), ("all", [1, 3, 9]), ("3,4,1", [1, 3]), ("4", [])],
)
def test_policies(text, chosen):
    assert read_policy(text).choose([3, 9, 1]) == chosen


@pytest.mark.parametrize("text", ["", "newest", "latest:0", "latest:x", "1;2", "1,", "-1", "²"])
def test_misspelt_policies(text):
    with pytest.raises(ValueError, match="version policy must be all, latest"):
        read_policy(text)


def test_none_found():
    assert VersionPolicy().choose([]) == []
