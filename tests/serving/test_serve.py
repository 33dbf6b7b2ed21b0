"""Tests `tfreps serve`: starts, queries, stops, kills and restarts a process."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import requests
import tensorflow as tf

from tests.conftest import CHECKOUT
from tests.serving.server.rest.test_context_neighbors import save_models
from tests.serving.server.small_models import save, save_half, save_zoo, spec
from tfreps.__main__ import main
from tfreps.serving import serve
from tfreps.serving.server.requests.event_loop import on_loop, server_loop
from tfreps.serving.server.rest.rest_client import RestClient


@contextlib.contextmanager
def started(*arguments, timeout=60):
    """Context manager that yields a server process, its REST port and its printed lines."""
    command = [sys.executable, "-m", "tfreps", "serve", *map(str, arguments)]
    process = subprocess.Popen(
        command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    killer = threading.Timer(timeout, process.kill)  # a server that is never ready ends the test
    killer.start()
    try:
        lines = []
        while "for development" not in (lines or [""])[-1]:
            lines.append(process.stdout.readline())
            if not lines[-1]:
                raise AssertionError(f"{''.join(lines)}\n{process.stderr.read()}")
        killer.cancel()
        yield process, int(re.search(r"REST: http://\S+:(\d+)/", "".join(lines))[1]), lines
    finally:
        killer.cancel()
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "zoo"
    save_zoo(folder / "1")
    return folder


def test_a_whole_life(zoo):
    """A server that is stopped during a request still responds to it."""
    with started(zoo, "--rest-port", 0, "--grpc-port", 0) as (process, port, lines):
        text = "".join(lines)
        assert f"tfreps query zoo TEXT --rest-port {port}" in text
        assert "127.0.0.1" in text and "small installations" in text
        client = RestClient(f"http://127.0.0.1:{port}")
        assert client.predict("zoo", ["ab"]) == [{"length": 2, "upper": "AB"}]
        threading.Timer(0.5, process.terminate).start()
        begin = time.monotonic()
        body = {"signature_name": "slow", "instances": ["x" * 4_000]}
        found = requests.post(client.url("zoo") + ":predict", json=body, timeout=60)
        assert list(found.json()) == ["predictions"]
        assert time.monotonic() - begin > 0.5
        assert process.wait(30) == 0
        assert "once all accepted requests are finished" in process.stdout.read()
        client.close()


def test_signals_and_exit_codes(monkeypatch):
    """The first signal stops the server gracefully, and a second one stops it at once."""
    handlers, codes, stopped = {}, [], threading.Event()
    monkeypatch.setattr(signal, "signal", handlers.__setitem__)
    monkeypatch.setattr(serve.os, "_exit", codes.append)
    serve.stop_on_signals(stopped)
    handlers[signal.SIGINT](signal.SIGINT, None)
    assert stopped.is_set() and codes == []
    for number in (signal.SIGINT, signal.SIGTERM):
        handlers[number](number, None)
    assert codes == [130, 143]


@pytest.mark.slow
def test_an_interrupt_ends_a_server_with_0_as_its_help_says(zoo, capsys):
    with started(zoo, "--rest-port", 0, "--grpc-port", 0) as (process, _, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    assert "stops the server with exit code 0" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_killed_and_started_again_at_once(zoo):
    with started(zoo, "--rest-port", 0, "--grpc-port", 0) as (process, rest, lines):
        grpc_port = re.search(r"gRPC: \S+:(\d+)", "".join(lines))[1]
        client = RestClient(f"http://127.0.0.1:{rest}")
        assert client.predict("zoo", ["ab"])
        (zoo / "2").mkdir()  # as if a model was being copied
        (zoo / "2" / "saved_model.pb").write_bytes(b"half of")
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        with started(zoo, "--rest-port", rest, "--grpc-port", grpc_port) as (_, again, _):
            assert again == rest
            assert client.predict("zoo", ["ab"]) == [{"length": 2, "upper": "AB"}]
            assert [entry[:2] for entry in client.status("zoo")] == [(2, "END"), (1, "AVAILABLE")]
        client.close()


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "Expected either the base paths of models or --model-config; got neither."),
        ([".", "--model-config", "a"], "got both"),
        (["nowhere"], "nowhere is not a folder"),
        ([".", "--sentences", "x"], "--sentences requires --page"),
        (["."], "contains no version of a model to serve: expected folders"),
        ([".", "--tls-cert", "x"], "--tls-cert requires --tls-key"),
        ([".", "--tls-cert", "x", "--tls-key", "y"], "No such file"),
        ([".", "--max-requests", "0"], "--max-requests must be at least 1"),
        (
            [".", "--rest-port", "65536"],
            "--rest-port must be at least 0 and at most 65535; got",
        ),
        ([".", "--timeout-seconds", "0"], "--timeout-seconds must be above 0"),
        (
            [".", "--allow-origin", "example.org"],
            "An origin in --allow-origin must have the form https://example.org",
        ),
        ([".", "--label", "x"], "--label must have the form NAME:LABEL=VERSION"),
        ([".", "--versions", "x:all"], "--versions must start with the name of a model"),
        (["--model-config", "nowhere"], "nowhere: No such file"),
    ],
)
def test_errors_are_one_line(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    ports = [] if "--rest-port" in arguments else ["--rest-port", "0", "--grpc-port", "0"]
    assert main(["serve", *arguments, *ports]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


@pytest.mark.parametrize("interface", ["REST", "gRPC"])
def test_a_port_in_use(zoo, capfd, monkeypatch, interface):
    """The error names the flag, and gRPC's log prints nothing."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports, port = {"REST": 0, "gRPC": 0}, taken.getsockname()[1]
        ports[interface] = port
        flags = ["--rest-port", str(ports["REST"]), "--grpc-port", str(ports["gRPC"])]
        assert main(["serve", str(zoo), *flags]) == 2
    assert capfd.readouterr().err == (
        f"tfreps serve: error: Cannot listen on 127.0.0.1:{port} for {interface}: Address already "
        f"in use. Choose another port with --{interface.lower()}-port, where 0 chooses a free "
        "one.\n"
    )


def test_a_host_that_is_not_this_machine(zoo, capfd, monkeypatch):
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    flags = ["--host", "192.0.2.1", "--rest-port", "0", "--grpc-port", "0"]
    assert main(["serve", str(zoo), *flags]) == 2
    error = capfd.readouterr().err
    assert error.endswith("Set --host to an address of this machine.\n") and error.count("\n") == 1


def test_a_model_that_uses_files_is_rejected_once_and_the_flag_is_named(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    text = {"text": spec("string", None)}
    reads = save(
        tmp_path / "reads" / "1",
        serving_default=(lambda text: {"y": tf.map_fn(tf.io.read_file, text)}, text),
    ).parent
    save_half(tmp_path / "half" / "1")
    ports = ["--rest-port", "0", "--grpc-port", "0"]
    assert main(["serve", str(reads), *ports]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and "ReadFile" in lines[0] and lines[0].count("--allow-file-ops") == 1
    assert "`allow_file_ops`" not in lines[0]

    save(tmp_path / "writes" / "1", serving_default=(writes, text))
    assert (
        main(["serve", str(reads), str(tmp_path / "writes"), str(tmp_path / "half"), *ports]) == 2
    )
    lines = capsys.readouterr().err.splitlines()
    assert [name for line in lines for name in ("ReadFile", "WriteFile") if name in line] == [
        *("WriteFile", "ReadFile"),
    ]


def writes(text):
    with tf.control_dependencies([tf.io.write_file("/tmp/never", text[0])]):
        return {"y": tf.identity(text)}


def test_all_versions_and_labels(tmp_path):
    for number in (1, 2, 3):
        save_half(tmp_path / "half" / str(number), plus=float(number))
    arguments = [str(tmp_path / "half"), "--label", "half:stable=1", "--rest-port", "0"]
    server = serve.make_server(serve.COMMAND.parse([*arguments, "--grpc-port", "0"]))
    with server:
        assert server._core.pool.models["half"].available == [1, 3]
        assert not serve.reads_text(server, "half")


def test_a_page_among_whose_sentences_neighbors_are_looked_for(tmp_path):
    (bilm, *_) = save_models(tmp_path / "models")
    (tmp_path / "sentences.txt").write_text("ccc a\n\nbb\n")
    flags = ["--rest-port", "0", "--grpc-port", "0", "--poll-seconds", "0"]
    line = [str(bilm), "--page", "--sentences", str(tmp_path / "sentences.txt"), *flags]
    options = serve.COMMAND.parse(line)
    with serve.make_server(options) as server:
        address = f"http://127.0.0.1:{server.rest_port}"
        assert "<textarea" in requests.get(address).text
        asked = {"model": "bilm", "texts": ["bb a"], "text": 0, "token": 0}
        found = requests.post(f"{address}/page/neighbors", json=asked).json()
        assert [(w["token"], w["from"]) for w in found] == [
            *(("bb", "sentence 3"), ("ccc", "sentence 1"), ("a", "text 1"), ("a", "sentence 1")),
        ]
    assert serve.make_routes(serve.COMMAND.parse([str(bilm)])) is None


def test_the_time_that_stopping_took_is_the_true_one(zoo, monkeypatch, capsys):
    monkeypatch.setattr(serve, "stop_on_signals", lambda stopped: None)
    ended = []
    monkeypatch.setattr(serve.os, "_exit", ended.append)
    go_on = asyncio.Event()

    async def leave_one_in_work(core):
        task = asyncio.ensure_future(core.respond(core.call(), lambda call: go_on.wait()))
        await asyncio.sleep(0)
        return task

    monkeypatch.setattr(
        serve, "try_out", lambda server, options: on_loop(leave_one_in_work(server._core))
    )
    serve.main([str(zoo), "--rest-port", "0", "--grpc-port", "0", "--try", "a"])
    server_loop().call_soon_threadsafe(go_on.set)
    assert ended == [1]
    found = re.search(r"after (.*) seconds with 1 unfinished requests", capsys.readouterr().out)
    assert float(found[1]) < 10


def test_operations_of_small_requests_have_threads(monkeypatch):
    """The number of threads is set before TensorFlow starts, which is simulated here."""
    chosen = []
    threading_options = tf.config.threading
    monkeypatch.setattr(threading_options, "get_inter_op_parallelism_threads", lambda: 0)
    monkeypatch.setattr(threading_options, "set_inter_op_parallelism_threads", chosen.append)
    serve.spread_operations()
    assert chosen == [max(os.cpu_count(), 4)]
    monkeypatch.setattr(threading_options, "get_inter_op_parallelism_threads", lambda: 3)
    serve.spread_operations()
    assert len(chosen) == 1


@pytest.mark.parametrize(
    "program, module", [("serve", "model_server"), ("query", "rest.rest_client")]
)
def test_without_the_packages_of_the_extra(monkeypatch, capsys, program, module):
    monkeypatch.setitem(sys.modules, f"tfreps.serving.server.{module}", None)
    assert main([program, "exports/ner", *["A text ."][: program == "query"]]) == 2
    message = "which is not installed. In a checkout of tfreps, run pip install '.[serving]'."
    assert message in capsys.readouterr().err


def test_tried_over_both_protocols(zoo, monkeypatch, capsys):
    monkeypatch.setattr(serve, "stop_on_signals", lambda stopped: None)
    line = [str(zoo), "--rest-port", "0", "--grpc-port", "0", "--try", "naïve text"]
    assert serve.main(line) == 0
    out = capsys.readouterr().out
    for protocol in ("REST", "gRPC"):
        asked = out.split(f"zoo over {protocol}:\n")[1].splitlines()[:3]
        assert asked == ["naïve text", "  length: 11", "  upper: NAïVE TEXT"]
