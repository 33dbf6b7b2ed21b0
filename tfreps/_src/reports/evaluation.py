"""Evaluates a trained tagger or classifier on held-out data."""

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfreps._src.metrics.auc import AUC
from tfreps._src.reports.binary_scores import best_threshold, scores_at
from tfreps._src.reports.calibration import calibration_error
from tfreps._src.reports.tag_reports import (
    classification_report,
    confusion_counts,
    illegal_transition_report,
    span_report,
)
from tfreps._src.text.tags import tag_sequences

if TYPE_CHECKING:
    from tfreps._src.data.labeled.labeled_texts import LabeledText
    from tfreps._src.data.labeled.tagged_sentences import TaggedSentence
    from tfreps._src.inference.exported import ExportedClassifier, ExportedTagger
    from tfreps._src.inference.outputs import ClassifiedText, TaggedText
    from tfreps._src.inference.text_classifier import TextClassifier
    from tfreps._src.inference.text_tagger import TextTagger


def evaluate_tagger(
    trained: "TextTagger | ExportedTagger",
    sentences: Sequence["TaggedSentence"],
    **options: Any,
) -> dict[str, Any]:
    """Evaluates a tagger on tagged sentences.

    Args:
        trained: `TextTagger` or `ExportedTagger`.
        sentences: sequence of `TaggedSentence`. Sentences with their true tags.
        **options: Options of `SequenceBatches`, such as `vectors`. None for an export.

    Returns:
        JSON-serializable dict with these keys:

        - `sentences`, `tokens`: int. Number of sentences, and number of tokens.
        - `accuracy`, `weighted`: Entries of the `reports.classification_report` of all tags.
        - `labels`: Entry of the same report. Only for a model without a tag scheme.
        - `spans`: Result of `reports.span_report` in strict mode. Only with a tag scheme.
        - `illegal_transitions`: Result of `reports.illegal_transition_report` for the predicted
          tags. Only with a tag scheme.
        - `calibration_error`: float. Calibration error of the predicted tags. Only if there are
          tokens.
        - `span_calibration_error`: float. Calibration error of the predicted spans. Only if spans
          are predicted.
        - `temperature`: float. Temperature of the model.
        - `confusion`: list of K lists of K int. A row for each true tag, and a column for each
          predicted tag.

    Raises:
        ValueError: If the model does not know a tag of a sentence, or cannot tag the sentences.
    """
    check_known_names(trained.names, sentences)
    y_true = [sentence.tags for sentence in sentences]
    locations = [f"{sentence.file}, line {sentence.line}" for sentence in sentences]
    predictions = trained.tag([sentence.tokens for sentence in sentences], locations, **options)
    y_pred = [prediction.tags for prediction in predictions]
    flat_true, flat_pred = (list(itertools.chain.from_iterable(y)) for y in (y_true, y_pred))
    tokens = classification_report(flat_true, flat_pred)
    results: dict[str, Any] = {
        "sentences": len(sentences),
        "tokens": len(flat_true),
        "accuracy": tokens["accuracy"],
        "weighted": tokens["weighted"],
        "temperature": trained.temperature,
        **_tag_calibration(y_true, predictions),
    }
    if trained.scheme is not None:
        results["spans"] = span_report(y_true, y_pred, trained.scheme)
        results["illegal_transitions"] = illegal_transition_report(y_pred, trained.scheme)
    else:
        results["labels"] = tokens["labels"]
    results["confusion"] = confusion_counts(flat_true, flat_pred, trained.names).tolist()
    return results


def evaluate_classifier(
    trained: "TextClassifier | ExportedClassifier",
    tokens: Sequence[Sequence[str]],
    texts: Sequence["LabeledText"],
    threshold: float | Literal["best"] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Evaluates a classifier on labeled texts.

    Args:
        trained: `TextClassifier` or `ExportedClassifier`.
        tokens: sequence of lists of str. The tokens of each text.
        texts: sequence of `LabeledText`. The texts with their true labels.
        threshold: float or str. Probability of the second label from which a text is predicted to
            have this label; `"best"` chooses the threshold with the best F1 on these texts. Only
            for a model with two labels. If `None`, no threshold is evaluated. Defaults to `None`.
        **options: Options of `SequenceBatches`, such as `vectors`. None for an export.

    Returns:
        JSON-serializable dict with these keys, the last three only if the model has two labels and
        both occur in the texts:

        - `texts`: int. Number of texts.
        - `accuracy`, `labels`, `macro`, `weighted`: Entries of `reports.classification_report`.
        - `calibration_error`: float. Calibration error of the most probable labels.
        - `temperature`: float. Temperature of the model.
        - `confusion`: list of K lists of K int. A row for each true label, and a column for each
          predicted label.
        - `auc`: float. Area under the ROC curve, for the second label as the positive class.
        - `threshold`: float. Value of the threshold. Only if `threshold` is given.
        - `at_threshold`: Result of `reports.scores_at`. Only if `threshold` is given.

    Raises:
        ValueError: If `threshold` is given for a model that does not have two labels, the model
            does not know a label of a text, or the model cannot classify the texts.
    """
    if threshold is not None and len(trained.names) != 2:
        raise ValueError(
            "`threshold` requires a model with two labels; this model has "
            f"{len(trained.names)}. Omit `threshold`."
        )
    check_known_names(trained.names, texts)
    labels = [text.label for text in texts]
    predictions = trained.classify(tokens, **options)
    y_pred = [prediction.label for prediction in predictions]
    report = classification_report(labels, y_pred, trained.names)
    results: dict[str, Any] = {"texts": len(texts), **report}
    results["temperature"] = trained.temperature
    results["calibration_error"] = calibration_error(
        [prediction.confidence for prediction in predictions],
        [label == found for label, found in zip(labels, y_pred, strict=True)],
    )
    results["confusion"] = confusion_counts(labels, y_pred, trained.names).tolist()
    auc = label_auc(labels, predictions, trained.names)
    if auc is not None:
        results["auc"] = auc
        name = trained.names[1]
        positive = [label == name for label in labels]
        scores = [prediction.probabilities[name] for prediction in predictions]
        if threshold == "best":
            threshold = best_threshold(positive, scores).threshold
        if threshold is not None:
            results["threshold"] = threshold
            results["at_threshold"] = scores_at(positive, scores, threshold)
    return results


def label_auc(
    labels: Sequence[str], predictions: Sequence["ClassifiedText"], names: Sequence[str]
) -> float | None:
    """Computes the area under the ROC curve, for the second of two labels as the positive class.

    `labels` are the true labels of the texts, and `names` are the labels of the model. Returns
    `None` unless there are two `names` and both occur in `labels`.
    """
    if len(names) != 2 or len(set(labels)) != 2:
        return None
    negative, positive = ([x.probabilities[name] for x in predictions] for name in names)
    auc = AUC()
    auc.update_state([label == names[1] for label in labels], _log_odds(positive, negative))
    return round(float(auc.result()), 7)  # rounded, because float32 has about 7 digits


def _tag_calibration(
    y_true: Sequence[Sequence[str]], predictions: Sequence["TaggedText"]
) -> dict[str, float]:
    """Computes the calibration errors of predicted tags and spans.

    Returns:
        dict with the float values `calibration_error`, if there are tags, and
        `span_calibration_error`, if spans are predicted.
    """
    tags, spans = [], []  # lists of tuples (confidence, is_right)
    for true, predicted in zip(y_true, predictions, strict=True):
        is_right = (a == b for a, b in zip(true, predicted.tags, strict=True))
        tags += zip(predicted.confidences, is_right, strict=True)
        if predicted.scheme is not None and predicted.spans:
            known = set(tag_sequences.spans(true, predicted.scheme))
            spans += [(span.confidence, span[:3] in known) for span in predicted.spans]
    named = {"calibration_error": tags, "span_calibration_error": spans}
    found = {}
    for name, pairs in named.items():
        if pairs:
            confidences, is_right = zip(*pairs, strict=True)
            found[name] = calibration_error(confidences, is_right)
    return found


def _log_odds(probabilities: Sequence[float], others: Sequence[float]) -> np.ndarray:
    """Returns the log-odds of the second label, given the probabilities of both labels.

    `probabilities` belong to the second label and `others` to the first one, for each text. Zeros
    are replaced with the smallest normal float32, so that all results, float64 `[N]`, are finite.
    """
    tiny = np.finfo("float32").tiny
    return np.log(np.maximum(probabilities, tiny)) - np.log(np.maximum(others, tiny))


def check_known_names(
    names: Sequence[str], examples: Iterable["TaggedSentence | LabeledText"]
) -> None:
    """Raises a ValueError if a model does not know a tag or label of an example.

    The examples are `tfreps.data.TaggedSentence` or `LabeledText`, and `names` are the tags or
    labels of the model. The message names the file and the line.
    """
    known = set(names)
    for example in examples:
        fields = example._asdict()
        is_tagged = "tags" in fields
        location = f"{example.file}, line {example.line}"
        for number, name in enumerate(fields["tags"] if is_tagged else [fields["label"]], 1):
            if name not in known:
                word = "tag" if is_tagged else "label"
                location += f", token {number}" if is_tagged else ""
                listed = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
                raise ValueError(
                    f"{location}: the {word} {name!r} is not one of the {len(names)} {word}s "
                    f"of the model ({listed}). Correct the {word}, remove the example, or "
                    f"train the model on data in which this {word} occurs."
                )
