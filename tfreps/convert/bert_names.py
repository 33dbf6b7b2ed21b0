"""Names and kernel orientation of BERT's arrays in Hugging Face and Google files."""

from dataclasses import dataclass

import numpy as np

from tfreps.convert.bert_families import BERT, Family
from tfreps.convert.table import Row

MASKED_LM = "cls.predictions"
LABELS = "classifier"
SLOTS = {  # suffixes that TF 1 appends to a weight's name for the optimizer's slots
    "adam_m",
    "adam_v",
    "Adam",
    "Adam_1",
    "AdamWeightDecayOptimizer",
    "AdamWeightDecayOptimizer_1",
}


@dataclass(frozen=True)
class HuggingFaceNames:
    """Names of the arrays in Hugging Face files, where kernels are `[out, in]`.

    Args:
        prefix: str. Prefix of all names except those of heads: `"bert."` or `""`. Defaults to
            `"bert."`.
        norm: pair of str. Names of the scale and the offset of a layer norm:
            `("weight", "bias")`, or `("gamma", "beta")` in early files. Defaults to
            `("weight", "bias")`.
        token_bias: str. Name of the output bias of the masked language model. Defaults to
            `"cls.predictions.bias"`.
        family: `Family`. Family of the model, which renames parts of BERT's names. Defaults to
            BERT.
        labels: str. Name of the last dense layer of a label or tag head. Defaults to
            `"classifier"`.
    """

    prefix: str = "bert."
    norm: tuple[str, str] = ("weight", "bias")
    token_bias: str = f"{MASKED_LM}.bias"
    family: Family = BERT
    labels: str = LABELS

    def stem(self, name: str) -> str:
        if name == LABELS:
            return self.labels
        for theirs, own in self.family.parts.items():
            name = name.replace(theirs, own)
        return name if name.startswith(self.family.heads) else self.prefix + name

    def table(self, name: str, shape: tuple[int, int], ours: str) -> Row:
        return Row(f"{self.stem(name)}.weight", shape, ours)

    def layer_norm(self, name: str, dim: int, ours: str) -> list[Row]:
        gamma, beta = (f"{self.stem(name)}.{word}" for word in self.norm)
        return [Row(gamma, (dim,), f"{ours}/gamma"), Row(beta, (dim,), f"{ours}/beta")]

    def dense(self, name: str, from_dim: int, to_dim: int, ours: str, part=(0, 1)) -> list[Row]:
        stem = self.stem(name)
        shape = (to_dim, from_dim)
        kernel = Row(f"{stem}.weight", shape, f"{ours}/kernel", np.transpose, np.transpose, part)
        return [kernel, Row(f"{stem}.bias", (to_dim,), f"{ours}/bias", part=part)]

    output = dense

    def without_use(self, name: str) -> str | None:
        """Returns the reason why an array is not needed, or `None` if it may be needed."""
        if name == self.prefix + "embeddings.position_ids":
            return "the integers 0, 1, 2 and so on"
        if name in (self.family.decoder, *self.family.token_biases):
            return "a second copy of the token table or of its bias"
        unused = self.family.unused.items()
        return next((reason for start, reason in unused if name.startswith(start)), None)


@dataclass(frozen=True)
class GoogleNames:
    """Names of the arrays in Google's TF 1 files.

    Kernels are `[in, out]`, except those of output layers (`output_weights`), which are
    `[out, in]`.

    Args:
        token_bias: str. Name of the output bias of the masked language model. Defaults to
            `"cls/predictions/output_bias"`.
    """

    token_bias: str = "cls/predictions/output_bias"

    def stem(self, name: str) -> str:
        if name == LABELS:
            return ""  # output_weights and output_bias have no prefix
        path = name.replace(".layer.", ".layer_").replace(".", "/")
        return path if name.startswith("cls.") else f"bert/{path}"

    def table(self, name: str, shape: tuple[int, int], ours: str) -> Row:
        return Row(self.stem(name), shape, ours)

    def layer_norm(self, name: str, dim: int, ours: str) -> list[Row]:
        stem = self.stem(name)
        return [Row(f"{stem}/{word}", (dim,), f"{ours}/{word}") for word in ("gamma", "beta")]

    def dense(self, name: str, from_dim: int, to_dim: int, ours: str, part=(0, 1)) -> list[Row]:
        stem = self.stem(name)
        shape = (from_dim, to_dim)
        return [
            Row(f"{stem}/kernel", shape, f"{ours}/kernel", part=part),
            Row(f"{stem}/bias", (to_dim,), f"{ours}/bias", part=part),
        ]

    def output(self, name: str, from_dim: int, to_dim: int, ours: str) -> list[Row]:
        stem = self.stem(name)
        shape = (to_dim, from_dim)
        stem = f"{stem}/output_" if stem else "output_"
        kernel = Row(f"{stem}weights", shape, f"{ours}/kernel", np.transpose, np.transpose)
        return [kernel, Row(f"{stem}bias", (to_dim,), f"{ours}/bias")]

    def without_use(self, name: str) -> str | None:
        """Returns the reason why an array is not needed, or `None` if it may be needed."""
        if name == "global_step":
            return "a new run counts its steps from 0"
        if name.rsplit("/", 1)[-1] in SLOTS:
            return "an optimizer slot"
        if name.startswith("cls/squad/"):
            return "a question answering head"
        return None


Names = HuggingFaceNames | GoogleNames
