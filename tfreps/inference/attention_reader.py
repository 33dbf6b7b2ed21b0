"""AttentionReader: a trained Transformer and its tokeniser, asked who attends to whom."""

import os
import pathlib
from typing import Any, NamedTuple

import tensorflow as tf

from tfreps.inference.text_model import PROGRAMS, TextModel
from tfreps.layers.position_embedding import sinusoids
from tfreps.models import BertEncoder, TransformerEncoder
from tfreps.runs.bert_loading import max_length, open_bert
from tfreps.runs.run_folder import OPTIONS, RunFolder
from tfreps.text.bert.piece_indexer import check_room

POSITIONS = 100  # of waves, which have no end


class TextAttention(NamedTuple):
    """The tokens of a text, special ones included, and who reads whom: `[L, H, T, T]`."""

    tokens: list[str]
    probabilities: Any


class AttentionReader:
    """Reads texts with the Transformer inside of a model, and tells its attention.

    Made by `AttentionReader.open`.

    Args:
        encoder: `BertEncoder` or `TransformerEncoder`.
        tokenizer: what cuts texts for a `BertEncoder`; else None.
        text_model: `TextModel` around a `TransformerEncoder`, or a tagger with BERT, whose words
            are cut first; else None.
    """

    def __init__(self, encoder, tokenizer=None, text_model=None):
        self.encoder, self.tokenizer, self.text_model = encoder, tokenizer, text_model

    @classmethod
    def open(cls, path: str | os.PathLike) -> "AttentionReader":
        """Loads a model and its tokeniser.

        Args:
            path: a run folder of `pretrain-bert`, or of `train-tagger` or `train-classifier`
                whose encoder is a Transformer; or a published checkpoint of BERT with its
                vocabulary, as `BertEncoder.from_pretrained` reads it.

        Raises:
            ValueError: there is none, or the model has no attention.
        """
        path = pathlib.Path(path)
        if not ((path / OPTIONS).is_file() and RunFolder.open(path).program in PROGRAMS):
            return cls(
                *open_bert(path, lambda model, _: model.encoder, BertEncoder.from_pretrained)
            )
        text_model = TextModel.open(path)
        encoder = transformer_of(text_model.model, path)
        return cls(encoder, text_model.tokenizer, text_model)

    def read(self, text: str, second: str | None = None) -> TextAttention:
        """Reads a text, or two.

        Args:
            text: raw text. It is cut as in training.
            second: another, which BERT reads behind the first, as its second segment.

        Returns:
            `TextAttention`: T tokens, and float32 `[L, H, T, T]` (layer, head, from, to); rows
            add up to 1.

        Raises:
            ValueError: a text without tokens, or longer than the model's positions; a second
                text for a model without segments.
        """
        if self.tokenizer is None or self.text_model is not None and self.text_model.is_tagger:
            if second is not None:
                raise ValueError("The model reads one text at a time: leave the second out.")
            return self._read_tokens(text)
        texts = [self._pieces(each) for each in (text, second) if each is not None]
        cut = self.tokenizer
        ids, segments = cut.pack(
            *map(cut.piece_ids, texts), max_length=max_length(self.encoder, cut)
        )
        names = [cut.vocabulary[cut.start_id]]
        for pieces in texts:
            names += [*pieces, cut.vocabulary[cut.separator_id]]
        features = {"token_ids": tf.constant([ids]), "segment_ids": tf.constant([segments])}
        return TextAttention(names, self.encoder.attention(features)[0].numpy())

    def _read_tokens(self, text):
        """Of a model that does not cut the raw text into pieces itself."""
        opened = self.text_model
        tokens = opened.tokenize([text])[0]
        if not tokens:
            raise ValueError(f"There is no token in the text {text!r}.")
        features = opened.indexer(tf.constant([tokens]))
        if self.tokenizer is None:
            return TextAttention(tokens, self.encoder.attention(features)[0].numpy())
        check_room([tokens], self.tokenizer, opened.max_length)
        ids, probabilities = opened.model.encoder.attention(features)  # `PieceEncoder`
        names = [self.tokenizer.vocabulary[number] for number in ids[0]]
        return TextAttention(names, probabilities[0].numpy())

    def _pieces(self, text):
        pieces = self.tokenizer.tokenize(text)
        if not pieces:
            raise ValueError(f"There is no token in the text {text!r}.")
        return pieces


def open_encoder(path: str | os.PathLike):
    """The Transformer of a run folder or of a published checkpoint of BERT, without tokeniser.

    Args:
        path: as of `AttentionReader.open`; a checkpoint needs no vocabulary.

    Returns:
        `BertEncoder` or `TransformerEncoder`.

    Raises:
        ValueError: there is none.
    """
    path = pathlib.Path(path)
    if not path.exists():
        raise ValueError(f"{path} does not exist. Expected a run folder, or a checkpoint of BERT.")
    if (path / OPTIONS).is_file():
        return transformer_of(RunFolder.open(path).load_model(), path)
    return BertEncoder.from_pretrained(path)


def transformer_of(model, source="The model"):
    """The Transformer inside of a tagger, classifier or pretrainer.

    Raises:
        ValueError: it has none; `source` says whose it is.
    """
    encoder = model
    while encoder is not None and not isinstance(encoder, BertEncoder | TransformerEncoder):
        encoder = getattr(encoder, "encoder", None)
    if encoder is None:
        inner = getattr(model, "encoder", model)
        raise ValueError(
            f"{source} holds a {type(model).__name__} with {type(inner).__name__}, which has no "
            "attention and no positions. Expected a Transformer: --encoder transformer, or BERT."
        )
    return encoder


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
