"""ModelCard: README.md of a published model, with metadata for model hubs."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

NO_LICENSE = "unknown"
MARK = "This card was written by tfreps."
_KEYS = ("accuracy", "precision", "recall", "f1", "auc", "perplexity", "masked_accuracy")


@dataclasses.dataclass
class ModelCard:
    """Model card, which describes a model, its training and evaluation, and how to load it.

    The text begins with YAML front matter for the Hugging Face Hub. Unknown values are omitted or
    marked as unknown, so that the author can add them.

    Args:
        title: str. Heading of the card.
        description: str. Markdown text below the heading.
        load: str. Python code that loads the model.
        sizes: dict from names to values, such as the number of parameters.
        library: str. Library that loads the model, for the Hub. Defaults to `"tfreps"`.
        task: str. Pipeline tag of the Hub. Omitted if `None`, the default.
        tags: sequence of str. Tags of the Hub. Defaults to `("tfreps",)`.
        license: str. Name of the license. Defaults to `"unknown"`.
        training: dict from the options of the training run to their values.
        data: dict from parts of the data, such as `"train"`, to names of files.
        metrics: dict as returned by `measured`.
        unfinished: str. Sentence that says that training is incomplete. Defaults to `""`.
    """

    title: str
    description: str
    load: str
    sizes: Mapping[str, int | str] = dataclasses.field(default_factory=dict)
    library: str = "tfreps"
    task: str | None = None
    tags: Sequence[str] = ("tfreps",)
    license: str = NO_LICENSE
    training: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    data: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    unfinished: str = ""

    def text(self) -> str:
        """Returns the Markdown text of the card."""
        parts = [
            self.front_matter(),
            f"# {self.title}",
            self.description,
            f"## Load it\n\n```python\n{self.load}\n```",
            "## Size\n\n" + _table(("", ""), [(k, _number(v)) for k, v in self.sizes.items()]),
            self.origin(),
            MARK,
        ]
        return "\n\n".join(parts) + "\n"

    def origin(self) -> str:
        """Returns the sections on training, evaluation and the license."""
        return (
            f"## Training\n\n{self._training()}\n\n## Evaluation\n\n{self._evaluation()}\n\n"
            f"## License\n\n{self._license()}"
        )

    def front_matter(self) -> str:
        """Returns the YAML metadata. JSON strings and lists are also valid YAML."""
        lines = {
            "license": self.license,
            "library_name": self.library,
            "pipeline_tag": self.task,
            "tags": [*self.tags],
        }
        shown = [f"{key}: {json.dumps(value)}" for key, value in lines.items() if value is not None]
        return "\n".join(["---", *shown, "---"])

    def _training(self) -> str:
        if not self.training and not self.data:
            return "Not recorded in the files from which this card was written."
        data = [
            (part, ", ".join(f"`{name}`" for name in names)) for part, names in self.data.items()
        ]
        options = [(f"`{name}`", f"`{json.dumps(value)}`") for name, value in self.training.items()]
        parts = [self.unfinished] * bool(self.unfinished)
        parts += [_table(("data", "files"), data)] * bool(data)
        parts += [_table(("option", "value"), options)] * bool(options)
        return "\n\n".join(parts)

    def _evaluation(self) -> str:
        if not self.metrics:
            return "Not measured."
        rows = [
            (part, name, f"{value:.4f}")
            for part, values in self.metrics.items()
            for name, value in values.items()
        ]
        return _table(("data", "metric", "value"), rows)

    def _license(self) -> str:
        if self.license == NO_LICENSE:
            return "Not stated. Add the license here and in the metadata before publication."
        return self.license


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


def _number(value: int | str) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
