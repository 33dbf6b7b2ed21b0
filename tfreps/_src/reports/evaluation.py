"""Evaluates a trained tagger or classifier on held-out data."""

import itertools

import numpy as np

from tfreps._src import reports
from tfreps._src.metrics import AreaUnderCurve


def evaluate_tagger(trained, sentences, **options):
    """Evaluates a `TextTagger` on tagged sentences; returns a JSON-serializable dict.

    `accuracy` and `weighted` are from `reports.classification_report` for the tags of all tokens,
    and `confusion` has a row for each true tag and a column for each predicted tag. With a tag
    scheme, `spans` is from `reports.span_report` in strict mode, and `illegal_transitions` from
    `reports.illegal_transition_report` for the predictions; without one, `labels` is also from
    `reports.classification_report`. `options` are those of `SequenceBatches`, such as `vectors`.
    """
    check_known_names(trained.names, sentences)
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
    """Evaluates a `TextClassifier` on labeled texts; returns a JSON-serializable dict.

    `tokens` are the tokens of each of the `texts`. `accuracy`, `labels`, `macro` and `weighted` are
    from `reports.classification_report`, and `confusion` has a row for each true label and a column
    for each predicted label. If the model has two labels and both occur in the texts, the second is
    the positive one, and `auc` is the value of `AreaUnderCurve`. With a `threshold`, a float or
    `"best"` for the one with the best F1 on these texts, `threshold` is its value and
    `at_threshold` the result of `reports.scores_at`. `options` are those of `SequenceBatches`.
    """
    if threshold is not None and len(trained.names) != 2:
        raise ValueError(
            f"`threshold` requires a model with two labels; this model has {len(trained.names)}. "
            "Omit it."
        )
    check_known_names(trained.names, texts)
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
        auc = AreaUnderCurve()
        auc.update_state(positive, _log_odds(scores, others))
        results["auc"] = round(float(auc.result()), 7)  # a float32
        if threshold == "best":
            threshold = reports.best_threshold(positive, scores)[0]
        if threshold is not None:
            results["threshold"] = threshold
            results["at_threshold"] = reports.scores_at(positive, scores, threshold)
    return results


def _log_odds(probabilities, others):
    """Returns the differences between the logits of two labels."""
    tiny = np.finfo("float32").tiny
    return np.log(np.maximum(probabilities, tiny)) - np.log(np.maximum(others, tiny))


def check_known_names(names, examples):
    """Raises a ValueError if a model does not know a tag or label of an example.

    The examples are `tfreps.data.TaggedSentence` or `LabeledText`, and `names` are the tags or
    labels of the model. The message has the file and the line.
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
                    f"{place}: the {word} {name!r} is not one of the {len(names)} {word}s of the "
                    f"model ({listed}). Correct it, remove the example, or train the model on data "
                    f"in which this {word} occurs."
                )
