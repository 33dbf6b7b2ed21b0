import contextlib
import socket
import threading

import pytest

from tfreps.distribute.cluster import Cluster
from tfreps.distribute.worker_start import answers, wait_for_workers


def addresses(count):
    """Returns addresses with ports that are free now."""
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return tuple(f"127.0.0.1:{server.getsockname()[1]}" for server in servers)


def test_a_worker_that_does_not_start_is_named():
    workers = addresses(3)
    with socket.create_server(("127.0.0.1", int(workers[2].split(":")[1]))):
        assert answers(workers[2]) and not answers(workers[0])
        expected = f"Worker 1 of 3 has waited 0.1 seconds for worker 0 .{workers[0]}.. Start"
        with pytest.raises(ValueError, match=expected):
            wait_for_workers(Cluster(workers, 1), 0.1)


def test_workers_meet_in_any_order():
    workers, errors = addresses(3), []

    def start(index):
        try:
            wait_for_workers(Cluster(workers, index), 20.0)
            # TensorFlow listens from here on.
            with socket.create_server(("127.0.0.1", int(workers[index].split(":")[1]))):
                done.wait(20.0)
        except Exception as error:
            errors.append(error)

    done = threading.Barrier(3)
    threads = [threading.Thread(target=start, args=[index]) for index in (2, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(40.0)
    assert not errors and not any(thread.is_alive() for thread in threads)


def test_one_worker_does_not_wait():
    wait_for_workers(Cluster(("127.0.0.1:1",), 0), 0.0)
