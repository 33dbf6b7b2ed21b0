"""Times pytorch-crf on request: the other side of benchmarks/taggers.py, in its own environment.

    peers/bin/python benchmarks/peer_crf.py loss 32 50 9 1.0

Reads a number of batches from each line of standard input and answers with a JSON list of their
seconds. Before the first it chooses the number of threads with which it is fastest.
"""

import json
import sys
import time


def main(argv=None):
    task, *sizes, scale = sys.argv[1:] if argv is None else argv
    call, set_threads = prepare(task, *(int(size) for size in sizes), float(scale))
    set_threads(fastest(call, set_threads))
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        print(json.dumps([seconds(call) for _ in range(int(line))]), flush=True)
    return 0


def prepare(task, batch, length, num_tags, scale):
    """The call to time, and what sets the number of threads."""
    import torch
    from torchcrf import CRF

    torch.manual_seed(0)
    crf = CRF(num_tags, batch_first=True)
    emissions = (scale * torch.randn(batch, length, num_tags)).requires_grad_()
    tags = torch.randint(0, num_tags, (batch, length))
    mask = torch.ones(batch, length, dtype=torch.bool)

    def loss():
        crf.zero_grad()
        emissions.grad = None
        (-crf(emissions, tags, mask, reduction="mean")).backward()

    return {"loss": loss, "viterbi": lambda: crf.decode(emissions, mask)}[task], (
        torch.set_num_threads
    )


def fastest(call, set_threads, choices=(1, 2)):
    """The number of threads of the quickest batch; ties go to the smaller."""
    times = {}
    for threads in choices:
        set_threads(threads)
        times[threads] = min(seconds(call) for _ in range(5))
    return min(times, key=times.get)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    raise SystemExit(main())
