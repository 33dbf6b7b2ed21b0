"""Flags of the server and checks of their combinations."""

import pytest

from serving import serve
from tfreps.cli.server_options import check_server_options


def check(*arguments):
    check_server_options(serve.PROGRAM.parse(["exports/ner", *arguments]))


@pytest.mark.parametrize("arguments", [[], ["--page", "--sentences", "a.txt"]])
def test_options_that_fit_together(arguments):
    check(*arguments)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--model-config", "a.config"], "got both"),
        (["--sentences", "a.txt"], "--sentences requires --page"),
        (["--tls-cert", "a.pem"], "--tls-cert requires --tls-key"),
        (["--rest-port", "70000"], "--rest-port must be"),
    ],
)
def test_options_that_do_not(arguments, message):
    with pytest.raises(ValueError, match=message):
        check(*arguments)
