"""Tests the options of a server."""

import pytest

from tfreps.serving import ServerOptions


def test_a_key_without_a_certificate():
    with pytest.raises(ValueError, match="`tls_key` requires `tls_cert`, the path"):
        ServerOptions(tls_key="key.pem")
