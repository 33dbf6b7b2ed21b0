"""Tests that the log of the server names flags, and repeats no error that ends it."""

import logging

from tfreps.serving import serve
from tfreps.serving.options.server_log import server_log


def test_the_log_of_the_server_names_flags(capsys):
    log = logging.getLogger("tfreps.serving")
    with server_log(serve.COMMAND) as handler:
        log.info("half version 1: AVAILABLE")
        log.error("a version 1 is not served: %s", ValueError("over `max_tokens`"))
        log.error("b version 1 is not served: %s", ValueError("another `allowed_hosts`"))
        assert capsys.readouterr().err == "half version 1: AVAILABLE\n"
        handler.flush_errors(but="a: over `max_tokens`")
        assert capsys.readouterr().err == "b version 1 is not served: another --allow-host\n"
        log.error("c version 2 is not served: over `max_tokens` of `tfreps`")
        assert capsys.readouterr().err == (
            "c version 2 is not served: over --max-tokens of `tfreps`\n"
        )
    assert log.propagate and handler not in log.handlers
