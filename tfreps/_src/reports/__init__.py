"""Reports on tags and labels, computed without TensorFlow."""

from tfreps._src.reports.binary_scores import auc, best_threshold, scores_at
from tfreps._src.reports.calibration import calibration_error
from tfreps._src.reports.tag_reports import (
    classification_report,
    confusion_counts,
    format_confusion,
    format_report,
    illegal_transition_report,
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
