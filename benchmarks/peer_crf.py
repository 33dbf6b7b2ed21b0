"""Times pytorch-crf for benchmarks/taggers.py in an environment of its own.

    .venv-peers/torch/bin/python -m benchmarks.peer_crf loss 32 50 9 1.0

The arguments are the task (loss or viterbi), the numbers of sentences, tokens per sentence and
tags, and the scale of the scores. Each line of standard input gives the number of batches to time,
for which the program prints a JSON list of the times in seconds. Before it reads the first line, it
chooses one or two threads, whichever is faster, and prints `"ready"`.
"""

import sys

from benchmarks.peer_loop import answer


def main(argv=None):
    task, *sizes, scale = sys.argv[1:] if argv is None else argv
    answer(*prepare(task, *(int(size) for size in sizes), float(scale)))
    return 0


def prepare(task, batch, length, num_tags, scale):
    """Returns the function to time, and the function that sets the number of threads."""
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


if __name__ == "__main__":
    raise SystemExit(main())
