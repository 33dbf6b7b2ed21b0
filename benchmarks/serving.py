"""Measures the latency, throughput and memory of `tfreps serve` on this machine.

    python -m benchmarks.serving
    python -m benchmarks.serving --export exports/ner --text "Ada lived in London ."
    python -m benchmarks.serving --only latencies --workers 2

Clients send single sentences to a tagger (by default, an untrained BiLSTM with a CRF, which is as
fast as a trained one). The program measures latencies of 1 to 64 clients over gRPC and REST, of the
SavedModel called in this process ("direct"), and of a bare gRPC server that answers with as many
bytes; throughput with and without batching; latencies of requests that arrive at random times;
memory after 10,000 and 100,000 requests; and failures while new versions are loaded. The clients
run in processes of their own, on the same cores as the server.
"""

import argparse
import functools
import pathlib
import shutil
import tempfile
import threading
import time

from benchmarks.processes import resident_mb
from benchmarks.serving_arrivals import run_arrivals
from benchmarks.serving_load import (
    grpc_client,
    grpc_message,
    median_ms,
    rest_client,
    rest_message,
    run_processes,
)
from benchmarks.serving_processes import running, serving

TEXT = "The small river left its old bank near the station after three days of rain ."
CLIENTS = 1, 4, 16, 64
ROWS = 1, 8, 16, 64  # sentences in a call of the model in this process
PROTOCOLS = {"gRPC": (grpc_client, grpc_message), "REST": (rest_client, rest_message)}
FIRST, LAST = 10_000, 100_000
# Seconds between calls in this process, as long as the model of a server waits for the next request
# of a single client. After a pause, the caches of the processor hold less of the model.
PAUSE = 0.001
FEW = 10  # requests per second


def main(argv=None):
    options = make_parser().parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        export = pathlib.Path(folder, "tagger")
        if options.export:
            shutil.copytree(options.export, export)
        else:
            make_tagger(export)
        for name in options.only or PARTS:
            PARTS[name](export, options)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    about = (
        "Folder of an exported model that reads text and has one version. By default, an untrained "
        "tagger is exported."
    )
    parser.add_argument("--export", help=about)
    about = "Sentence to send. Defaults to a sentence of 16 tokens."
    parser.add_argument("--text", default=TEXT, help=about)
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="Number of seconds per row. Defaults to 5."
    )
    parser.add_argument(
        "--requests",
        type=int,
        default=LAST,
        help=f"Number of requests in the memory test. Defaults to {LAST}.",
    )
    about = "Parts to run. Defaults to all."
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=about)
    about = "Number of workers of the server in the part `latencies`. Defaults to 1."
    parser.add_argument("--workers", type=int, default=1, help=about)
    return parser


def make_tagger(folder, units=64, num_tags=9):
    """Exports a small untrained tagger as version 1."""
    from tfreps.export import open_for_export, write_export
    from tfreps.inference import TextTagger
    from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder
    from tfreps.text import TokenIndexer

    indexer = TokenIndexer.from_sentences([TEXT.split()])
    embedder = TokenEmbedder(vocabulary_size=indexer.vocabulary_size, embedding_dim=100)
    tags = [f"TAG{number}" for number in range(num_tags)]
    model = Tagger(BiLSTMEncoder(embedder, units), tags)
    write_export(open_for_export(TextTagger(model, indexer)), folder)


def in_this_process(export, options):
    """Prints the speed of the model without a server.

    Returns:
        Tuple of the milliseconds for one sentence, without and with a pause before each call.
    """
    times = {
        rows: median_ms(in_process(export, [options.text] * rows), options.seconds / 2)
        for rows in ROWS
    }
    paused = median_ms(in_process(export, [options.text]), options.seconds, PAUSE)
    print("SavedModel in this process:")
    for rows, found in times.items():
        print(f"  {rows} sentences a call: {found:.2f} ms, {1000 * rows / found:.0f} sentences/s")
    print(f"  1 sentence a call, after pauses of {1000 * PAUSE:g} ms: {paused:.2f} ms\n")
    return times[1], paused


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
    """Prints the latency and throughput of closed loops of clients, and of a bare gRPC server."""
    direct, paused = in_this_process(export, options)
    print("| protocol | clients | p50, ms | p99, ms | requests/s | p50 minus direct (paused), ms |")
    print("|---|---|---|---|---|---|")
    with serving(export, "--workers", str(options.workers)) as (_, ports):
        ask, close = clients_of("gRPC", ports, options.text)()
        answer_size = len(ask())
        close()
        for protocol in PROTOCOLS:
            make = clients_of(protocol, ports, options.text)
            run_processes(make, 1, options.seconds / 5)
            for clients in CLIENTS:
                load = run_processes(make, clients, options.seconds)
                middle, late = load.percentile(0.5), load.percentile(0.99)
                extra = f"{middle - direct:.2f} ({middle - paused:.2f})" if clients == 1 else ""
                print(
                    f"| {protocol} | {clients} | {middle:.2f} | {late:.2f} | "
                    f"{load.per_second:.0f} | {extra} |" + failed(load),
                    flush=True,
                )

    with running(["benchmarks.serving_echo", str(answer_size)], num_ports=1) as (_, ports):
        load = run_processes(clients_of("gRPC", ports, options.text), 1, options.seconds)
    print(
        f"Bare gRPC server, 1 client: p50 {load.percentile(0.5):.2f} ms, p99 "
        f"{load.percentile(0.99):.2f} ms" + failed(load)
    )


def arrivals(export, options):
    """Prints latencies of requests at random times, few and half as many as can be answered."""
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
    "latencies": latencies,
    "batching": unbatched,
    "arrivals": arrivals,
    "memory": memory,
    "rolling": rolling,
}

if __name__ == "__main__":
    raise SystemExit(main())
