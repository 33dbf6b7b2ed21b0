"""seqeval as a reference for spans and their scores, with its letters."""

import numpy as np
import pytest

TYPES = ("", "X", "Y-Z")
# Maps a scheme to the class in seqeval.scheme and to the letters of seqeval.
SCHEMES = {
    "bio": ("IOB2", {}),
    "iob1": ("IOB1", {}),
    "bioes": ("IOBES", {}),
    "bilou": ("BILOU", {}),
    "bmes": ("IOBES", {"M": "I"}),
}
LETTERS = {"bio": "BI", "iob1": "BI", "bioes": "BIES", "bilou": "BILU", "bmes": "BMES"}


def inventory(scheme, types=TYPES):
    """Returns all tags of a scheme."""
    return ["O"] + [f"{x}-{t}" if t else x for t in types for x in LETTERS[scheme]]


def random_sentences(scheme, count, seed, longest=9):
    """Returns sentences of random tags, mostly illegal, with lengths from 0."""
    rng, tags = np.random.default_rng(seed), inventory(scheme)
    return [rng.choice(tags, size=rng.integers(0, longest)).tolist() for _ in range(count)]


def noisy(sentences, scheme, seed, share=0.2):
    """Returns the sentences with some tags replaced, like the errors of a tagger."""
    rng, tags = np.random.default_rng(seed), inventory(scheme)
    return [[str(rng.choice(tags)) if rng.random() < share else t for t in s] for s in sentences]


def spans(tags, scheme, mode):
    """Returns the `(type, start, end)` of the spans that seqeval finds in a sentence."""
    pytest.importorskip("seqeval", reason="pip install seqeval, the oracle")
    from seqeval import scheme as schemes
    from seqeval.metrics.sequence_labeling import get_entities

    name, letters = SCHEMES[scheme]
    if mode == "conlleval":  # the default mode of seqeval accepts B, I, E, S
        letters = {"M": "I", "L": "E", "U": "S"}
    tags = [letters.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    if mode == "conlleval":
        found = [(kind, start, last + 1) for kind, start, last in get_entities(tags)]
    else:
        entities = schemes.Tokens(tags, getattr(schemes, name)).entities
        found = [(entity.tag, entity.start, entity.end) for entity in entities]
    return sorted((kind.replace("_", ""), start, end) for kind, start, end in found)
