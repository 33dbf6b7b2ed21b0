"""Worker process of Beam's local runner that ends when the folder FOLDER is removed.

python -m tfreps.serving.annotation.local_worker FOLDER
"""

import os
import sys
import threading
import time

from apache_beam.runners.worker import sdk_worker_main

POLL_SECONDS = 0.5


def main(argv):
    """Runs Beam's worker until the runner ends it or the folder `argv[1]` no longer exists."""
    folder, *rest = argv[1:]
    threading.Thread(target=end_with, args=(folder,), daemon=True).start()
    sdk_worker_main.main([argv[0], *rest])


def end_with(folder):
    """Waits until the folder no longer exists, and then ends this process."""
    while os.path.isdir(folder):
        time.sleep(POLL_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv)
