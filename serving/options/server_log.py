"""server_log: prints the log of the model server, with flags in place of option names."""

import contextlib
import logging

from tfreps._src.cli.standard_streams import say


class ServerLog(logging.Handler):
    """Logging handler that prints the log of the server, with flags in place of option names.

    Errors are held back until `flush_errors` is called, once the server has started or failed to
    start.

    Args:
        command: `cli.command.Command`.
    """

    def __init__(self, command):
        super().__init__(logging.INFO)
        self.command = command
        self.held = []

    def emit(self, record):
        if self.held is not None and record.levelno >= logging.ERROR:
            self.held.append(record)
        else:
            say(self.command.with_flags(self.format(record)))

    def flush_errors(self, but=""):
        """Prints the errors that were held back; later errors are printed at once.

        An error whose reason is contained in the text `but` is left out, because the caller reports
        this text.
        """
        held, self.held = self.held, None
        for record in held:
            reasons = [str(each) for each in record.args or () if isinstance(each, Exception)]
            if not any(reason and reason in but for reason in reasons):
                self.emit(record)


@contextlib.contextmanager
def server_log(command):
    """Context manager that prints the log of the model server, and yields the `ServerLog`.

    Errors that are still held back at the end of the block are printed.
    """
    log, handler = logging.getLogger("tfreps.serving"), ServerLog(command)
    before = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False  # otherwise the handlers of other loggers would print the lines again
    try:
        yield handler
    finally:
        if handler.held is not None:  # another error ended the command before the server started
            handler.flush_errors()
        log.removeHandler(handler)
        log.setLevel(before[0])
        log.propagate = before[1]
