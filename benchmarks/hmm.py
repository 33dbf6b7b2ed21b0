"""Measures HMMTagger, and compares its decoding with that of hmmlearn.

    make peers
    python -m benchmarks.hmm ../shared/data/resume_ner/train.char.bmes \\
        --peer-python .venv-peers/torch/bin/python
    python -m benchmarks.hmm

Without a file of tagged sentences, the program uses random sentences with lengths similar to those
of resume_ner. All calls read ids, not strings, and run on one core. With `--peer-python`, hmmlearn
decodes the same sentences with the same probabilities in another process; their calls alternate.
The number in parentheses is the median speed of HMMTagger divided by that of hmmlearn.
"""

import functools
import os
import sys
import tempfile

import numpy as np

from benchmarks.runner import Peer, parse, print_machine, print_results, run_of
from tfreps.data import read_tagged
from tfreps.models import HMMTagger
from tfreps.tags import TagSet
from tfreps.text import Vocabulary

RANDOM_TAGS, RANDOM_SIZE, RANDOM_SENTENCES = 28, 1795, 3821


def main(argv=None):
    about = "CoNLL file of tokens and tags. By default, random sentences are used."
    options = parse(
        argv,
        "benchmarks.hmm",
        __doc__,
        file={"nargs": "?", "help": about},
        repeats=(16, "Number of timed calls."),
        peer_python=(None, "Python with the packages of benchmarks/peers/torch.txt installed."),
    )
    print_machine()
    if sys.platform == "linux":  # limits this process, and all that it starts, to one core
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    tokens, tags, size, names = read(options.file) if options.file else random_text()
    model = HMMTagger(size, names)
    model.fit_counts(tokens, tags)
    run, number = run_of(options, ["peer_python"]), sum(map(len, tokens))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/hmm.npz"
        save_problem(path, model, tokens)
        results = [{"row": "fit", **run.cells(lambda: model.fit_counts(tokens, tags), number)}]
        for name, jit_compile in {"decode-xla": True, "decode-graph": False}.items():
            decode = functools.partial(model.decode_sentences, tokens, jit_compile=jit_compile)
            peers = {"hmmlearn": Peer("peer_python", "hmm", (path,))}
            results.append({"row": name, **run.cells(decode, number, peers)})
    print_results(results)
    return 0


def read(file):
    """Returns the token ids, the tag ids, the vocabulary size and the names of the tags."""
    sentences = read_tagged(file)
    tag_set = TagSet.from_sequences(sentence.tags for sentence in sentences)
    counts = {token: 1 for sentence in sentences for token in sentence.tokens}
    vocabulary = Vocabulary.from_counts(counts)
    tokens = [[i + 1 for i in vocabulary.tokens_to_ids(sentence.tokens)] for sentence in sentences]
    tags = [tag_set.encode(sentence.tags) for sentence in sentences]
    return tokens, tags, len(vocabulary), tag_set.names


def random_text():
    """Returns random data in the form of `read`, with lengths similar to those of resume_ner."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(3.2, 0.8, RANDOM_SENTENCES).astype(int), 2, 178)
    tags = [
        (rng.integers(RANDOM_TAGS) + np.cumsum(rng.random(n) < 0.3)) % RANDOM_TAGS for n in lengths
    ]
    spread = RANDOM_SIZE // 4
    tokens = [1 + (t * 61 + rng.integers(0, spread, len(t))) % RANDOM_SIZE for t in tags]
    names = [f"T{k}" for k in range(RANDOM_TAGS)]
    return [t.tolist() for t in tokens], [t.tolist() for t in tags], RANDOM_SIZE, names


def save_problem(path, model, tokens):
    """Writes the probabilities of a model and the sentences for benchmarks/peers/hmm.py."""
    initial, transitions, emissions = (
        np.exp(np.asarray(table, "float64"))
        for table in (model.log_initial, model.log_transitions, np.transpose(model.log_emissions))
    )
    np.savez(
        path,
        initial=initial / initial.sum(),
        transitions=transitions / transitions.sum(1, keepdims=True),
        emissions=emissions / emissions.sum(1, keepdims=True),
        tokens=np.concatenate(tokens),
        lengths=[len(sentence) for sentence in tokens],
    )


if __name__ == "__main__":
    raise SystemExit(main())
