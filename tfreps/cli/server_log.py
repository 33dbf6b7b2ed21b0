"""server_log: prints the log of the model server, with flags in place of option names."""

import contextlib
import logging

from tfreps.cli.option_rules import with_flags
from tfreps.cli.standard_streams import say

# Options of the server whose flag has a different name.
FLAGS = {"allowed_hosts": "allow_host", "allowed_origins": "allow_origin", "labels": "label"}


class ServerLog(logging.Handler):
    """Handler that prints the log of the server, with flags in place of option names.

    Errors are held back until `flush_errors` is called, once the server has started or failed to
    start.

    Args:
        options: namespace of all options of the program.
        start: str. Text at the start of each line. Defaults to `""`.
    """

    def __init__(self, options, start=""):
        super().__init__(logging.INFO)
        self.options = options
        self.start = start
        self.held = []

    def emit(self, record):
        if self.held is not None and record.levelno >= logging.ERROR:
            self.held.append(record)
        else:
            say(self.start + with_flag_names(self.format(record), self.options))

    def flush_errors(self, but=""):
        """Prints the errors that were held back.

        Args:
            but: str. Error message that is printed elsewhere. An error is not printed if this text
                contains the message of its exception. Defaults to `""`.
        """
        held, self.held = self.held, None
        for record in held:
            reasons = [str(each) for each in record.args or () if isinstance(each, Exception)]
            if not any(reason in but for reason in reasons):
                self.emit(record)


@contextlib.contextmanager
def server_log(options, start=""):
    """Context manager that prints the log of the server and yields its `ServerLog`.

    Args:
        options: namespace of all options of the program.
        start: str. Text at the start of each line. Defaults to `""`.
    """
    log, handler = logging.getLogger("tfreps.server"), ServerLog(options, start)
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False  # the handlers of other loggers would print the lines again
    try:
        yield handler
    finally:
        if handler.held is not None:  # another error ended the program before the server started
            handler.flush_errors()
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]


def with_flag_names(text, options):
    """Replaces the names of options in a message with flags.

    Args:
        text: str. The message.
        options: namespace of all options of the program.

    Returns:
        str. The message with flags.
    """
    for name, flag in FLAGS.items():
        text = text.replace(f"`{name}`", f"`{flag}`")
    return with_flags(text, vars(options))
