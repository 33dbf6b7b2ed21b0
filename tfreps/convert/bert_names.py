"""Names and orientation of BERT's arrays in files of Hugging Face and Google."""

from dataclasses import dataclass

import numpy as np

from tfreps.convert.table import Row

MASKED_LM = "cls.predictions"
LABELS = "classifier"
DECODER = (f"{MASKED_LM}.decoder.weight", f"{MASKED_LM}.decoder.bias", f"{MASKED_LM}.bias")
SLOTS = {  # what TF 1 appends to the name of a weight for what an optimizer keeps
    "adam_m",
    "adam_v",
    "Adam",
    "Adam_1",
    "AdamWeightDecayOptimizer",
    "AdamWeightDecayOptimizer_1",
}


@dataclass(frozen=True)
class HuggingFaceNames:
    """Names of arrays in files of Hugging Face; kernels are `[out, in]`.

    Args:
        prefix: what stands before all names but those of heads: `"bert."` or nothing.
        norm: the names of scale and offset in layer norms: `("weight", "bias")`, or
            `("gamma", "beta")` in early files.
        token_bias: the name of the bias of the masked language model.
    """

    prefix: str = "bert."
    norm: tuple[str, str] = ("weight", "bias")
    token_bias: str = f"{MASKED_LM}.bias"

    def stem(self, name: str) -> str:
        return name if name.startswith(("cls.", LABELS)) else self.prefix + name

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
        """Says why an array is not needed; None if it may be needed."""
        if name == self.prefix + "embeddings.position_ids":
            return "the numbers from 0 on"
        if name in DECODER:
            return "token table and bias once more, of which one is enough"
        if name.startswith("qa_outputs."):
            return "a head that answers questions"
        return None


@dataclass(frozen=True)
class GoogleNames:
    """Names of arrays in Google's TF 1 files; kernels are `[in, out]`, of heads `[out, in]`."""

    token_bias: str = "cls/predictions/output_bias"

    def stem(self, name: str) -> str:
        if name == LABELS:
            return ""  # output_weights and output_bias stand for themselves
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
        """Says why an array is not needed; None if it may be needed."""
        if name == "global_step":
            return "a run is counted from its own beginning here"
        if name.rsplit("/", 1)[-1] in SLOTS:
            return "what an optimizer kept"
        if name.startswith("cls/squad/"):
            return "a head that answers questions"
        return None


Names = HuggingFaceNames | GoogleNames
