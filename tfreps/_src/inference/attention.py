"""Attention and position vectors of the Transformer inside a model."""

import os
from typing import Any

import numpy as np
import tensorflow as tf

from tfreps._src.inference.outputs import TextAttention
from tfreps._src.layers.position_embedding import sinusoids
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.transformer_encoder import TransformerEncoder
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.runs.bert_parts import max_length
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer

POSITIONS = 100  # default number of sinusoidal positions, which have no upper limit


def piece_attention(
    encoder: BertEncoder,
    tokenizer: PieceTokenizer,
    text: str,
    second: str | None = None,
    longest: int | None = None,
) -> TextAttention:
    """Computes the attention of a BERT model for a text, or for two texts as two segments.

    If `second` is `None`, the text is truncated to `longest` pieces, special tokens included.
    Returns a `TextAttention` with the probabilities, float32 `[L, H, T, T]` (layer, head, from,
    to). Raises a ValueError if a text has no tokens or the texts have too many pieces.
    """
    texts = [_pieces(tokenizer, each) for each in (text, second) if each is not None]
    if second is None:
        texts = [texts[0][: tokenizer.max_pieces(longest)]]
    ids, segments = tokenizer.build_inputs(
        *map(tokenizer.pieces_to_ids, texts), max_length=max_length(encoder, tokenizer)
    )
    names = [tokenizer.vocabulary[tokenizer.start_id]]
    for pieces in texts:
        names += [*pieces, tokenizer.vocabulary[tokenizer.separator_id]]
    features = {"token_ids": tf.constant([ids]), "segment_ids": tf.constant([segments])}
    return TextAttention(names, encoder.attention(features)[0].numpy())


def transformer_of(
    model: WholeModel, source: str | os.PathLike[str] = "The model"
) -> BertEncoder | TransformerEncoder:
    """Returns the `BertEncoder` or `TransformerEncoder` inside a model, or raises a ValueError."""
    found = model.find(BertEncoder, TransformerEncoder)
    if found is None:
        kinds = " with ".join(type(part).__name__ for part in model._all_parts())
        raise ValueError(
            f"{source} contains a {kinds}, which has no attention and no positions. Expected a "
            "model with a TransformerEncoder or a BertEncoder."
        )
    return found


def position_table(
    encoder: BertEncoder | TransformerEncoder, length: int | None = None
) -> np.ndarray:
    """Returns the position vectors that an encoder adds to its first tokens, float32 `[length, D]`.

    If `length` is `None`, the result contains all learned position embeddings or, for sinusoidal
    positions, whose number is unlimited, the first 100 vectors. Raises a ValueError if the encoder
    has no position vectors, or if `length` exceeds the number of learned embeddings.

    Example:
    >>> from tfreps.models import BertEncoder
    >>> bert = BertEncoder(9, hidden_dim=8, num_layers=1, num_heads=2, max_sequence_length=24)
    >>> position_table(bert).shape
    (24, 8)
    """
    if encoder.positions is None:
        raise ValueError(
            "The model has no position vectors, since it was created with `positions=None`. Choose "
            "a model with learned or sinusoidal positions."
        )
    if encoder.positions != "learned":
        kind, normalize = encoder.positions, encoder.normalize_positions
        return sinusoids(length or POSITIONS, encoder.hidden_dim, kind, normalize).numpy()
    if length is not None and length > encoder.max_sequence_length:
        raise ValueError(
            f"`length` must be at most {encoder.max_sequence_length}, the number of position "
            f"vectors that the model learned; got {length}."
        )
    positions: Any = encoder.add_positions
    return positions.table.numpy()[:length]


def _pieces(tokenizer: PieceTokenizer, text: str) -> list[str]:
    pieces = tokenizer.tokenize(text)
    if not pieces:
        raise ValueError(f"Each text must contain at least one token; got {text!r}.")
    return pieces
