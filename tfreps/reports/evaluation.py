"""Evaluates a trained tagger or classifier on held-out data."""

import itertools

import numpy as np

from tfreps import reports
from tfreps.metrics.area_under_curve import LARGEST, RESOLUTION


def evaluate_tagger(trained, sentences, **options):
    """Tags sentences and compares.

    Args:
        trained: `tfreps.inference.TextTagger`.
        sentences: list of `tfreps.data.TaggedSentence`.
        **options: of `SequenceBatches`, such as `vectors`.

    Returns:
        dict, ready for JSON: `tokens` and `sentences`, how many; `accuracy` over tokens;
        `weighted`, the scores of tags weighted by their counts; with a scheme `spans`, the
        strict `reports.span_report`, and `illegal_transitions` of the answers, else `labels`,
        the scores of each tag; `confusion`, a row for each tag in the data.

    Raises:
        ValueError: for a tag that the model does not have, or a sentence that is too long for
            it, with file and line.
    """
    check_names(trained.names, sentences)
    true = [sentence.tags for sentence in sentences]
    places = [f"{sentence.file}, line {sentence.line}" for sentence in sentences]
    answers = trained.tag([sentence.tokens for sentence in sentences], places, **options)
    pred = [answer.tags for answer in answers]
    flat_true, flat_pred = (list(itertools.chain.from_iterable(part)) for part in (true, pred))
    tokens = reports.classification_report(flat_true, flat_pred)
    results = {
        "sentences": len(sentences),
        "tokens": len(flat_true),
        "accuracy": tokens["accuracy"],
        "weighted": tokens["weighted"],
    }
    if trained.scheme is not None:
        results["spans"] = reports.span_report(true, pred, trained.scheme)
        results["illegal_transitions"] = reports.illegal_transition_report(pred, trained.scheme)
    else:
        results["labels"] = tokens["labels"]
    results["confusion"] = reports.confusion_counts(flat_true, flat_pred, trained.names).tolist()
    return results


def evaluate_classifier(trained, tokens, texts, threshold=None, **options):
    """Classifies texts and compares.

    Args:
        trained: `tfreps.inference.TextClassifier`.
        tokens: lists of str, those of each text.
        texts: list of `tfreps.data.LabelledText`, with the labels.
        threshold: float. From which probability on the second of two labels is the answer, for
            `at_threshold`; "best" for the one with the best F1 on these very texts, which is for
            dev data; None for no `at_threshold`.
        **options: of `SequenceBatches`.

    Returns:
        dict, ready for JSON: `texts`, `accuracy`, `labels`, `macro`, `weighted` as in
        `reports.classification_report`; `confusion`, a row for each label in the data. With two
        labels, the second being the positive one, also `auc` as the metric `AreaUnderCurve`
        counts it in `fit`, and with a threshold `threshold`
        and `at_threshold`, the scores of the positive label there.

    Raises:
        ValueError: for a label that the model does not have, with file and line.
    """
    check_names(trained.names, texts)
    labels = [text.label for text in texts]
    answers = trained.classify(tokens, **options)
    pred = [answer.label for answer in answers]
    results = {"texts": len(texts), **reports.classification_report(labels, pred, trained.names)}
    results["confusion"] = reports.confusion_counts(labels, pred, trained.names).tolist()
    if len(trained.names) == 2 and len(set(labels)) == 2:
        name = trained.names[1]
        positive = [label == name for label in labels]
        scores = [answer.probabilities[name] for answer in answers]
        others = [answer.probabilities[trained.names[0]] for answer in answers]
        results["auc"] = reports.auc(positive, _log_odds(scores, others), RESOLUTION)
        if threshold == "best":
            threshold = reports.best_threshold(positive, scores)[0]
        if threshold is not None:
            results["threshold"] = threshold
            results["at_threshold"] = reports.scores_at(positive, scores, threshold)
    return results


def _log_odds(probabilities, others):
    """Returns the differences of two labels' logits, clipped as the metric clips them."""
    tiny = np.finfo("float32").tiny
    odds = np.log(np.maximum(probabilities, tiny)) - np.log(np.maximum(others, tiny))
    return np.clip(odds, -LARGEST, LARGEST)


def check_names(names, examples):
    """Raises a ValueError for the first tag or label that is not among the names.

    Args:
        names: those that a model has.
        examples: list of `tfreps.data.TaggedSentence` or `LabelledText`.
    """
    known = set(names)
    for example in examples:
        is_tagged = hasattr(example, "tags")
        place = f"{example.file}, line {example.line}"
        found = example.tags if is_tagged else [example.label]
        for number, name in enumerate(found, 1):
            if name not in known:
                word = "tag" if is_tagged else "label"
                place += f", token {number}" if is_tagged else ""
                listed = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
                raise ValueError(
                    f"{place}: the {word} {name!r} is none of the {len(names)} that the model "
                    f"knows ({listed}). Correct it, leave the example out, or train on text in "
                    f"which this {word} occurs."
                )
