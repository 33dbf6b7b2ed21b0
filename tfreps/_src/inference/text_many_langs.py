"""TextManyLangs: a model of ELMoForManyLangs that computes the vectors of raw texts."""

import os
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import tensorflow as tf

from tfreps._src.files.argument_checks import check_list
from tfreps._src.inference.loaded_model import LoadedModel
from tfreps._src.inference.outputs import TextVectors
from tfreps._src.inference.sentence_encoder import BATCH_TOKENS, batches_by_length
from tfreps._src.models import ManyLangsBiLM
from tfreps._src.text.word_char_ids import WordCharIndexer


class TextManyLangs(LoadedModel):
    """Model of ELMoForManyLangs that computes the vectors of raw texts.

    `tfreps.load` returns it for a folder of ELMoForManyLangs. Raw text is split at white space; the
    published models expect the tokens of Universal Dependencies. Every sentence starts from zero
    states, so the vectors do not depend on the other sentences.

    Args:
        model: `ManyLangsBiLM`.
        indexer: `tfreps.text.WordCharIndexer`. The converter from tokens to the model's ids.
        source: str or path-like. Path, name or address that the model was loaded from. Defaults to
            `None`.

    Example:
    >>> from tfreps.text import WordCharIndexer
    >>> indexer = WordCharIndexer(["d", "g", "o"], ["dog"])
    >>> sizes = {"units": 8, "projection_dim": 4}
    >>> model = ManyLangsBiLM([[1, 4]], indexer.num_character_ids, indexer.vocabulary_size, **sizes)
    >>> TextManyLangs(model, indexer)("a dog")
    TextVectors(tokens=['a', 'dog'], vectors=float32 [3, 2, 8])
    """

    kind = "a biLM of ELMoForManyLangs"

    def __init__(
        self,
        model: ManyLangsBiLM,
        indexer: WordCharIndexer,
        source: str | os.PathLike[str] | None = None,
    ):
        super().__init__(model, source)
        self.indexer: WordCharIndexer = indexer
        spec = tf.TensorSpec([None, None, model.token_encoder.num_ids], tf.int32)
        self._layers: Any = tf.function(
            lambda ids: model(ids)["layer_outputs"], input_signature=[spec], autograph=False
        )

    @overload  # a str is a sequence of str, too
    def __call__(self, text: str) -> TextVectors: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Sequence[str | Sequence[str]]) -> list[TextVectors]: ...

    def __call__(self, text: Any) -> Any:
        """Computes the vectors of one raw text or of a list of texts.

        Args:
            text: str, or list whose elements are raw texts or lists of tokens.

        Returns:
            `TextVectors` with all layers; for a list, a list of `TextVectors`.
        """
        texts = [text] if isinstance(text, str) else text
        check_list("`text`", texts)
        tokens = [_tokens(each) for each in texts]
        found = [TextVectors(*pair) for pair in zip(tokens, self.encode(tokens), strict=True)]
        return found[0] if isinstance(text, str) else found

    def encode(self, texts: Sequence[str | Sequence[str]]) -> list[np.ndarray]:
        """Computes the vectors of all layers of texts.

        The original's `output_layer=-1` is the average of these layers, `vectors.mean(axis=0)`.

        Args:
            texts: list. Raw texts, or lists of tokens, which may be empty.

        Returns:
            list of float32 arrays, one per text, without sentence boundaries, of shape
            `[L + 1, T, D]`. L is the number of LSTM layers, T the number of tokens in the text, and
            D the width of the vectors, `model.output_dim`.

        Raises:
            ValueError: If `texts` is a single string, or a token is not a str.
        """
        check_list("`texts`", texts)
        sentences = [_tokens(text) for text in texts]
        lengths = np.array([len(sentence) for sentence in sentences], np.int64)
        vectors: dict[int, np.ndarray] = {}
        for batch in batches_by_length(lengths, BATCH_TOKENS):
            layers = self._layers(self.indexer([sentences[number] for number in batch])).numpy()
            for row, number in enumerate(batch):
                vectors[number] = layers[row, :, : lengths[number]]
        return [vectors[number] for number in range(len(texts))]

    def save_to_preset(self, folder: str | os.PathLike[str]) -> None:
        """Raises a ValueError: models of ELMoForManyLangs can only be stored as they are.

        Args:
            folder: str or path-like. Folder to write to.
        """
        raise ValueError(
            f"{folder} cannot be written: a preset cannot store the characters and words of a "
            "model of ELMoForManyLangs. Copy the original folder."
        )


def _tokens(text: str | Sequence[str]) -> list[str]:
    return text.split() if isinstance(text, str) else list(text)
