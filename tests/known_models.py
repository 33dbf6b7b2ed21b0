"""Run folders of a tagger and a classifier whose outputs can be computed by hand."""

import numpy as np

from tfreps.models import Classifier, Tagger, TokenEmbedder
from tfreps.runs import RunFolder
from tfreps.tags import TagSet
from tfreps.text import Vocabulary

VOCABULARY = Vocabulary("<S> </S> <UNK> Ada Rome saw slept".split())
TAGS = ["O", "B-PER", "B-LOC"]
# Scores of the tags and of the labels for each word. Unknown words have the score 0.
WORDS = {"Ada": [0, 3, 1], "Rome": [0, 1, 2], "saw": [4, 0, 0], "slept": [5, 0, 0]}
TEXTS = {"Ada": [2, 0], "Rome": [0, 2], "saw": [1, 0], "slept": [0, 1]}


def embedder(scores, width):
    """Returns an embedder whose word vectors are the scores."""
    result = TokenEmbedder(vocabulary_size=len(VOCABULARY), embedding_dim=width, name="embedder")
    table = [scores.get(token, [0] * width) for token in VOCABULARY.tokens]
    result.set_word_vectors(np.array(table, "float32"))
    return result


def tagger_run(path, **options):
    """Writes a run whose tag probabilities are softmax(WORDS[word])."""
    run = RunFolder.create(path, "train-tagger", {"tokens": "spaces", **options})
    model = Tagger(embedder(WORDS, 3), TAGS, "bio", use_crf=False, name="tagger")
    model.kernel.assign(np.eye(3, dtype="float32"))
    TagSet(TAGS, "bio").write(run.tags_path)
    return keep(run, model)


def classifier_run(path, **options):
    """Writes a run whose label probabilities are softmax(mean(TEXTS[word]))."""
    run = RunFolder.create(path, "train-classifier", {"tokens": "words", **options})
    model = Classifier(embedder(TEXTS, 2), ["bad", "good"], name="classifier")
    model.kernel.assign(np.eye(2, dtype="float32"))
    TagSet(["bad", "good"], word="label").write(run.labels_path)
    return keep(run, model)


def keep(run, model):
    VOCABULARY.write(run.vocabulary_path)
    run.save_model(model)
    return run


def softmax(scores):
    exponentials = np.exp(np.asarray(scores, "float64"))
    return exponentials / exponentials.sum(-1, keepdims=True)
