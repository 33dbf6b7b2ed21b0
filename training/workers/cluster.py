"""Cluster: the workers that train together, as the environment variable TF_CONFIG describes them.

This module does not import TensorFlow, so that a mistake is reported before TensorFlow starts to
wait for workers that do not exist: it waits indefinitely, in a call that neither Python nor a
signal can interrupt.
"""

import json
import os
import re
import socket
import time
from collections.abc import Mapping
from typing import NamedTuple

KINDS = "none", "mirrored", "multiworker"  # kinds of strategy; see `open_strategy`
NAME = "TF_CONFIG"
EXAMPLE = (
    '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": 0}}'
)
JOBS = "chief", "worker"  # jobs of TF_CONFIG; the workers are numbered in this order
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[^\s:/@\[\]]+):([0-9]{1,5})")
LAST_PORT = 65535
CONNECT_SECONDS = 1.0
PAUSE_SECONDS = 0.2
REMEDIES = {
    "ps": "Keras 3 does not support parameter servers: remove ps, and train with workers only.",
    "evaluator": "Every run evaluates its own model: remove the evaluator.",
}


class Cluster(NamedTuple):
    """The workers that train together, and the number of this process among them.

    Args:
        workers: tuple of str. Addresses `"host:port"` of all workers, in order.
        index: int. Number of this process among the workers, counted from 0. Worker 0 is the only
            one that writes the run folder.
    """

    workers: tuple[str, ...]
    index: int

    @property
    def address(self) -> str:
        """Address `"host:port"` of this process."""
        return self.workers[self.index]

    def as_tf_config(self) -> str:
        """Returns the JSON text of a TF_CONFIG with all workers in the job `worker`.

        Example:
        >>> Cluster(("a:2222", "b:2222"), 1).as_tf_config()
        '{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 1}}'
        """
        task = {"type": "worker", "index": self.index}
        return json.dumps({"cluster": {"worker": list(self.workers)}, "task": task})


def read_cluster(environ: Mapping[str, str]) -> Cluster | None:
    """Returns the `Cluster` that TF_CONFIG describes, or `None` if TF_CONFIG is not set or blank.

    TF_CONFIG may contain one address of the job `chief` in addition to the addresses of the job
    `worker`, as Kubeflow writes it. The chief is then worker 0, and worker i of TF_CONFIG is worker
    i + 1. Set TF_CONFIG to the result of `Cluster.as_tf_config` before TensorFlow reads TF_CONFIG,
    so that TensorFlow numbers the workers in the same way.

    Args:
        environ: dict of the environment variables, such as `os.environ`.

    Raises:
        ValueError: If TF_CONFIG is not valid.
    """
    text = environ.get(NAME, "")
    if not text.strip():
        return None
    config = _parse(text)
    jobs = _read_jobs(config)
    workers = tuple(address for job in JOBS for address in jobs.get(job, ()))
    for address in workers:
        if workers.count(address) > 1:
            raise ValueError(
                f"{NAME}: every worker must have its own address; {address} occurs "
                f"{workers.count(address)} times. Give each process its own host or port."
            )
    return Cluster(workers, _read_index(config, jobs))


def check_port_is_free(address: str) -> None:
    """Raises ValueError if this process cannot listen on the port of `address`."""
    _listen(address).close()


def wait_for_workers(cluster: Cluster, seconds: float) -> None:
    """Waits until all other workers listen on their ports, while this worker listens on its port.

    Args:
        cluster: `Cluster`.
        seconds: float. Maximum number of seconds to wait.

    Raises:
        ValueError: If this worker cannot listen on its port, or if other workers do not listen in
            time. The message names these workers.
    """
    size, end = len(cluster.workers), time.monotonic() + seconds
    missing = {n: a for n, a in enumerate(cluster.workers) if n != cluster.index}
    with _listen(cluster.address, backlog=8 * size):
        while missing:
            missing = {n: address for n, address in missing.items() if not _responds(address)}
            if missing and time.monotonic() > end:
                who = " and ".join(f"worker {n} ({address})" for n, address in missing.items())
                raise ValueError(
                    f"Worker {cluster.index} of {size} has waited {seconds:g} seconds for {who}. "
                    "Start all workers, and check that TF_CONFIG contains their addresses and that "
                    "this machine can connect to them."
                )
            time.sleep(PAUSE_SECONDS if missing else 0)


def _responds(address):
    """Returns True if a process listens at an address `"host:port"`."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS):
            return True
    except OSError:
        return False


def _listen(address, backlog=1):
    """Returns a socket that listens on the port of an address, on all network interfaces.

    Raises a ValueError if this process cannot listen on the port.
    """
    port = int(address.rpartition(":")[2])
    both = socket.has_dualstack_ipv6()
    how = {"family": socket.AF_INET6, "dualstack_ipv6": True} if both else {}
    try:
        return socket.create_server(("", port), backlog=backlog, **how)
    except OSError as error:
        raise ValueError(
            f"Port {port} of this worker ({address}) must be free, but cannot be opened "
            f"({os.strerror(error.errno)}). End the process that uses the port, or choose another "
            "port."
        ) from None


def _parse(text):
    """Converts the text of TF_CONFIG to a dict. Raises a ValueError if it is not a JSON object."""
    kind, reason = "JSON", ""
    try:
        config = json.loads(text)
        if isinstance(config, dict):
            return config
        kind = "a JSON object"
    except (ValueError, RecursionError) as error:
        reason = f" ({error})"
    raise ValueError(
        f"{NAME} must be {kind} such as {EXAMPLE}; got {_shown(text)}{reason}. Correct this "
        "variable, or set `distribute` to none to train in one process."
    )


def _read_jobs(config):
    """Returns a dict from the jobs `"chief"` and `"worker"` to their lists of addresses.

    `config` is TF_CONFIG as a dict. Raises a ValueError if its `cluster` is not valid.
    """
    jobs = _read_object(
        config,
        "cluster",
        "that maps jobs to lists of addresses",
        "Add the addresses of all workers",
    )
    for job, addresses in jobs.items():
        _check_job("each job of `cluster`", job)
        if not isinstance(addresses, list):
            raise ValueError(
                f'{NAME}: `{job}` must be a list of addresses such as ["host0:2222"]; got '
                f"{_shown(addresses)}. Write a list even for a single address."
            )
        for address in addresses:
            found = ADDRESS.fullmatch(address) if isinstance(address, str) else None
            if not found or not 1 <= int(found[2]) <= LAST_PORT:
                raise ValueError(
                    f"{NAME}: the addresses of `{job}` must be host:port with a port from 1 to "
                    f"{LAST_PORT}; got {_shown(address)}. Correct this address on every worker."
                )
    if len(jobs.get("chief", ())) > 1:
        raise ValueError(
            f"{NAME}: `chief` must have at most one address; got {len(jobs['chief'])}: "
            f"{_shown(jobs['chief'])}. Move all but one of them to `worker`."
        )
    if not any(jobs.values()):
        raise ValueError(
            f"{NAME}: `cluster` must have the addresses of workers, as in {EXAMPLE}; `worker` and "
            "`chief` are both missing or empty. Add the addresses of all workers."
        )
    return jobs


def _read_index(config, jobs):
    """Returns the number of this process among all workers, counted from 0; the chief is worker 0.

    `jobs` is the result of `_read_jobs`. Raises a ValueError if `task` in TF_CONFIG is not valid.
    """
    remedy = "Set `task` on every worker, with a different index on each"
    task = _read_object(config, "task", "with the type and the index of this process", remedy)
    job, index = task.get("type"), task.get("index")
    _check_job("the type of `task`", job)
    # The index may be a str of digits.
    number = int(index) if re.fullmatch("[0-9]{1,9}", str(index)) else -1
    count = len(jobs.get(job, ()))
    if type(index) not in (int, str) or not 0 <= number < count:
        known = f"from 0 to {count - 1}" if count > 1 else "0"
        expected = f"the index must be {known}" if count else f"`cluster` has no {job}"
        raise ValueError(
            f"{NAME}: `task` names a missing worker, {job} {_shown(index)}; {expected}. "
            "Correct the index, or add the address of this process to `cluster`."
        )
    return number + len(jobs.get("chief", ())) * (job == "worker")


def _read_object(config, key, what, remedy):
    """Returns the value of a key of TF_CONFIG; raises a ValueError if it is not a JSON object.

    The error message contains `what`, a description of the value, and `remedy`.
    """
    if isinstance(config.get(key), dict):
        return config[key]
    got = f"got {_shown(config[key])}" if key in config else "it is missing"
    raise ValueError(
        f"{NAME}: `{key}` must be a JSON object {what}, as in {EXAMPLE}; {got}. {remedy}."
    )


def _check_job(what, job):
    if job not in JOBS:
        remedy = REMEDIES.get(str(job), "Rename or remove this job.")
        raise ValueError(f"{NAME}: {what} must be worker or chief; got {_shown(job)}. {remedy}")


def _shown(value):
    """Returns a value as text for a message, shortened: a str in quotes, other values as JSON."""
    text = value if isinstance(value, str) else json.dumps(value)
    text = text if len(text) <= 120 else f"{text[:100]} ..."
    return repr(text) if isinstance(value, str) else text
