"""Reports as tables to read."""

from collections.abc import Sequence

import numpy as np


def format_report(report: dict) -> str:
    """Formats a report as a table.

    Args:
        report: dict from `span_report` or `classification_report`.

    Returns:
        str of several lines, without a line end after the last. The type of spans without a
        type is shown as `_`.
    """
    rows = report["types"] if "types" in report else report["labels"]
    rows = {name or "_": row for name, row in rows.items()}
    averages = {name: report[name] for name in ("micro", "macro", "weighted") if name in report}
    accuracy = {"accuracy": report["accuracy"]} if "accuracy" in report else {}
    width = max(map(len, [*rows, *averages, *accuracy]))
    lines = [f"{'':<{width}}  {'precision':>9}{'recall':>9}{'f1':>9}{'support':>9}"]
    for name, row in [*rows.items(), *averages.items()]:
        numbers = "".join(f"{row[column]:9.4f}" for column in ("precision", "recall", "f1"))
        lines.append(f"{name:<{width}}  {numbers}{row['support']:9d}")
    lines += [f"{name:<{width}}  {value:9.4f}" for name, value in accuracy.items()]
    return "\n".join(lines)


def format_confusion(counts: np.ndarray, names: Sequence[str]) -> str:
    """Formats `confusion_counts` as a table, with a row for each label in the data.

    Example:
        >>> from tfreps import reports
        >>> print(reports.format_confusion([[1, 0], [12, 1]], ["bad", "good"]))
              bad  good
        bad     1     0
        good   12     1
    """
    table = [
        ["", *names],
        *([name, *map(str, row)] for name, row in zip(names, counts, strict=True)),
    ]
    first, *widths = (max(map(len, column)) for column in zip(*table, strict=True))
    return "\n".join(
        f"{row[0]:<{first}}" + "".join(f"  {x:>{w}}" for x, w in zip(row[1:], widths, strict=True))
        for row in table
    )
