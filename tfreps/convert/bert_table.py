"""Tables that match the arrays of BERT checkpoints with the weights of tfreps."""

from collections.abc import Mapping, Sequence

from tfreps.convert.bert_families import table_dim
from tfreps.convert.bert_names import LABELS, MASKED_LM, Names
from tfreps.convert.table import Row
from tfreps.models.bert import BertEncoder

WORDS = "embeddings.word_embeddings"
POSITIONS = "embeddings.position_embeddings"
NEXT_SENTENCE = "cls.seq_relationship"


def encoder_rows(names: Names, options: Mapping, max_positions: int | None = None) -> list[Row]:
    """Returns a `Row` for each array of a `BertEncoder`, from the embeddings to the pooler.

    Args:
        names: `HuggingFaceNames` or `GoogleNames`. Naming scheme of the arrays.
        options: dict. Options of the encoder that the arrays belong to, including `pooler`.
        max_positions: int. Number of positions to read from the start of the position table. If
            `None`, all positions are read. Defaults to `None`.
    """
    o = options
    dim = options["hidden_dim"]
    wide = table_dim(options)
    rows = [names.table(WORDS, (o["vocabulary_size"], wide), "token_embedding/embeddings")]
    if o["positions"] == "learned":
        row = names.table(POSITIONS, (o["max_positions"], wide), "positions/table")
        rows.append(row._replace(read=lambda table: table[:max_positions]))
    if o["num_segments"]:
        segments = "embeddings.token_type_embeddings"
        rows.append(names.table(segments, (o["num_segments"], wide), "segments/table"))
    rows += names.layer_norm("embeddings.LayerNorm", wide, "embedding_norm")
    if wide != dim:
        rows += names.dense("embeddings_project", wide, dim, "embedding_dense")
    for number in range(o["num_layers"]):
        rows += block_rows(names, o, number)
    return rows + (pooler_rows(names, o) if o["pooler"] else [])


def block_rows(names: Names, options: Mapping, number: int) -> list[Row]:
    """Returns a `Row` for each array of one block of a `BertEncoder`."""
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


def pooler_rows(names: Names, options: Mapping) -> list[Row]:
    """Returns a `Row` for each array of the pooler."""
    return names.dense("pooler.dense", options["hidden_dim"], options["hidden_dim"], "pooler_dense")


def masked_lm_rows(names: Names, options: Mapping) -> list[Row]:
    """Returns a `Row` for each array of the masked-LM head."""
    theirs = f"{MASKED_LM}.transform."
    wide = table_dim(options)
    rows = names.dense(f"{theirs}dense", options["hidden_dim"], wide, "transform")
    rows += names.layer_norm(f"{theirs}LayerNorm", wide, "transform_norm")
    return [*rows, Row(names.token_bias, (options["vocabulary_size"],), "token_bias")]


def next_sentence_rows(
    names: Names, options: Mapping, ours: str = "next_sentence_dense"
) -> list[Row]:
    """Returns a `Row` for each array of the next-sentence head."""
    return names.output(NEXT_SENTENCE, options["hidden_dim"], 2, ours)


def label_rows(names: Names, options: Mapping, num_labels: int) -> list[Row]:
    """Returns a `Row` for each array of a label or tag head."""
    return names.output(LABELS, options["hidden_dim"], num_labels, "head")


def weights_of(encoder: BertEncoder) -> dict[str, object]:
    """Returns the weights of an encoder by path, without the states of random number generators."""
    found = {}
    for layer in encoder.layers:
        for weight in layer.weights:
            if "seed_generator" not in weight.path:
                found[weight.path[weight.path.index(layer.name) :]] = weight
    return found


def has(rows: Sequence[Row], shapes: Mapping) -> bool:
    """Returns True if `shapes` contains any array of these rows; it should then contain all."""
    return any(row.foreign in shapes for row in rows)
