"""Cluster: the workers that train together, as the environment variable TF_CONFIG describes them.

This module does not import TensorFlow, so that a mistake is reported before TensorFlow starts to
wait for workers that do not exist.
"""

import json
import re
import socket
from collections.abc import Mapping
from typing import NamedTuple

KINDS = "none", "mirrored", "multiworker"  # where to train; see `open_strategy`
NAME = "TF_CONFIG"
EXAMPLE = (
    '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": 0}}'
)
JOBS = "chief", "worker"  # in the order of their indices
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[^\s:/@\[\]]+):([0-9]{1,5})")
LAST_PORT = 65535


class Cluster(NamedTuple):
    """The workers that train together, and the number of this process among them.

    Args:
        workers: tuple of str. Addresses `"host:port"` of all workers, in order.
        index: int. Number of this process among the workers, counted from 0.

    Example:
    >>> cluster = Cluster(("a:2222", "b:2222"), 1)
    >>> cluster.size, cluster.is_chief, cluster.address
    (2, False, 'b:2222')
    """

    workers: tuple[str, ...]
    index: int

    @property
    def size(self) -> int:
        """Returns the number of workers."""
        return len(self.workers)

    @property
    def is_chief(self) -> bool:
        """Returns True for worker 0, the only one that writes the run folder."""
        return self.index == 0

    @property
    def address(self) -> str:
        """Returns the address of this process."""
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
    """Reads the cluster from the environment variable TF_CONFIG.

    The cluster may have one address of the job `chief` in addition to those of the job `worker`, as
    in the TF_CONFIG that Kubeflow writes. The chief is then worker 0, and worker i of TF_CONFIG is
    worker i + 1. Set TF_CONFIG to the result of `Cluster.as_tf_config` before TensorFlow reads it,
    so that TensorFlow numbers the workers in the same way.

    Args:
        environ: mapping of str to str. Environment variables, such as `os.environ`.

    Returns:
        `Cluster`, or `None` if TF_CONFIG is unset or blank.

    Raises:
        ValueError: If TF_CONFIG is not valid. The message says what to correct.

    Example:
    >>> chief = '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": '
    >>> read_cluster({"TF_CONFIG": chief + '{"type": "worker", "index": 0}}'})
    Cluster(workers=('a:1', 'b:1'), index=1)
    >>> read_cluster({})
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
    """Checks that this process can listen on the port of its own address.

    TensorFlow listens on all network interfaces, so the port must be free on all of them; the host
    of the address is not looked up.

    Args:
        address: str. Address `"host:port"` of this process, such as `Cluster.address`.

    Raises:
        ValueError: If the port is in use, or this process may not listen on it.

    Example:
    >>> listener = socket.create_server(("127.0.0.1", 0))
    >>> port = listener.getsockname()[1]
    >>> try:
    ...     check_port_is_free(f"localhost:{port}")
    ... except ValueError as error:
    ...     print(str(error).replace(str(port), "PORT"))
    Port PORT of this worker (localhost:PORT) must be free; Address already in use. End ...
    >>> listener.close()
    >>> check_port_is_free(f"localhost:{port}")
    """
    port = int(address.rpartition(":")[2])
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("", port))
            listener.listen(1)
        except OSError as error:
            raise ValueError(
                f"Port {port} of this worker ({address}) must be free; {error.strerror}. End the "
                "process that uses the port, or choose another port."
            ) from None


def _parse(text):
    """Returns TF_CONFIG as a dict."""
    try:
        config = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise ValueError(
            f"{NAME} must be JSON such as {EXAMPLE}; got {_shown(text)} ({reason}). Correct it, or "
            "set `distribute` to none to train in one process."
        ) from None
    if not isinstance(config, dict):
        raise ValueError(
            f"{NAME} must be a JSON object such as {EXAMPLE}; got {_shown(text)}. Correct it, or "
            "set `distribute` to none to train in one process."
        )
    return config


def _without_repetition(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {max(keys, key=keys.count)!r} occurs more than once")
    return found


def _read_jobs(config):
    """Returns the addresses of each job: a dict from `"chief"` and `"worker"` to lists."""
    jobs = config.get("cluster")
    if not isinstance(jobs, dict):
        got = "it is missing" if "cluster" not in config else f"got {_shown(jobs)}"
        raise ValueError(
            f"{NAME}: `cluster` must be an object that maps jobs to lists of addresses, as in "
            f"{EXAMPLE}; {got}. Add the addresses of all workers."
        )
    for job in jobs:
        if job not in JOBS:
            raise ValueError(
                f"{NAME}: each job of `cluster` must be worker or chief; got {_shown(job)}. "
                f"{_remedy(job)}"
            )
    for job, addresses in jobs.items():
        if not isinstance(addresses, list):
            raise ValueError(
                f'{NAME}: `{job}` must be a list of addresses such as ["host0:2222"]; got '
                f"{_shown(addresses)}. Write a list even for a single address."
            )
        for address in addresses:
            _check_address(job, address)
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


def _check_address(job, address):
    found = ADDRESS.fullmatch(address) if isinstance(address, str) else None
    if not found or not 1 <= int(found[2]) <= LAST_PORT:
        raise ValueError(
            f"{NAME}: the addresses of `{job}` must be host:port with a port from 1 to "
            f"{LAST_PORT}; got {_shown(address)}. Correct this address on every worker."
        )


def _read_index(config, jobs):
    """Returns the number of this process among all workers."""
    task = config.get("task")
    if not isinstance(task, dict) or not {"type", "index"} <= set(task):
        got = "it is missing" if "task" not in config else f"got {_shown(task)}"
        raise ValueError(
            f"{NAME}: `task` must be an object with the type and the index of this process, as in "
            f"{EXAMPLE}; {got}. Set `task` on every worker, with a different index on each."
        )
    job, index = task["type"], task["index"]
    if job not in JOBS:
        raise ValueError(
            f"{NAME}: the type of `task` must be worker or chief; got {_shown(job)}. {_remedy(job)}"
        )
    if isinstance(index, str) and re.fullmatch("[0-9]{1,9}", index):  # as some scripts write it
        index = int(index)
    count = len(jobs.get(job, ()))
    if type(index) is not int or not 0 <= index < count:
        known = f"from 0 to {count - 1}" if count > 1 else "0" if count else ""
        expected = f"the index must be {known}" if count else f"`cluster` has no {job}"
        raise ValueError(
            f"{NAME}: `task` names a missing worker, {job} {_shown(task['index'])}; {expected}. "
            "Correct the index, or add the address of this process to `cluster`."
        )
    return index + len(jobs.get("chief", ())) * (job == "worker")


def _remedy(job):
    """Returns a sentence that says what to do about a job other than worker and chief."""
    if job == "ps":
        return "Keras 3 does not support parameter servers: remove ps, and train with workers only."
    if job == "evaluator":
        return "Every run evaluates its own model: remove the evaluator."
    return "Rename or remove this job."


def _shown(value):
    """Formats a value for a message: a str in quotes, any other value as JSON, both shortened."""
    text = value if isinstance(value, str) else json.dumps(value)
    text = text if len(text) <= 120 else f"{text[:100]} ..."
    return repr(text) if isinstance(value, str) else text
