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
import tempfile
import threading
import time

from benchmarks.processes import resident_mb
from benchmarks.rows import program_parser
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
from benchmarks.serving_overhead import BARE, HERE, PAUSE, PAUSED, alternately, print_overhead
from benchmarks.serving_processes import bare_server, serving

TEXT = "The small river left its old bank near the station after three days of rain ."
CLIENTS = 1, 4, 16, 64
ROWS = 1, 8, 16, 64  # sentences in a call of the model in this process
PROTOCOLS = {"gRPC": (grpc_client, grpc_message), "REST": (rest_client, rest_message)}
FIRST, LAST = 10_000, 100_000
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
    parser = program_parser("benchmarks.serving", __doc__)
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
    """Prints the speed of the model without a server."""
    print("SavedModel in this process:")
    for rows in ROWS:
        found = median_ms(in_process(export, [options.text] * rows), options.seconds / 2)
        print(f"  {rows} sentences a call: {found:.2f} ms, {1000 * rows / found:.0f} sentences/s")
    print()


def overhead(export, options):
    """Prints the latency of a single client, of a bare gRPC server and of the model alone."""
    call, seconds = in_process(export, [options.text]), options.seconds / 5
    with serving(export) as (_, ports):
        makes = {name: clients_of(name, ports, options.text) for name in PROTOCOLS}
        with bare_server(makes["gRPC"]) as bare:
            makes[BARE] = clients_of("gRPC", bare, options.text)
            measures = {
                name: lambda make=make: run_processes(make, 1, seconds).latencies
                for name, make in makes.items()
            }
            measures[HERE] = lambda: times_of(call, seconds)
            measures[PAUSED] = lambda: times_of(call, seconds, PAUSE)
            print_overhead(alternately(measures), PROTOCOLS)


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
    """Prints the latency and throughput of clients that ask again when they have an answer."""
    print("| protocol | clients | p50, ms | p99, ms | requests/s |")
    print("|---|---|---|---|---|")
    with serving(export) as (_, ports):
        for protocol in PROTOCOLS:
            make = clients_of(protocol, ports, options.text)
            run_processes(make, 1, options.seconds / 5)
            for clients in CLIENTS:
                load = run_processes(make, clients, options.seconds)
                middle, late = load.percentile(0.5), load.percentile(0.99)
                print(
                    f"| {protocol} | {clients} | {middle:.2f} | {late:.2f} | "
                    f"{load.per_second:.0f} |" + failed(load),
                    flush=True,
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
