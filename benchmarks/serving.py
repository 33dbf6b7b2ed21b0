"""Measures the latency, throughput and memory of `tfreps serve` on this machine.

    python -m benchmarks.serving
    python -m benchmarks.serving --export exports/ner --text "Ada lived in London ."

Clients send single sentences to a tagger (by default, an untrained BiLSTM with a CRF, which is as
fast as a trained one). The program measures latencies of 1 to 64 clients over gRPC and REST, of the
SavedModel called in this process, and of a bare gRPC server that answers with as many bytes;
throughput with and without batching; latencies of requests that arrive at random times; memory
after 10,000 and 100,000 requests; and failures while new versions are loaded. The clients run in
processes of their own, on the same cores as the server.
"""

import functools
import pathlib
import shutil
import statistics
import tempfile
import threading
import time

from benchmarks.processes import resident_mb
from benchmarks.runner import parse, print_machine, print_table
from benchmarks.serving_arrivals import run_arrivals
from benchmarks.serving_load import (
    grpc_client,
    grpc_message,
    median_ms,
    rest_client,
    rest_message,
    run_processes,
    times_of,
)
from benchmarks.serving_processes import bare_server, serving
from benchmarks.small_tagger import write_tagger

TEXT = "The small river left its old bank near the station after three days of rain ."
CLIENTS = 1, 4, 16, 64
ROWS = 1, 8, 16, 64  # numbers of sentences in a call of the model in this process
PROTOCOLS = {"gRPC": (grpc_client, grpc_message), "REST": (rest_client, rest_message)}
FIRST, LAST = 10_000, 100_000
FEW = 10  # lowest rate of arrivals, in requests per second
ROUNDS = 5
HERE = "model in this process"


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.serving",
        __doc__,
        export=(None, "Folder of an exported model that reads text and has one version. By "
                "default, an untrained tagger is exported."),
        text=(TEXT, "Sentence to send."),
        seconds=(5.0, "Number of seconds per row."),
        requests=(LAST, "Number of requests in the memory test."),
        only=(None, "Parts to run. Defaults to all.", {"nargs": "+", "choices": PARTS}),
    )  # fmt: skip
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        export = pathlib.Path(folder, "tagger")
        if options.export:
            shutil.copytree(options.export, export)
        else:
            write_tagger(export)
        for name in options.only or PARTS:
            PARTS[name](export, options)
    return 0


def in_this_process(export, options):
    """Prints the speed of the model without a server."""
    print("SavedModel in this process:")
    for rows in ROWS:
        found = median_ms(in_process(export, [options.text] * rows), options.seconds / 2)
        print(f"  {rows} sentences a call: {found:.2f} ms, {1000 * rows / found:.0f} sentences/s")
    print()


def overhead(export, options):
    """Prints the latency of a single client, of a bare gRPC server and of the model alone.

    They are measured alternately, since the speed of a machine varies from minute to minute.
    """
    call, seconds = in_process(export, [options.text]), options.seconds / ROUNDS
    with serving(export) as (_, ports):
        makes = {name: clients_of(name, ports, options.text) for name in PROTOCOLS}
        with bare_server(makes["gRPC"]) as bare:
            makes["bare gRPC server"] = clients_of("gRPC", bare, options.text)
            times = {name: [] for name in (HERE, *makes)}
            for _ in range(ROUNDS):
                times[HERE] += times_of(call, seconds)
                for name, make in makes.items():
                    times[name] += run_processes(make, 1, seconds).latencies
    medians = {name: 1000 * statistics.median(found) for name, found in times.items()}
    print("Single client, alternately:")
    for name, median in medians.items():
        more = f"; minus the model {median - medians[HERE]:.2f} ms" if name in PROTOCOLS else ""
        print(f"  {name}: p50 {median:.2f} ms{more}")
    print(flush=True)


def in_process(export, texts):
    """Returns a function that calls the default signature of the newest version."""
    import tensorflow as tf

    loaded = tf.saved_model.load(str(newest(export)))
    signature, sentences = loaded.signatures["serving_default"], tf.constant(texts)
    return lambda: (signature(text=sentences), loaded)[0]


def newest(export):
    return max((p for p in export.iterdir() if p.name.isdigit()), key=lambda p: int(p.name))


def clients_of(protocol, ports, text):
    client, message = PROTOCOLS[protocol]
    return functools.partial(client, ports[protocol], message("tagger", text))


def latencies(export, options):
    """Prints the latency and throughput of clients that wait for each response."""

    def rows():
        for protocol in PROTOCOLS:
            make = clients_of(protocol, ports, options.text)
            run_processes(make, 1, options.seconds / 5)
            for clients in CLIENTS:
                load = run_processes(make, clients, options.seconds)
                middle, late = (f"{load.percentile(share):.2f}" for share in (0.5, 0.99))
                yield protocol, clients, middle, late, f"{load.per_second:.0f}{failed(load)}"

    with serving(export) as (_, ports):
        print_table("protocol | clients | p50, ms | p99, ms | requests/s", rows())


def arrivals(export, options):
    """Prints latencies of requests at random times, at a low rate and at half the highest."""
    with serving(export) as (_, ports):
        make = clients_of("gRPC", ports, options.text)
        run_processes(make, CLIENTS[-1], options.seconds / 5)
        limit = run_processes(make, CLIENTS[-1], options.seconds).per_second
        message = grpc_message("tagger", options.text)
        for rate in (FEW, limit / 2):
            load = run_arrivals(ports["gRPC"], message, rate, 2 * options.seconds)
            print(
                f"{rate:.0f} requests/s at random times, gRPC: p50 {load.percentile(0.5):.2f} ms, "
                f"p99 {load.percentile(0.99):.2f} ms" + failed(load),
                flush=True,
            )


def unbatched(export, options):
    """Prints the requests per second of 16 clients with and without batching."""
    found = {}
    for name, flags in {"batched": [], "unbatched": ["--max-batch-size", "1"]}.items():
        with serving(export, *flags) as (_, ports):
            make = clients_of("gRPC", ports, options.text)
            run_processes(make, 16, options.seconds / 5)
            found[name] = run_processes(make, 16, options.seconds).per_second
    print(
        f"\n16 clients, gRPC: batched {found['batched']:.0f}, unbatched "
        f"{found['unbatched']:.0f} requests/s: {found['batched'] / found['unbatched']:.1f} x"
    )


def memory(export, options):
    with serving(export) as (process, ports):
        make = clients_of("gRPC", ports, options.text)
        first = min(FIRST, options.requests // 10)
        loads, sizes = [], []
        for requests in (first, options.requests - first):
            loads.append(run_processes(make, 16, requests=requests))
            sizes.append(resident_mb(process.pid))
    print(
        f"Resident memory after {first:,} requests {sizes[0]:.0f} MB, after "
        f"{options.requests:,} {sizes[1]:.0f} MB: {100 * (sizes[1] / sizes[0] - 1):+.1f} %"
        + "".join(map(failed, loads)),
        flush=True,
    )


def rolling(export, options):
    """Prints the number of failures while clients send requests and new versions are loaded."""
    stopped, versions = threading.Event(), []

    def roll():
        while not stopped.wait(options.seconds):
            version = newest(export)
            hidden = export / f".{version.name}.new"
            shutil.copytree(version, hidden)
            hidden.rename(export / str(int(version.name) + 1))
            versions.append(time.perf_counter())

    with serving(export) as (_, ports):
        thread = threading.Thread(target=roll)
        thread.start()
        try:
            load = run_processes(clients_of("gRPC", ports, options.text), 8, 5 * options.seconds)
        finally:
            stopped.set()
            thread.join()
    print(
        f"{len(versions)} new versions under load: {len(load.latencies):,} answers, "
        f"{len(load.failures)} failures, slowest {load.percentile(1.0):.0f} ms" + failed(load)
    )


def failed(load):
    return f" {len(load.failures)} FAILED, such as {load.failures[0]}" if load.failures else ""


PARTS = {
    "direct": in_this_process,
    "overhead": overhead,
    "latencies": latencies,
    "batching": unbatched,
    "arrivals": arrivals,
    "memory": memory,
    "rolling": rolling,
}

if __name__ == "__main__":
    raise SystemExit(main())
