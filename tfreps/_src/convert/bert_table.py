"""Tables that match the arrays of Hugging Face and Google files with the weights of BERT."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from tfreps._src.convert.bert_families import BERT, Family, table_dim
from tfreps._src.convert.table import Row
from tfreps._src.models.bert import BertEncoder

WORDS = "embeddings.word_embeddings"
POSITIONS = "embeddings.position_embeddings"
NEXT_SENTENCE = "cls.seq_relationship"
MASKED_LM = "cls.predictions"
LABELS = "classifier"
# Suffixes that TF 1 appends to a weight's name for the variables of the optimizer.
SLOTS = {"adam_m", "adam_v"}
SLOTS |= {f"{name}{end}" for name in ("Adam", "AdamWeightDecayOptimizer") for end in ("", "_1")}


@dataclass(frozen=True)
class HuggingFaceNames:
    """Names of the arrays in Hugging Face files, where kernels are `[out, in]`.

    `prefix` precedes all names except the names of heads. `norm` has the names of a layer norm's
    scale and offset, which are `("gamma", "beta")` in early files. `token_bias` is the name of the
    bias of the masked-LM head. `labels` is the name of the last dense layer of a label or tag head.
    `family` contains the differences between these names and BERT's.
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

    def dense(
        self, name: str, from_dim: int, to_dim: int, ours: str, part: tuple[int, int] = (0, 1)
    ) -> list[Row]:
        stem = self.stem(name)
        shape = (to_dim, from_dim)
        kernel = Row(f"{stem}.weight", shape, f"{ours}/kernel", np.transpose, np.transpose, part)
        return [kernel, Row(f"{stem}.bias", (to_dim,), f"{ours}/bias", part=part)]

    output = dense

    def without_use(self, name: str) -> bool:
        """Returns True if an array is never read.

        Such arrays are the position ids, copies of other arrays, and arrays of unused heads.
        """
        copies = self.family.decoder, *self.family.token_biases
        is_count = name == self.prefix + "embeddings.position_ids"
        return is_count or name in copies or name.startswith(self.family.unused)


@dataclass(frozen=True)
class GoogleNames:
    """Names of the arrays in Google's TF 1 files.

    Kernels are `[in, out]`, except those of output layers (`output_weights`), which are
    `[out, in]`.
    """

    token_bias: str = "cls/predictions/output_bias"

    def stem(self, name: str) -> str:
        if name == LABELS:
            return ""  # the arrays output_weights and output_bias have no prefix
        path = name.replace(".layer.", ".layer_").replace(".", "/")
        return path if name.startswith("cls.") else f"bert/{path}"

    def table(self, name: str, shape: tuple[int, int], ours: str) -> Row:
        return Row(self.stem(name), shape, ours)

    def layer_norm(self, name: str, dim: int, ours: str) -> list[Row]:
        stem = self.stem(name)
        return [Row(f"{stem}/{word}", (dim,), f"{ours}/{word}") for word in ("gamma", "beta")]

    def dense(
        self, name: str, from_dim: int, to_dim: int, ours: str, part: tuple[int, int] = (0, 1)
    ) -> list[Row]:
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

    def without_use(self, name: str) -> bool:
        """Returns True if an array is never read.

        Such arrays are the step count, the variables of the optimizer and the head for SQuAD.
        """
        is_slot = name.rsplit("/", 1)[-1] in SLOTS
        return name == "global_step" or is_slot or name.startswith("cls/squad/")


Names = HuggingFaceNames | GoogleNames


def encoder_rows(
    names: Names, options: Mapping[str, Any], max_sequence_length: int | None = None
) -> list[Row]:
    """Returns a `Row` for each array of a `BertEncoder`.

    Only the first `max_sequence_length` positions are read or, if it is `None`, all positions.
    """
    o = options
    dim = options["hidden_dim"]
    wide = table_dim(options)
    rows = [names.table(WORDS, (o["vocabulary_size"], wide), "token_embedding/embeddings")]
    if o["positions"] == "learned":
        row = names.table(POSITIONS, (o["max_sequence_length"], wide), "positions/table")
        rows.append(row._replace(read=lambda table: table[:max_sequence_length]))
    if o["num_segments"]:
        segments = "embeddings.token_type_embeddings"
        rows.append(names.table(segments, (o["num_segments"], wide), "segments/table"))
    rows += names.layer_norm("embeddings.LayerNorm", wide, "embedding_norm")
    if wide != dim:
        rows += names.dense("embeddings_project", wide, dim, "embedding_dense")
    for number in range(o["num_layers"]):
        rows += block_rows(names, o, number)
    return rows + (pooler_rows(names, o) if o["pooler"] else [])


def block_rows(names: Names, options: Mapping[str, Any], number: int) -> list[Row]:
    """Returns a `Row` for each array of layer `number`, counted from 0, of a `BertEncoder`."""
    theirs = f"encoder.layer.{number}."
    ours = f"block_{number}/"
    dim = options["hidden_dim"]
    wide = options["intermediate_dim"] or 4 * options["hidden_dim"]
    rows = []
    for i, part in enumerate(("query", "key", "value")):
        fused = f"{ours}attention/query_key_value"
        rows += names.dense(f"{theirs}attention.self.{part}", dim, dim, fused, part=(i, 3))
    attention = f"{theirs}attention.output."
    rows += names.dense(f"{attention}dense", dim, dim, f"{ours}attention/combine")
    rows += names.layer_norm(f"{attention}LayerNorm", dim, f"{ours}attention_norm")
    rows += names.dense(f"{theirs}intermediate.dense", dim, wide, f"{ours}expand")
    rows += names.dense(f"{theirs}output.dense", wide, dim, f"{ours}contract")
    rows += names.layer_norm(f"{theirs}output.LayerNorm", dim, f"{ours}feed_forward_norm")
    return rows


def pooler_rows(names: Names, options: Mapping[str, Any]) -> list[Row]:
    """Returns a `Row` for each array of the pooler."""
    return names.dense("pooler.dense", options["hidden_dim"], options["hidden_dim"], "pooler_dense")


def masked_lm_rows(names: Names, options: Mapping[str, Any]) -> list[Row]:
    """Returns a `Row` for each array of the masked-LM head."""
    theirs = f"{MASKED_LM}.transform."
    wide = table_dim(options)
    rows = names.dense(f"{theirs}dense", options["hidden_dim"], wide, "transform")
    rows += names.layer_norm(f"{theirs}LayerNorm", wide, "transform_norm")
    return [*rows, Row(names.token_bias, (options["vocabulary_size"],), "token_bias")]


def next_sentence_rows(
    names: Names, options: Mapping[str, Any], ours: str = "next_sentence_dense"
) -> list[Row]:
    """Returns a `Row` for each array of the next-sentence head."""
    return names.output(NEXT_SENTENCE, options["hidden_dim"], 2, ours)


def label_rows(names: Names, options: Mapping[str, Any], num_labels: int) -> list[Row]:
    """Returns a `Row` for each array of a label or tag head."""
    return names.output(LABELS, options["hidden_dim"], num_labels, "head")


def weights_of(encoder: BertEncoder) -> dict[str, keras.Variable]:
    """Returns a dict from paths, such as "block_0/expand/kernel", to the weights of an encoder.

    The states of random number generators are left out.
    """
    found: dict[str, keras.Variable] = {}
    for layer in encoder.layers:
        for weight in layer.weights:
            if "seed_generator" not in weight.path:
                found[weight.path[weight.path.index(layer.name) :]] = weight
    return found


def has(rows: Sequence[Row], shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Returns True if `shapes` contains the array of at least one of the rows."""
    return any(row.foreign in shapes for row in rows)
