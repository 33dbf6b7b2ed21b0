"""Times hmmlearn for benchmarks/hmm.py in an environment of its own.

    .venv-peers/torch/bin/python -m benchmarks.peer_hmm FILE.npz

The file, which benchmarks/hmm.py writes, contains the probabilities and the sentences. Each line of
standard input gives the number of calls to time, for which the program prints a JSON list of the
times in seconds. Before it reads the first line, it prints `"ready"`.
"""

import sys

from benchmarks.peer_loop import answer


def main(argv=None):
    answer(prepare(*(sys.argv[1:] if argv is None else argv)))
    return 0


def prepare(path):
    """Returns a function that decodes all sentences of a file with Viterbi."""
    import numpy as np
    from hmmlearn.hmm import CategoricalHMM

    problem = np.load(path)
    model = CategoricalHMM(n_components=len(problem["initial"]))
    model.startprob_, model.transmat_ = problem["initial"], problem["transitions"]
    model.emissionprob_ = problem["emissions"]
    tokens, lengths = problem["tokens"][:, None], problem["lengths"]
    return lambda: model.decode(tokens, lengths)


if __name__ == "__main__":
    raise SystemExit(main())
