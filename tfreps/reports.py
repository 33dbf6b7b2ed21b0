"""Reports on tags and labels, computed without TensorFlow."""

from tfreps._src.reports import (
    auc,
    best_threshold,
    calibration_error,
    classification_report,
    confusion_counts,
    format_confusion,
    format_report,
    illegal_transition_report,
    scores_at,
    span_report,
)

__all__ = [
    "auc",
    "best_threshold",
    "calibration_error",
    "classification_report",
    "confusion_counts",
    "format_confusion",
    "format_report",
    "illegal_transition_report",
    "scores_at",
    "span_report",
]
