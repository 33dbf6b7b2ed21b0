"""Runs the `tfreps` command."""

import sys

from tfreps._src.cli.commands import main

if __name__ == "__main__":
    sys.exit(main())
