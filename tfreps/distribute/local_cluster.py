"""local_addresses and worker_environ: a cluster whose workers are all on this machine."""

import contextlib
import os
import socket
from collections.abc import Mapping

from tfreps.distribute.cluster import LAST_PORT, NAME, Cluster, check_port_is_free

HOST = "127.0.0.1"
THREADS = "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"


def local_addresses(count: int, first_port: int | None = None) -> tuple[str, ...]:
    """Returns addresses on this machine whose ports are free.

    The ports are free when the function returns. If another process takes a port before the worker
    listens on it, the worker raises the error of `check_port_is_free`.

    Args:
        count: int. Number of addresses.
        first_port: int. First of `count` consecutive ports. If `None` (the default), the operating
            system chooses the ports.

    Returns:
        tuple of str, `"127.0.0.1:port"`.

    Raises:
        ValueError: If one of the consecutive ports is above 65535, is in use, or may not be used
            by this process.

    Example:
    >>> local_addresses(2)
    ('127.0.0.1:...', '127.0.0.1:...')
    """
    if first_port is None:
        with contextlib.ExitStack() as stack:  # all at once, so that the ports differ
            sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
            for each in sockets:
                each.bind(("", 0))
            return tuple(f"{HOST}:{each.getsockname()[1]}" for each in sockets)
    if first_port + count - 1 > LAST_PORT:
        raise ValueError(
            f"`port` must be at most {LAST_PORT - count + 1} with {count} workers, whose ports are "
            f"consecutive; got {first_port}."
        )
    addresses = tuple(f"{HOST}:{first_port + number}" for number in range(count))
    for address in addresses:
        check_port_is_free(address)
    return addresses


def worker_environ(environ: Mapping[str, str], cluster: Cluster, threads: int) -> dict[str, str]:
    """Returns the environment variables of a worker on this machine.

    They are the variables in `environ` and the following ones:

    - TF_CONFIG, which describes the cluster.
    - TF_NUM_INTRAOP_THREADS, TF_NUM_INTEROP_THREADS and OMP_NUM_THREADS: `threads`, unless they are
      already set.
    - no_grpc_proxy: its old value, or else that of no_proxy, followed by 127.0.0.1. With http_proxy
      set, TensorFlow's workers would otherwise connect to each other through the proxy and wait
      indefinitely.
    - PYTHONUNBUFFERED, unless it is already set, so that output appears in a pipe as soon as it is
      printed.

    Args:
        environ: mapping of str to str. Environment variables of this process.
        cluster: `Cluster`. The workers, with the index of this one.
        threads: int. Number of threads of the worker.

    Returns:
        dict of str to str.

    Example:
    >>> found = worker_environ({"OMP_NUM_THREADS": "1"}, Cluster(("a:1", "b:1"), 0), threads=4)
    >>> found["TF_NUM_INTRAOP_THREADS"], found["OMP_NUM_THREADS"]
    ('4', '1')
    """
    found = {**dict.fromkeys(THREADS, str(threads)), **environ, NAME: cluster.as_tf_config()}
    direct = environ.get("no_grpc_proxy") or environ.get("no_proxy")
    found["no_grpc_proxy"] = ",".join([*([direct] if direct else []), HOST])
    found.setdefault("PYTHONUNBUFFERED", "1")
    return found


def threads_per_worker(count: int) -> int:
    """Returns the number of threads for each of `count` workers that share the cores, at least 1.

    Example:
    >>> threads_per_worker(10**6)
    1
    """
    has_affinity = hasattr(os, "sched_getaffinity")  # Linux
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, cores // count)
