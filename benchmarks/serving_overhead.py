"""Compares the latency of a single client with that of the model alone.

All of them are measured alternately, since the speed of a machine varies from minute to minute.
"""

import statistics

# Seconds before a call in this process, as long as the model of a server waits for the next request
# of a single client. After a pause, threads are asleep, and caches hold less of the model.
PAUSE = 0.001
ROUNDS = 5
BARE = "bare gRPC server"
HERE = "model in this process"
PAUSED = f"model in this process, after pauses of {1000 * PAUSE:g} ms"


def alternately(measures, rounds=ROUNDS):
    """Returns the median of several measurements, each a function that returns seconds, in ms."""
    times = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            times[name] += measure()
    return {name: 1000 * statistics.median(found) for name, found in times.items()}


def print_overhead(times, protocols):
    """Prints median times, and for the protocols, how much longer they are than the model's."""
    print("Single client, alternately:")
    for name, found in times.items():
        line = f"  {name}: p50 {found:.2f} ms"
        if name in protocols:
            line += f"; minus the model {found - times[HERE]:.2f} ms, "
            line += f"after pauses {found - times[PAUSED]:.2f} ms"
        print(line)
    print(flush=True)
