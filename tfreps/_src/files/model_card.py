"""model_card: the text of README.md of a published model, with metadata for model hubs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_KEYS = ("accuracy", "precision", "recall", "f1", "auc", "perplexity", "masked_accuracy")
_CARD = """\
---
license: "unknown"
library_name: "{library}"{task}
tags: {tags}
---

# {title}

{body}

## Training

{training}

## Evaluation

{evaluation}

## License

Not stated. Add the license here and in the metadata before publication.
"""


def model_card(
    title: str,
    body: str,
    library: str = "tfreps",
    task: str | None = None,
    tags: Sequence[str] = ("tfreps",),
    training: Mapping[str, Any] | None = None,
    data: Mapping[str, Sequence[str]] | None = None,
    metrics: Mapping[str, Mapping[str, float]] | None = None,
    unfinished: str = "",
) -> str:
    """Returns a model card, which describes a model, its training and its evaluation.

    The text begins with YAML front matter for the Hugging Face Hub. Unknown values are omitted or
    marked as unknown, so that the author can add them.

    Args:
        title: str. Heading of the card.
        body: str. Markdown text between the heading and the section on training.
        library: str. Library that loads the model, for the Hub. Defaults to `"tfreps"`.
        task: str. Pipeline tag of the Hub. Omitted if `None`, the default.
        tags: sequence of str. Tags of the Hub. Defaults to `("tfreps",)`.
        training: dict from the options of the training run to their values.
        data: dict from parts of the data, such as `"train"`, to names of files.
        metrics: dict as returned by `measured`.
        unfinished: str. Sentence that says that training is incomplete. Defaults to `""`.
    """
    files = {part: ", ".join(f"`{n}`" for n in names) for part, names in (data or {}).items()}
    options = {f"`{n}`": f"`{json.dumps(value)}`" for n, value in (training or {}).items()}
    rows = [
        (part, name, f"{value:.4f}")
        for part, values in (metrics or {}).items()
        for name, value in values.items()
    ]
    about = [
        unfinished if training or data else "",
        table(("data", "files"), files.items()),
        table(("option", "value"), options.items()),
    ]
    return _CARD.format(
        title=title,
        body=body,
        library=library,
        task="" if task is None else f'\npipeline_tag: "{task}"',
        tags=json.dumps([*tags]),  # a JSON list is also valid YAML
        training="\n\n".join(filter(None, about))
        or "Not recorded in the files from which this card was written.",
        evaluation=table(("data", "metric", "value"), rows) or "Not measured.",
    )


def measured(results: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Selects metrics for a model card from the results of a run.

    Returns a dict that maps `"validation"` and `"test"` to dicts from the names of metrics to
    values. A part of the data that has no metrics is omitted.
    """
    found = {}
    for part in ("validation", "test"):
        values = results.get(part)
        if not isinstance(values, Mapping):
            continue
        chosen = {key: values[key] for key in _KEYS if isinstance(values.get(key), int | float)}
        spans = values.get("spans") or {}
        for key in ("precision", "recall", "f1"):
            if key in spans.get("micro", {}):
                chosen[f"span {key} (micro)"] = spans["micro"][key]
        if chosen:
            found[part] = chosen
    return found


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table, or `""` if there are no rows."""
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) if len(cells) > 2 else ""
