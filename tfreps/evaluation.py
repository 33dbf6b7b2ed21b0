"""What a trained tagger or classifier is worth on held-out data, as a dict of figures."""

import itertools

from tfreps import reports


def evaluate_tagger(trained, sentences, **options):
    """Tags sentences and compares.

    Args:
        trained: `tfreps.text_model.TextModel` of a tagger.
        sentences: list of `tfreps.data.TaggedSentence`.
        **options: of `SequenceBatches`, such as `vectors`.

    Returns:
        dict, ready for JSON: `tokens` and `sentences`, how many; `accuracy` over tokens;
        `weighted`, the scores of tags weighted by their counts; with a scheme `spans`, the
        strict `reports.span_report`, and `illegal_transitions` of the answers.

    Raises:
        ValueError: for a tag that the model does not have, with file and line.
    """
    true = [sentence.tags for sentence in sentences]
    check_names(trained.names, sentences)
    pred = [answer.tags for answer in trained.tag([s.tokens for s in sentences], **options)]
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
    return results


def evaluate_classifier(trained, texts, labels, threshold=None, **options):
    """Classifies texts and compares.

    Args:
        trained: `tfreps.text_model.TextModel` of a classifier.
        texts: lists of tokens.
        labels: list of str, the label of each text.
        threshold: float. From which probability on the second of two labels is the answer, for
            `at_threshold`; None for the one that is best on these very texts, which is what to
            do on dev data alone.
        **options: of `SequenceBatches`.

    Returns:
        dict, ready for JSON: `texts`, `accuracy`, `labels`, `macro`, `weighted` as in
        `reports.classification_report`; `confusion`, a row for each label in the data. With two
        labels, the second being the positive one, also `auc`, `threshold`, and `at_threshold`,
        the scores of the positive label there.
    """
    answers = trained.classify(texts, **options)
    pred = [answer.label for answer in answers]
    results = {"texts": len(texts), **reports.classification_report(labels, pred, trained.names)}
    results["confusion"] = reports.confusion_counts(labels, pred, trained.names).tolist()
    if len(trained.names) == 2 and len(set(labels)) == 2:
        name = trained.names[1]
        positive = [label == name for label in labels]
        scores = [answer.probabilities[name] for answer in answers]
        results["auc"] = reports.auc(positive, scores)
        if threshold is None:
            threshold = reports.best_threshold(positive, scores)[0]
        results["threshold"] = threshold
        results["at_threshold"] = reports.scores_at(positive, scores, threshold)
    return results


def check_names(names, sentences):
    """Raises a ValueError for the first tag of some sentences that is not among the names."""
    known = set(names)
    for sentence in sentences:
        for tag in sentence.tags:
            if tag not in known:
                raise ValueError(
                    f"{sentence.file}, in the sentence from line {sentence.line}: the tag {tag!r} "
                    f"is none of the model's {len(names)}. Correct it, leave the sentence out, or "
                    "train on text in which this tag occurs."
                )
