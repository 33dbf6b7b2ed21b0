"""Starts servers in processes of their own."""

import contextlib
import re
import subprocess
import sys


@contextlib.contextmanager
def serving(export, *flags):
    """Starts a server in a context; yields its process and its ports by protocol."""
    command = ["tfreps", "serve", f"tagger={export}", *flags]
    command += ["--rest-port", "0", "--grpc-port", "0", "--poll-seconds", "0.2"]
    with running(command, num_ports=2) as (process, ports):
        yield process, ports


@contextlib.contextmanager
def running(command, num_ports):
    """Runs a module in a context; yields its process and the ports that it prints."""
    command = [sys.executable, "-m", *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            ports = {}
            for line in process.stdout:
                if match := re.match(r"(REST|gRPC): .*?:(\d+)(/|$)", line):
                    ports[match[1]] = int(match[2])
                if len(ports) == num_ports:
                    break
            yield process, ports
        finally:
            process.terminate()


@contextlib.contextmanager
def bare_server(make_client):
    """Starts a bare gRPC server in a context, whose responses are as long as those of a client."""
    ask, close = make_client()
    size = len(ask())
    close()
    with running(["benchmarks.serving_echo", str(size)], num_ports=1) as (_, ports):
        yield ports
