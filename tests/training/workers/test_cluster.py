"""Tests TF_CONFIG, one sentence for every mistake in it, and waiting for other workers."""

import contextlib
import json
import socket
import subprocess
import sys
import threading

import pytest

from tests.conftest import CHECKOUT
from tfreps.training.workers.cluster import (
    EXAMPLE,
    Cluster,
    check_port_is_free,
    read_cluster,
    wait_for_workers,
)

THREE = ["a:1", "b:2", "c:3"]


def config(cluster, task):
    return json.dumps({"cluster": cluster, "task": task})


def read(text):
    return read_cluster({"TF_CONFIG": text})


@pytest.mark.parametrize("environ", [{}, {"TF_CONFIG": ""}, {"TF_CONFIG": " \n"}])
def test_no_cluster(environ):
    assert read_cluster(environ) is None


@pytest.mark.parametrize(
    "cluster, task, index",
    [
        ({"worker": THREE}, {"type": "worker", "index": 0}, 0),
        ({"worker": THREE}, {"type": "worker", "index": 2}, 2),
        ({"worker": THREE}, {"type": "worker", "index": "2"}, 2),
        ({"chief": ["a:1"], "worker": ["b:2", "c:3"]}, {"type": "chief", "index": 0}, 0),
        ({"chief": ["a:1"], "worker": ["b:2", "c:3"]}, {"type": "worker", "index": 0}, 1),
        ({"worker": ["b:2", "c:3"], "chief": ["a:1"]}, {"type": "worker", "index": 1}, 2),
    ],
)
def test_both_forms_are_one_list_of_workers(cluster, task, index):
    found = read(config(cluster, task))
    assert found == Cluster(("a:1", "b:2", "c:3"), index)
    assert found.address == THREE[index]
    plain = {"cluster": {"worker": THREE}, "task": {"type": "worker", "index": index}}
    assert json.loads(found.as_tf_config()) == plain
    assert read(found.as_tf_config()) == found


def test_other_forms():
    assert read(EXAMPLE) == Cluster(("host0:2222", "host1:2222"), 0)
    alone = {"type": "chief", "index": 0}
    assert read(config({"chief": ["[::1]:9"]}, alone)) == Cluster(("[::1]:9",), 0)
    assert read(config({"chief": ["a-0.b.svc:65535"], "worker": []}, alone)).workers == (
        "a-0.b.svc:65535",
    )
    more = {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}
    assert read(json.dumps({**more, "environment": "cloud"})) == Cluster(("a:1",), 0)


FIRST = {"type": "worker", "index": 0}
TWO = {"worker": ["a:1", "b:2"]}
CHIEF = {"chief": ["a:1"], "worker": ["b:2"]}


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"cluster": ' * 5000, "must be JSON .*; got .* "),
        (
            "yes",
            "must be JSON such as .* got 'yes' .Expecting value.* Correct this variable, or set",
        ),
        ("[1]", r"must be a JSON object such as .*; got '\[1\]'"),
        ("{}", "`cluster` must be a JSON object .*; it is missing. Add the addresses"),
        (config([], FIRST), r"`cluster` must be a JSON object .*; got \[\]"),
        (config({}, FIRST), "`worker` and `chief` are both missing or empty"),
        (config({"chief": ["a:1", "b:2"]}, FIRST), "`chief` must have at most one address; got 2"),
        (config({**TWO, "ps": ["c:3"]}, FIRST), "got 'ps'. Keras 3 does not support parameter"),
        (config({**TWO, "evaluator": ["c:3"]}, FIRST), "got 'evaluator'. .* remove the evaluator"),
        (config({"master": ["c:3"]}, FIRST), "got 'master'. Rename or remove this job"),
        (config({"worker": "a:1"}, FIRST), "`worker` must be a list of addresses .*; got 'a:1'"),
        (config({"chief": None}, FIRST), "`chief` must be a list of addresses .*; got null"),
        (json.dumps({"cluster": TWO}), "`task` must be a JSON object .*; it is missing"),
        (config(TWO, "worker"), "`task` must be a JSON object .*; got 'worker'"),
        (config(TWO, {"type": "worker"}), "names a missing worker, worker null"),
        (config(TWO, {"index": 0}), "the type of `task` must be worker or chief; got null"),
        (config(TWO, {"type": "ps", "index": 0}), "type of `task` must be .* got 'ps'. Keras 3"),
        (config(TWO, {"type": "worker", "index": 2}), "missing worker, worker 2; .* from 0 to 1"),
        (config(TWO, {"type": "worker", "index": -1}), "names a missing worker, worker -1"),
        (config(TWO, {"type": "worker", "index": True}), "names a missing worker, worker true"),
        (config(TWO, {"type": "worker", "index": "one"}), "names a missing worker, worker 'one'"),
        (config(TWO, {"type": "chief", "index": 0}), "chief 0; `cluster` has no chief"),
        (config(CHIEF, {"type": "worker", "index": 1}), "worker 1; the index must be 0. Correct"),
        (config({"worker": ["a:1", "a:1"]}, FIRST), "a:1 occurs 2 times. Give each process"),
    ],
)
def test_every_mistake_is_one_sentence(text, message):
    with pytest.raises(ValueError, match=f"^TF_CONFIG.*{message}") as raised:
        read(text)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 600


@pytest.mark.parametrize(
    "address",
    [
        *("a", "a:", ":1", "a:0", "a:65536", "a:99999999", "a:-1", "a:x", "a:١", "a b:1", " a:1"),
        *("a:1 ", "a:1\n", "http://a:1", "a/b:1", "u@a:1", "::1:2222", "[::1]", "", 1, None, ["a"]),
    ],
)
def test_addresses(address):
    with pytest.raises(ValueError, match="addresses of `worker` must be host:port .*; got "):
        read(config({"worker": ["a:1", address]}, FIRST))


@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_a_port_in_use(host):
    with socket.socket() as other:
        other.bind((host, 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ValueError, match=rf"^Port {port} of this worker \(nowhere:{port}\) m"):
            check_port_is_free(f"nowhere:{port}")
    check_port_is_free(f"nowhere:{port}")
    check_port_is_free(f"[::1]:{port}")  # the check leaves the port free


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
    wait_for_workers(Cluster(addresses(1), 0), 0.0)


def test_nothing_imports_tensorflow():
    code = (
        "import sys, tfreps.training.workers.cluster, tfreps.training.workers.local_workers; "
        "print({'tensorflow', 'keras', 'numpy'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True)
    assert run.stdout == "set()\n", run.stderr
