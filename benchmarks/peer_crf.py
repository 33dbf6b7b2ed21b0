"""Times the CRF of another library for benchmarks/taggers.py in an environment of its own.

    .venv-peers/torch/bin/python -m benchmarks.peer_crf delft loss 32 50 9 1.0 2

The arguments are the library (delft or pytorch-crf), the task (loss or viterbi), the numbers of
sentences, tokens per sentence and tags, the scale of the scores, and the number of threads. Each
line of standard input gives the number of batches to time, for which the program prints a JSON list
of the times in seconds. Before it reads the first line, it prints `"ready"`.
"""

import sys

from benchmarks.peer_loop import answer


def main(argv=None):
    library, task, *sizes, scale, threads = sys.argv[1:] if argv is None else argv
    sizes = [int(size) for size in sizes]
    answer(prepare(library, task, *sizes, float(scale), int(threads)))
    return 0


def prepare(library, task, batch, length, num_tags, scale, threads):
    """Returns the function to time."""
    import torch

    if library == "delft":
        from delft.utilities.crf_pytorch import CRF
    else:
        from torchcrf import CRF

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    crf = CRF(num_tags, batch_first=True)
    emissions = (scale * torch.randn(batch, length, num_tags)).requires_grad_()
    tags = torch.randint(0, num_tags, (batch, length))
    mask = torch.ones(batch, length, dtype=torch.bool)

    def loss():
        crf.zero_grad()
        emissions.grad = None
        crf(emissions, tags, mask, reduction="mean").backward()

    return {"loss": loss, "viterbi": lambda: crf.decode(emissions, mask)}[task]


if __name__ == "__main__":
    raise SystemExit(main())
