"""Compares training of the linear tagger with that of CRFsuite, on the same features.

    make peers
    python -m benchmarks.linear_tagger --train ../shared/data/resume_ner/train.char.bmes \\
        --validation ../shared/data/resume_ner/dev.char.bmes \\
        --peer-python .venv-peers/torch/bin/python

Both models score the tokens at the offsets -2 to 2 and the pairs at -1, 0 and 0, 1. tfreps trains
with Adam (learning rate 0.01, batches of 32 sentences), and CRFsuite with its default, L-BFGS with
an L2 coefficient of 1. The table shows the F1 of the spans of the validation data after 1, 2 and
more epochs of tfreps, and after 10, 20 and more iterations of CRFsuite, each in a training of its
own. "Seconds" count everything between the tokens and the trained weights: features, traced
functions and training, but neither imports nor evaluation. tfreps uses two threads, and CRFsuite,
which has no threads, one.
"""

import os
import time

from benchmarks.runner import THREADS, call_peer, parse, print_machine, print_table

SCHEME = "bmes"
EPOCHS = 12
ITERATIONS = 10, 20, 40, 80, 160


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.linear_tagger",
        __doc__,
        train=(..., "CoNLL file of tokens and tags."),
        validation=(..., "CoNLL file of tokens and tags, on which both are evaluated."),
        peer_python=(None, "Python with the packages of benchmarks/peers/torch.txt installed."),
    )
    print_machine()
    for kind in "INTRAOP", "INTEROP":
        os.environ[f"TF_NUM_{kind}_THREADS"] = str(THREADS)
    from tfreps.data import read_tagged

    train, validation = read_tagged(options.train), read_tagged(options.validation)
    results = train_ours(train, validation)
    if options.peer_python:
        results += train_crfsuite(train, validation, options.peer_python)
    table = [[name, f"{seconds:.1f}", f"{f1:.4f}"] for name, seconds, f1 in results]
    print_table("training | seconds | span F1", table)
    return 0


def train_ours(train, validation):
    """Returns a list of `(name, seconds, F1)`, one for each epoch."""
    from tfreps.data import SequenceBatches
    from tfreps.models import LinearEncoder, Tagger
    from tfreps.optimizers import FusedAdam
    from tfreps.tags import TagSet
    from tfreps.text import TokenIndexer

    start = time.perf_counter()
    indexer = TokenIndexer.from_sentences(sentence.tokens for sentence in train)
    tags = TagSet.from_sequences((sentence.tags for sentence in train), SCHEME)
    encoder = LinearEncoder(indexer.vocabulary_size, len(tags))
    options = {"use_projection": False, "dropout": 0.0, "constrain": "decode"}
    model = Tagger(encoder, tags.names, SCHEME, **options)
    model.compile(FusedAdam(0.01))
    batches = SequenceBatches(
        [sentence.tokens for sentence in train],
        [tags.encode(sentence.tags) for sentence in train],
        indexer,
        batch_size=32,
        shuffle=True,
    )
    results, seconds = [], time.perf_counter() - start
    for epoch in range(EPOCHS):
        start = time.perf_counter()
        model.fit(batches.dataset(epoch), verbose=0)
        seconds += time.perf_counter() - start
        found = predict(model, indexer, [sentence.tokens for sentence in validation])
        results.append((f"tfreps, {epoch + 1} epochs", seconds, span_f1(validation, found)))
    return results


def predict(model, indexer, sentences):
    """Returns the tags of each sentence."""
    from tfreps.inference import TextTagger

    return [prediction.tags for prediction in TextTagger(model, indexer)(sentences)]


def span_f1(sentences, found):
    from tfreps.reports import span_report

    return span_report([sentence.tags for sentence in sentences], found, SCHEME)["micro"]["f1"]


def train_crfsuite(train, validation, python):
    """Returns a list of `(name, seconds, F1)`, one for each number of iterations."""
    given = [[list(sentence.tokens), list(sentence.tags)] for sentence in train]
    tokens, results = [list(sentence.tokens) for sentence in validation], []
    for number in ITERATIONS:
        answer = call_peer(python, "crfsuite.train_and_tag", given, tokens, number)
        f1 = span_f1(validation, answer["tags"])
        results.append((f"CRFsuite, {number} iterations", answer["seconds"], f1))
    return results


if __name__ == "__main__":
    raise SystemExit(main())
