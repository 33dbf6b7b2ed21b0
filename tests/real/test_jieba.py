"""jieba: an HMM with the tables of its package `finalseg` makes the same cuts."""

import ast
import re
from itertools import pairwise

import numpy as np
import pytest

from tests.real.weights import package_folder
from tfreps.inference import TextTagger
from tfreps.models import HMMTagger
from tfreps.text import TokenIndexer, Vocabulary

pytestmark = pytest.mark.slow
FOLDER = package_folder("jieba") / "finalseg"
TAGS = ["B", "M", "E", "S"]
RUN = re.compile("([\u4e00-\u9fd5]+)")  # the characters that the HMM of jieba reads


def table(name):
    """Returns the logarithms of probabilities in a file, which is read but not run."""
    tree = ast.parse((FOLDER / f"prob_{name}.py").read_text(encoding="utf-8"))
    [found] = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    return found


def log(value):
    return -np.inf if value < -1e99 else value  # jieba writes -3.14e100 for impossible events


def score(words):
    """Returns the log-probability of the tags of words, as a sum of float64 numbers."""
    initial, transitions, emissions = map(table, ("start", "trans", "emit"))
    tags = "".join("S" if len(word) == 1 else f"B{'M' * (len(word) - 2)}E" for word in words)
    terms = [emissions[tag][character] for tag, character in zip(tags, "".join(words), strict=True)]
    return initial[tags[0]] + sum(terms) + sum(transitions[a][b] for a, b in pairwise(tags))


@pytest.fixture(scope="module")
def tagger():
    initial, transitions, emissions = map(table, ("start", "trans", "emit"))
    characters = sorted(set().union(*emissions.values()))
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", *characters])
    model = HMMTagger(len(vocabulary), TAGS, "bmes", use_end=True)
    model.set_log_probabilities(
        [log(initial[tag]) for tag in TAGS],
        [[transitions[tag].get(after, -np.inf) for after in TAGS] for tag in TAGS],
        [[emissions[tag].get(token, -np.inf) for tag in TAGS] for token in vocabulary.tokens],
        [0.0 if tag in "ES" else -np.inf for tag in TAGS],
    )
    return TextTagger(model, TokenIndexer(vocabulary), tokens="characters")


def test_the_cuts_of_1000_sentences(tagger, tfreps_data):
    finalseg = pytest.importorskip("jieba.finalseg")
    texts = []
    for name in "weibo/train.all.bmes", "resume_ner/train.char.bmes":
        blocks = (tfreps_data / name).read_text(encoding="utf-8").split("\n\n")
        texts += ["".join(line.split()[0] for line in b.splitlines() if line) for b in blocks[:500]]
    known = tagger.indexer.vocabulary
    runs = [run for text in texts for run in RUN.findall(text)]
    assert len(texts) == 1000 and len(runs) > 3000
    num_unknown = num_ties = 0
    for run, tagged in zip(runs, tagger.tag(runs), strict=True):
        words = [span.text for span in tagged.spans]
        if all(character in known for character in run):
            cuts = list(finalseg.cut(run))
            num_ties += cuts != words
            # Different cuts of a repeated character may have exactly the same probability.
            assert cuts == words or abs(score(cuts) - score(words)) < 1e-9, run
        else:
            # jieba adds -3.14e100 for an unknown character, with which all other scores vanish,
            # and makes a word of this character and of each character after it.
            num_unknown += 1
            first = next(n for n, character in enumerate(run) if character not in known)
            assert list(finalseg.cut(run))[first - len(run) :] == list(run[first:])
    assert num_unknown < 5 and num_ties < 5
