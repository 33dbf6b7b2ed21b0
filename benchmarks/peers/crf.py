"""Times the CRF of DeLFT or pytorch-crf for benchmarks/taggers.py."""


def prepare(library, task, batch, length, num_tags, scale, threads):
    """Returns the function to time.

    Args:
        library: str. delft or pytorch-crf.
        task: str. loss or viterbi.
        batch: int. Number of sentences.
        length: int. Number of tokens per sentence.
        num_tags: int.
        scale: float. Scale of the scores.
        threads: int.
    """
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
