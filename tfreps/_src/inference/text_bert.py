"""TextBert: a BERT model that computes vectors and attention for raw texts."""

import os
from collections.abc import Iterable
from typing import Any, overload

import tensorflow as tf

from tfreps._src.files.argument_checks import as_list
from tfreps._src.inference.attention import piece_attention
from tfreps._src.inference.loaded_model import LoadedModel, trace_once
from tfreps._src.inference.outputs import TextAttention, TextVectors
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.runs.bert_parts import max_length
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer

TEXTS_AT_ONCE = 32
# Specs of the output of `tokenizer.build_batch`.
BATCH = {
    "token_ids": tf.TensorSpec([None, None], "int32"),
    "segment_ids": tf.TensorSpec([None, None], "int32"),
    "mask": tf.TensorSpec([None, None], "bool"),
}


class TextBert(LoadedModel):
    """BERT model without a label or tag head that computes the vectors of raw texts.

    `tfreps.load` returns it for a run folder of `pretrain-bert` and for a published checkpoint
    without such a head.

    Args:
        model: `BertEncoder`, or `BertPretrainer`, which has the pre-training heads.
        tokenizer: Tokenizer of `tfreps.text`. If `None`, the model cannot read text.
            Defaults to `None`.
        source: str or path-like. Path, name or address that the model was loaded from. Defaults to
            `None`.

    Attributes:
        encoder: `BertEncoder`. The encoder inside the model.
        max_length: int or None. Maximum number of pieces in a text, including `[CLS]` and `[SEP]`.
            It is `None` if the number is not limited, or if there is no tokenizer.

    Raises:
        ValueError: If `model` is not a `BertEncoder` or `BertPretrainer`.

    Example:
    >>> from tfreps.text import WordPieceTokenizer
    >>> specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    >>> tokenizer = WordPieceTokenizer([*specials, "hotel", "##s"])
    >>> bert = TextBert(BertEncoder(7, hidden_dim=8, num_layers=1, num_heads=2), tokenizer)
    >>> bert("Hotel")
    TextVectors(tokens=['[CLS]', 'hotel', '[SEP]'], vectors=float32 [3, 8], pooled=float32 [8])
    """

    kind = "a BERT model"

    def __init__(
        self,
        model: BertEncoder | BertPretrainer,
        tokenizer: PieceTokenizer | None = None,
        source: str | os.PathLike[str] | None = None,
    ):
        if not isinstance(model, BertEncoder | BertPretrainer):
            raise ValueError(
                f"`model` must be a BertEncoder or BertPretrainer; got a {type(model).__name__}."
            )
        super().__init__(model, source)
        self.encoder: BertEncoder = model if isinstance(model, BertEncoder) else model.encoder
        self.tokenizer: PieceTokenizer | None = tokenizer
        self.max_length: int | None = (
            None if tokenizer is None else max_length(self.encoder, tokenizer)
        )

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> TextVectors: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str]) -> list[TextVectors]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `TextVectors` of one raw text, or `encode(text)` for several texts."""
        return self.encode([text])[0] if isinstance(text, str) else self.encode(text)

    def encode(self, texts: Iterable[str]) -> list[TextVectors]:
        """Computes the vectors of raw texts. Texts longer than `max_length` are truncated.

        Args:
            texts: iterable of str. Raw texts, such as a list or an open file.

        Returns:
            list of `TextVectors`, one per text, with the outputs of the last layer.

        Raises:
            ValueError: If there is no tokenizer, or if `texts` is a single string or contains
                anything but strings.
        """
        tokenizer = self._checked_tokenizer()
        texts = as_list("`texts`", texts)
        found = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            some = texts[start : start + TEXTS_AT_ONCE]
            batch = tokenizer.build_batch(some, max_length=self.max_length, too_long="truncate")
            trace_once(self.encoder, BATCH)
            out = self.encoder.predict_on_batch(batch)
            for row, mask in enumerate(batch["mask"]):
                ids = batch["token_ids"][row][mask]
                names = [tokenizer.vocabulary[number] for number in ids]
                pooled = out["pooled_output"][row] if "pooled_output" in out else None
                found.append(TextVectors(names, out["sequence_output"][row][mask], pooled))
        return found

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Returns the attention of the model for a text, or for two texts as two segments.

        Args:
            text: str. Raw text. It is not truncated.
            second: str. Second text, which is read as the second segment. Defaults to `None`.

        Returns:
            `TextAttention` with T pieces and float32 probabilities of shape `[L, H, T, T]` (layer,
            head, from, to). Each row sums to 1.

        Raises:
            ValueError: If there is no tokenizer, if a text has no tokens, or if there are more than
                `max_length` pieces, special tokens included.
        """
        return piece_attention(self.encoder, self._checked_tokenizer(), text, second)

    def check_tokenizer(self) -> None:
        """Raises a ValueError if there is no tokenizer."""
        self._checked_tokenizer()

    def _checked_tokenizer(self) -> PieceTokenizer:
        if self.tokenizer is None:
            raise ValueError(
                f"{self.source or 'The model'} has no vocabulary (vocab.txt or tokenizer.json), "
                "which is needed to read text. Add the checkpoint's original vocabulary file to "
                "its folder. For a model in memory, pass `tokenizer` to TextBert."
            )
        return self.tokenizer
