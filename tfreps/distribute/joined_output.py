"""JoinedOutput: joins the lines of several processes in one output."""

import contextlib
import threading

LONGEST_LINE = 2**16  # bytes; a longer line is split, so that memory is bounded
CLEAR_LINE = b"\r\033[K"  # removes a line of progress from a terminal


class JoinedOutput:
    """Copies the lines of several processes to one output, each with the prefix of its process.

    Every source is read in its own thread, and lines are written whole; only lines of more than 64
    KiB are split. If the output can no longer be written to, for example because its reader has
    ended, the sources are still read to their end, so that no process blocks on a full pipe. On a
    terminal, a copied line replaces the current progress line, which its process prints again.

    Args:
        target: binary file that the lines are written to, such as `sys.stdout.buffer`.

    Example:
    >>> import io
    >>> output = JoinedOutput(io.BytesIO())
    >>> output.follow(io.BytesIO(b"one\\ntwo"), "[worker 1] ")
    >>> output.wait(seconds=5)
    >>> output.target.getvalue()
    b'[worker 1] one\\n[worker 1] two\\n'
    """

    def __init__(self, target):
        self.target = target
        self._is_lost = False
        self._lock = threading.Lock()
        self._threads = []

    def follow(self, source, prefix: str) -> None:
        """Starts to copy the lines of a source.

        Args:
            source: binary file, such as the standard output of a `subprocess.Popen`. It is closed
                when all of it has been read.
            prefix: str. Text in front of every line.
        """
        thread = threading.Thread(target=self._copy, args=(source, prefix.encode()), daemon=True)
        self._threads.append(thread)
        thread.start()

    def wait(self, seconds: float) -> None:
        """Waits until all sources have ended.

        Args:
            seconds: float. Maximum time in seconds to wait for each source. A source stays open
                after its process has ended if another process inherited it.
        """
        for thread in self._threads:
            thread.join(seconds)

    def _copy(self, source, prefix):
        with source:
            for line in iter(lambda: source.readline(LONGEST_LINE), b""):
                self._write(prefix + line.removesuffix(b"\n") + b"\n")

    def _write(self, line):
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._is_lost:
                return
            self._is_lost = True
            self.target.write((CLEAR_LINE if self.target.isatty() else b"") + line)
            self.target.flush()
            self._is_lost = False
