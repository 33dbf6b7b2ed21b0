"""TextBert: a BERT and its tokenizer, asked for vectors and attention of raw texts."""

from collections.abc import Sequence

from tfreps.inference.answers import TextAttention, TextVectors
from tfreps.inference.attention import piece_attention
from tfreps.inference.loaded_model import LoadedModel
from tfreps.models import BertEncoder, BertPretrainer
from tfreps.runs.bert_loading import max_length

TEXTS_AT_ONCE = 32


class TextBert(LoadedModel):
    """A BERT without a head over labels, with all there is between a string and its vectors.

    `tfreps.load` makes it of a run folder of `pretrain-bert`, or of a published checkpoint.

    Args:
        model: `BertEncoder`, or `BertPretrainer`, with the heads of pre-training.
        tokenizer: `tfreps.text.bert` tokenizer; None for a model that is asked no texts.
        source: what it was loaded from.

    Attributes:
        encoder: the `BertEncoder`.
        max_length: int or None. The most pieces of a text, start and separator among them.

    Raises:
        ValueError: the model is no BERT.

    Example:
    >>> from tfreps.text.bert import WordPieceTokenizer
    >>> specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    >>> tokenizer = WordPieceTokenizer([*specials, "hotel", "##s"])
    >>> bert = TextBert(BertEncoder(7, hidden_dim=8, num_layers=1, num_heads=2), tokenizer)
    >>> bert("Hotel")
    TextVectors(tokens=['[CLS]', 'hotel', '[SEP]'], vectors=float32 [3, 8], pooled=float32 [8])
    """

    kind = "a BERT"

    def __init__(self, model, tokenizer=None, source=None):
        if not isinstance(model, BertEncoder | BertPretrainer):
            raise ValueError(
                f"Expected a BertEncoder or BertPretrainer; got a {type(model).__name__}."
            )
        super().__init__(model, source)
        self.encoder = model.find(BertEncoder)
        self.tokenizer = tokenizer
        self.max_length = None if tokenizer is None else max_length(self.encoder, tokenizer)

    def __call__(self, text):
        """The vectors of one raw text, or of a list of texts: see `encode`."""
        return self.encode([text])[0] if isinstance(text, str) else self.encode(text)

    def encode(self, texts: Sequence[str]) -> list[TextVectors]:
        """Encodes raw texts. One that is longer than `max_length` is cut.

        Returns:
            `TextVectors` of each, of the last block.
        """
        self.check_tokenizer()
        answers = []
        for start in range(0, len(texts), TEXTS_AT_ONCE):
            some = texts[start : start + TEXTS_AT_ONCE]
            batch = self.tokenizer.batch(some, max_length=self.max_length, too_long="cut")
            out = self.encoder.predict_on_batch(batch)
            for row, mask in enumerate(batch["mask"]):
                ids = batch["token_ids"][row][mask]
                names = [self.tokenizer.vocabulary[number] for number in ids]
                pooled = out["pooled_output"][row] if "pooled_output" in out else None
                answers.append(TextVectors(names, out["sequence_output"][row][mask], pooled))
        return answers

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Reads a text, or two as two segments, and returns who reads whom.

        Returns:
            `TextAttention`: T pieces, and float32 `[L, H, T, T]` (layer, head, from, to); rows add
            up to 1.

        Raises:
            ValueError: a text without tokens, or longer than the model's positions.
        """
        self.check_tokenizer()
        return piece_attention(self.encoder, self.tokenizer, text, second)

    def check_tokenizer(self) -> None:
        """Raises a ValueError if there is no tokenizer."""
        if self.tokenizer is None:
            raise ValueError(
                f"{self.source or 'The model'} holds no vocabulary (vocab.txt, tokenizer.json), "
                "without which no text can be read: put the one there that the checkpoint was "
                "trained with."
            )
