"""wait_for_workers: waits for a limited time until all workers have started.

TensorFlow waits for missing workers indefinitely, in a call that neither Python nor a signal can
interrupt. Each worker therefore first waits here until the others have started.
"""

import socket
import time

CONNECT_SECONDS = 1.0
PAUSE_SECONDS = 0.2


def wait_for_workers(cluster, seconds):
    """Waits until every other worker listens on its port, while this one listens on its own.

    Args:
        cluster: `Cluster`. The port of this worker must be free.
        seconds: float. Time limit in seconds.

    Raises:
        ValueError: If a worker does not listen in time. The message names all such workers.
        OSError: If this worker cannot listen on its own port.

    Example:
    >>> from tfreps.distribute.cluster import Cluster
    >>> wait_for_workers(Cluster(("localhost:2222",), 0), 1.0)
    """
    missing = {n: a for n, a in enumerate(cluster.workers) if n != cluster.index}
    if not missing:
        return
    end = time.monotonic() + seconds
    with _listening(cluster.address, backlog=8 * cluster.size):
        while missing:
            missing = {n: address for n, address in missing.items() if not answers(address)}
            if missing and time.monotonic() > end:
                who = " and ".join(f"worker {n} ({address})" for n, address in missing.items())
                raise ValueError(
                    f"Worker {cluster.index} of {cluster.size} has waited {seconds:g} seconds for "
                    f"{who}. Start all workers, and check that TF_CONFIG contains their addresses "
                    "and that this machine can connect to them."
                )
            time.sleep(PAUSE_SECONDS if missing else 0)


def answers(address):
    """Returns True if a process listens at an address `"host:port"`."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
            return True
    except OSError:
        return False


def _listening(address, backlog):
    """Returns a socket that listens on the port of an address, on all interfaces."""
    port = int(address.rpartition(":")[2])
    if socket.has_dualstack_ipv6():
        family = {"family": socket.AF_INET6, "dualstack_ipv6": True}
        return socket.create_server(("", port), backlog=backlog, **family)
    return socket.create_server(("", port), backlog=backlog)
