"""Measures the speed of training with several single-threaded workers on this machine.

    python -m benchmarks.scaling
    python -m benchmarks.scaling --workers 1 2 --model bilm --steps 10 --bfloat16-reduce

The models have random weights and train on random tokens, whose frequencies are those of a
log-uniform distribution. The number of rows of a global batch is the same for every number of
workers, and each worker processes its part of them. Efficiency is the speed divided by the number
of workers and by the speed of 1 worker. "Dense" is the size of the dense gradients of a step, which
every worker sums with those of the others; "sparse" is the size of the values and indices that the
workers gather from one another, without padding. "Reduce" is the time of the sums alone, with
gradients of the same shapes, and "share" is that time divided by the time of a step. With
--bfloat16-reduce, the sums are also measured with dense gradients that are cast to bfloat16 and
back.
"""

import json
import os
import pathlib
import sys
import tempfile

from benchmarks.runner import parse, print_machine, print_table, usage_error
from tfreps.training.workers.local_workers import (
    THREADS,
    local_addresses,
    run_workers,
    threads_per_worker,
)

PROGRAM = "benchmarks.scaling"
MODELS = "bilm", "bert"
COUNTED_STEPS = 3


def main(argv=None):
    options = read_options(argv)
    if options.measure:
        measure(options)
        return 0
    print_machine()
    print(f"{threads_per_worker(1)} cores, 1 thread per worker")
    results = []
    for model in options.model:
        for workers in options.workers:
            results.append(start(model, workers, options))
            print(json.dumps(results[-1]), flush=True)
    print_results(results, options.bfloat16_reduce)
    return 0


def read_options(argv):
    options = parse(
        argv,
        PROGRAM,
        __doc__,
        workers=([1, 2, 4], "Numbers of workers to measure."),
        model=(list(MODELS), "Models to measure.", {"choices": MODELS}),
        steps=(20, "Number of timed steps per row of the table."),
        rows=(32, "Number of rows of a global batch."),
        bfloat16_reduce=(False, "Also measure sums of bfloat16 gradients."),
        measure=(
            None, "Measure a model as the worker that TF_CONFIG describes.", {"choices": MODELS},
        ),
        result=(None, "File to which worker 0 writes its result with --measure."),
    )  # fmt: skip
    for workers in options.workers:
        if workers < 1 or options.rows % workers:
            usage_error(f"--workers must divide --rows, {options.rows}; got {workers}.")
    return options


def start(model, workers, options):
    """Returns the result of one row, which `workers` processes measure."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "result.json")
        command = [sys.executable, "-m", PROGRAM, "--measure", model, "--result", str(path)]
        command += ["--workers", str(workers), "--rows", str(options.rows)]
        command += ["--steps", str(options.steps)]
        command += ["--bfloat16-reduce"] * options.bfloat16_reduce
        environ = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, **dict.fromkeys(THREADS, "1")}
        outputs = sys.stdout.buffer, sys.stderr.buffer
        outcome = run_workers(command, local_addresses(workers), environ, outputs)
        if outcome.code:
            raise SystemExit(f"{model} with {workers} workers failed: {outcome.failure}")
        return json.loads(path.read_text(encoding="utf-8"))


def measure(options):
    """Measures a row as one of its workers; worker 0 writes the result."""
    import numpy as np

    from benchmarks import reductions, scaling_models
    from tfreps.training.loop.replica_loop import ReplicaLoop
    from tfreps.training.workers.strategies import open_strategy
    from tfreps.training.workers.workers import Workers

    strategy = open_strategy("multiworker")
    workers = Workers(strategy)
    model, data = scaling_models.make(options.measure, options.rows, strategy)
    with reductions.recorded_gradients() as gradients:
        loop = ReplicaLoop(model)
        loop.begin()
        loop.fit_epoch(data, COUNTED_STEPS, [], 0)
    unrecorded = ReplicaLoop(model)  # a new loop traces the step again, without recording
    seconds = scaling_models.seconds_per_step(unrecorded, data, options.steps)
    counts = [reductions.count_bytes(step) for step in gradients] or [(0, 0)]
    dense, sparse = (int(np.mean(part)) for part in zip(*counts, strict=True))
    result = {
        "model": options.measure,
        "workers": workers.size,
        "rows": options.rows,
        "steps_per_second": round(1 / seconds, 3),
        "dense_bytes": dense,
        "sparse_bytes": reductions.gathered_bytes(strategy, sparse),
        "step_seconds": round(seconds, 4),
    }
    types = {"reduce_seconds": None}
    if options.bfloat16_reduce:
        types["bfloat16_reduce_seconds"] = "bfloat16"
    for name, dtype in types.items():
        given = strategy, gradients[-1] if gradients else [], options.steps, dtype
        result[name] = round(reductions.seconds_to_reduce(*given), 4) if gradients else 0.0
    if workers.is_chief:
        pathlib.Path(options.result).write_text(json.dumps(result), encoding="utf-8")


def print_results(results, with_bfloat16=False):
    headings = (
        "model | workers | rows | steps/s | efficiency | dense MB | sparse MB | reduce s | share"
    )
    headings += " | reduce s, bfloat16" * with_bfloat16
    alone = {r["model"]: r["steps_per_second"] for r in results if r["workers"] == 1}
    table = []
    for r in results:
        table.append([r["model"], r["workers"], r["rows"], f"{r['steps_per_second']:.2f}"])
        table[-1].append(efficiency(r, alone.get(r["model"])))
        table[-1] += [f"{r[kind] / 1e6:.1f}" for kind in ("dense_bytes", "sparse_bytes")]
        share = r["reduce_seconds"] / r["step_seconds"]
        table[-1] += [f"{r['reduce_seconds']:.3f}", f"{share:.0%}"]
        if with_bfloat16:
            table[-1].append(f"{r['bfloat16_reduce_seconds']:.3f}")
    print_table(headings, table)
    cores = threads_per_worker(1)
    for workers in sorted({r["workers"] for r in results if r["workers"] > cores}):
        print(
            f"{workers} workers share {cores} cores, so their efficiency cannot exceed "
            f"{cores / workers:.2f}."
        )


def efficiency(result, alone):
    """Returns the efficiency relative to the speed of 1 worker, or "-" if that is unknown."""
    if not alone:
        return "-"
    return f"{result['steps_per_second'] / result['workers'] / alone:.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
