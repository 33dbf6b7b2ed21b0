"""int8_changes: measures how the outputs of an ONNX model change when its weights are int8."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfreps._src.inference import run

MAX_CHANGE = 0.05  # default of the largest change that is accepted
TEXTS = (
    "The dog sat on the mat .",
    "Ada Lovelace, born in London, wrote the first program.",
    "The Federal Reserve raised its rates by a quarter of a point on Wednesday.",
    "Germany beat Italy 3-1 in the final in Rio de Janeiro.",
    "I did not like the film: the story is slow, and the actors look bored.",
    "A warm and funny book, which I will give to all of my friends.",
    "How do I read a file line by line in Python?",
    "Call close() before you delete the folder, or use a context manager.",
    "The patient was given 20 mg of the drug twice a day for two weeks.",
    "In 1969, Neil Armstrong and Buzz Aldrin landed on the Moon.",
    "Dear Ms. Chen, thank you for your application to the University of Oslo.",
    "Turn left at the station, and walk along the river until you see the old mill.",
    "房间很干净，服务员也很热情，下次还会再来。",
    "王小明毕业于北京大学，现任上海分公司经理。",
    "这本书的内容太简单了，不值这个价钱。",
    "2008年夏季奥运会在北京举行。",
)


def int8_changes(
    wide: run.Model, program: run.Model, texts: Sequence[str], max_change: float
) -> str:
    """Compares the outputs of a model with int8 weights with those of the same model in float32.

    Args:
        wide: `run.Model` with float32 weights.
        program: `run.Model` with int8 weights.
        texts: sequence of str. Texts for which the outputs are compared.
        max_change: float. Largest change that is accepted.

    Returns:
        str. A message with the number of tags and spans, or of labels, that change, or with the
        cosine similarity of the vectors.

    Raises:
        ValueError: If there are no texts, or if the share of tokens whose tags change, the share of
            texts whose labels change, or 1 minus the mean cosine similarity of the vectors of texts
            exceeds `max_change`.
    """
    if isinstance(texts, str) or not len(texts):
        raise ValueError(f"`check_texts` must be a non-empty list of texts; got {texts!r}.")
    kinds = {"tagger": _tags, "classifier": _labels}
    measure = kinds.get(program.about["kind"], _vectors)
    change, found = measure(wide(list(texts)), program(list(texts)))
    if change > max_change:
        raise ValueError(
            f"Storing the weights as int8 changes the outputs for {len(texts)} texts by "
            f"{change:.3g}, which is more than `max_change`, {max_change:.3g}, so no version was "
            f"written: {found}. Use float32 weights, or increase `max_change`."
        )
    return f"Storing the weights as int8 changes these outputs for {len(texts)} texts: {found}."


def _tags(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[float, str]:
    """Returns the share of tokens whose tags change, and a description."""
    pairs = list(zip(before, after, strict=True))
    tags = [tag for old, new in pairs for tag in zip(old["tags"], new["tags"], strict=True)]
    number = sum(old != new for old, new in tags)
    found = f"the tags of {number} of {len(tags)} tokens"
    if "spans" in before[0]:
        spans = [(_spans(old), _spans(new)) for old, new in pairs]
        lost, added = (
            sum(len(x - y) for x, y in each) for each in (spans, [s[::-1] for s in spans])
        )
        found += f", {lost} of {sum(len(old) for old, _ in spans)} spans lost and {added} added"
    return number / max(len(tags), 1), found


def _spans(answer: dict[str, Any]) -> set[tuple[str, int, int]]:
    return {(span["type"], span["start"], span["end"]) for span in answer["spans"]}


def _labels(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[float, str]:
    """Returns the share of texts whose labels change, and a description."""
    number, largest = 0, 0.0
    for old, new in zip(before, after, strict=True):
        number += old["label"] != new["label"]
        changes = [abs(new["probabilities"][name] - p) for name, p in old["probabilities"].items()]
        largest = max(largest, *changes)
    found = f"the labels of {number} of {len(before)} texts, probabilities by at most {largest:.2g}"
    return number / len(before), found


def _vectors(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> tuple[float, str]:
    """Returns 1 minus the mean cosine similarity of the vectors of texts, and a description."""
    old, new = (np.array([each["vectors"] for each in answers]) for answers in (before, after))
    lengths = np.linalg.norm(old, axis=1) * np.linalg.norm(new, axis=1)  # [N]
    same = np.all(old == new, axis=1)  # also vectors of zeros, which texts without tokens have
    cosines = np.where(same, 1.0, np.sum(old * new, axis=1) / np.where(lengths > 0, lengths, 1.0))
    found = (
        "the vectors, whose cosine similarity to those in float32 is "
        f"{cosines.mean():.4f} on average and at least {cosines.min():.4f}"
    )
    return float(1.0 - cosines.mean()), found
