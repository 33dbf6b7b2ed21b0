"""Mistakes in the set-up of workers: one sentence on every worker, exit code 2, and no hang.

Mistakes in TF_CONFIG itself are in test_cluster.py, and a port in use.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.conftest import CHECKOUT
from tests.training.workers.worker_programs import LINES
from tfreps.__main__ import main
from tfreps._src.runs.run_folder import RunFolder

SECONDS = 90  # far more than any of these takes


def free_ports(count):
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports


def started(lines, folders=None, environs=None):
    """Starts one worker for each command line; returns `(codes, messages)` of all."""
    workers = [f"localhost:{port}" for port in free_ports(len(lines))]
    processes = []
    for index, line in enumerate(lines):
        task = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        own = {"TF_CONFIG": json.dumps(task), "PYTHONPATH": str(CHECKOUT)}
        own |= {"no_grpc_proxy": "localhost", **((environs or {}).get(index, {}))}
        command = [sys.executable, "-m", "tfreps", *line, "--distribute", "multiworker"]
        processes.append(
            subprocess.Popen(
                command,
                cwd=(folders or {}).get(index, CHECKOUT),
                env={**os.environ, **own},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    end = time.monotonic() + SECONDS
    try:
        found = [p.communicate(timeout=max(1, end - time.monotonic()))[1] for p in processes]
    finally:
        for process in processes:
            process.kill()
    return [p.returncode for p in processes], found


def sentences(messages):
    """Returns the last line of each worker's messages, which must be its only error."""
    for text in messages:
        assert "Traceback" not in text, text
    return [text.strip().splitlines()[-1] for text in messages]


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    return LINES["train-tagger"](tmp_path_factory.mktemp("data"))


@pytest.mark.slow
def test_a_worker_with_other_options(tagger, tmp_path):
    run = ["--run", str(tmp_path / "run")]
    codes, messages = started([[*tagger, *run], [*tagger, *run, "--seed", "3"]])
    assert codes == [2, 2]
    for line in sentences(messages):
        assert "must have the same values, but --seed differs" in line
        assert "Start all workers with the same version of tfreps and the same options." in line
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_worker_of_another_version(tagger, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import tfreps\ntfreps.__version__ = '9.9'\n")
    environ = {"PYTHONPATH": f"{site}{os.pathsep}{CHECKOUT}"}
    line = [*tagger, "--run", str(tmp_path / "run")]
    codes, messages = started([line, line], environs={1: environ})
    assert codes == [2, 2]
    assert all("the version of tfreps differs" in line for line in sentences(messages))


@pytest.mark.slow
def test_a_run_folder_that_is_not_shared(tagger, tmp_path):
    for name in "a", "b":
        (tmp_path / name).mkdir()
    line = [*tagger, "--run", "run"]
    codes, messages = started([line, line], {0: tmp_path / "a", 1: tmp_path / "b"})
    assert codes == [2, 2]
    assert "must be on a disk that all workers share" in sentences(messages)[1]
    assert "Worker 1 of 2 has stopped with an error" in sentences(messages)[0]


@pytest.mark.slow
def test_a_run_that_is_resumed_while_it_is_going(tagger, tmp_path):
    run = tmp_path / "run"
    options = {"seed": 0}
    RunFolder.create(run, "train-tagger", options)
    holder = "from tfreps._src.runs.run_lock import locked; import sys, time\n"
    holder += "with locked(sys.argv[1], 'train-tagger'): print('held', flush=True); time.sleep(120)"
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(run)], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline().strip() == "held"
        line = ["train-tagger", "--run", str(run), "--resume", *tagger[1:]]
        try:
            codes, messages = started([line, line])
        finally:
            other.send_signal(signal.SIGKILL)
    assert codes == [2, 2]
    lines = sentences(messages)
    assert "is in use" in lines[0] or "started with different options" in lines[0]


@pytest.mark.slow
def test_a_batch_that_does_not_divide(tmp_path):
    line = LINES["pretrain-elmo"](tmp_path)
    line[line.index("--batch-size") + 1] = "7"
    line += ["--run", str(tmp_path / "run")]
    codes, messages = started([line, line])
    assert codes == [2, 2]
    for text in sentences(messages):
        assert "--batch-size must be a multiple of 2" in text and "such number is 8" in text
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_data_that_one_worker_does_not_have(tagger, tmp_path):
    for name in "a", "b":
        (tmp_path / name).mkdir()
    place = tagger.index("--train") + 1
    shutil.copy(tagger[place], tmp_path / "a" / "train.conll")
    line = [*tagger, "--run", str(tmp_path / "run")]
    line[place] = "train.conll"
    codes, messages = started([line, line], {0: tmp_path / "a", 1: tmp_path / "b"})
    assert codes == [2, 2]
    assert "'train.conll' matches no file" in sentences(messages)[1]
    assert "another worker has ended or cannot be reached" in sentences(messages)[0]


def test_a_worker_that_does_not_start(tmp_path, monkeypatch, capsys):
    """Fails before TensorFlow starts to wait, which it would do without end."""
    ports = free_ports(2)
    task = {"type": "worker", "index": 0}
    cluster = {"worker": [f"localhost:{port}" for port in ports]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    monkeypatch.setenv("TFREPS_WORKER_WAIT", "1")
    line = [*LINES["train-tagger"](tmp_path), "--run", str(tmp_path / "run")]
    assert main([*line, "--distribute", "multiworker"]) == 2
    expected = f"has waited 1 seconds for worker 1 (localhost:{ports[1]})"
    assert expected in capsys.readouterr().err
