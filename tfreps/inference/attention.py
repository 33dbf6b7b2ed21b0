"""Attention and positions of the Transformer inside of a model."""

import tensorflow as tf

from tfreps.inference.answers import TextAttention
from tfreps.layers.position_embedding import sinusoids
from tfreps.models import BertEncoder, TransformerEncoder
from tfreps.runs.bert_loading import max_length

POSITIONS = 100  # of waves, which have no end


def piece_attention(encoder, tokenizer, text, second=None) -> TextAttention:
    """Has a BERT read a text, or two, and returns its attention.

    Args:
        encoder: `BertEncoder`.
        tokenizer: what cuts texts for it.
        text: raw text.
        second: another, which BERT reads after the first, as its second segment.

    Returns:
        `TextAttention`: T pieces, and float32 `[L, H, T, T]` (layer, head, from, to); rows add up
        to 1.

    Raises:
        ValueError: a text without tokens, or longer than the model's positions.
    """
    texts = [_pieces(tokenizer, each) for each in (text, second) if each is not None]
    ids, segments = tokenizer.pack(
        *map(tokenizer.piece_ids, texts), max_length=max_length(encoder, tokenizer)
    )
    names = [tokenizer.vocabulary[tokenizer.start_id]]
    for pieces in texts:
        names += [*pieces, tokenizer.vocabulary[tokenizer.separator_id]]
    features = {"token_ids": tf.constant([ids]), "segment_ids": tf.constant([segments])}
    return TextAttention(names, encoder.attention(features)[0].numpy())


def transformer_of(model, source="The model"):
    """The Transformer inside of a tagger, classifier or pretrainer.

    Raises:
        ValueError: it has none; `source` says whose it is.
    """
    found = model.find(BertEncoder, TransformerEncoder)
    if found is None:
        kinds = " with ".join(type(part).__name__ for part in model.all_parts())
        raise ValueError(
            f"{source} holds a {kinds}, which has no attention and no positions. Expected a model "
            "on a TransformerEncoder or a BertEncoder."
        )
    return found


def position_table(encoder, length: int | None = None):
    """The vectors that an encoder adds to its first tokens.

    Args:
        encoder: `BertEncoder` or `TransformerEncoder`.
        length: int. Positions; None for a learned table whole, of waves 100.

    Returns:
        float32, shape `[length, hidden_dim]`.

    Raises:
        ValueError: it has no positions, or fewer.

    Example:
    >>> from tfreps.models import BertEncoder
    >>> bert = BertEncoder(9, hidden_dim=8, num_layers=1, num_heads=2, max_positions=24)
    >>> position_table(bert).shape
    (24, 8)
    """
    if encoder.positions is None:
        raise ValueError("The model has no positions (`positions=None`).")
    if encoder.positions != "learned":
        kind, normalize = encoder.positions, encoder.normalize_positions
        return sinusoids(length or POSITIONS, encoder.hidden_dim, kind, normalize).numpy()
    if length is not None and length > encoder.max_positions:
        raise ValueError(f"The model has learned {encoder.max_positions} positions; got {length}.")
    return encoder.add_positions.table.numpy()[:length]


def _pieces(tokenizer, text):
    pieces = tokenizer.tokenize(text)
    if not pieces:
        raise ValueError(f"There is no token in the text {text!r}.")
    return pieces
