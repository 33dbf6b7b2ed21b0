"""Times hmmlearn for benchmarks/hmm.py."""


def prepare(path):
    """Returns a function that decodes all sentences with Viterbi.

    `path` is the file of probabilities and sentences that benchmarks/hmm.py writes.
    """
    import numpy as np
    from hmmlearn.hmm import CategoricalHMM

    problem = np.load(path)
    model = CategoricalHMM(n_components=len(problem["initial"]))
    model.startprob_, model.transmat_ = problem["initial"], problem["transitions"]
    model.emissionprob_ = problem["emissions"]
    tokens, lengths = problem["tokens"][:, None], problem["lengths"]
    return lambda: model.decode(tokens, lengths)
