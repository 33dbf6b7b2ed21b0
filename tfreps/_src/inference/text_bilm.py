"""TextBiLM: a trained biLM that computes the vectors of raw texts."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from tfreps._src.files.argument_checks import as_list
from tfreps._src.inference.loaded_model import LoadedModel
from tfreps._src.inference.outputs import TextVectors
from tfreps._src.inference.sentence_encoder import BATCH_TOKENS, Layers, SentenceEncoder
from tfreps._src.models.any_bilm import AnyBiLM, InitialState
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.text.vocabulary import Vocabulary


class TextBiLM(LoadedModel):
    """Trained biLM that computes the vectors of raw texts.

    `tfreps.load` returns it for a run folder of a biLM, for an `options.json` with HDF5 weights,
    and for a bilm-tf training folder. Raw text is split at white space.

    Args:
        model: `BiLM`, `BiLMPretrainer` or `Elmo`.
        vocabulary: `tfreps.text.Vocabulary`. Required if the biLM reads token ids or if the softmax
            of the model is used. Defaults to `None`.
        initial_state: str. LSTM state at the start of each batch, as defined in `BiLM`: `"zero"`,
            `"warm"` or `"carry"`. Texts cannot be encoded with `"carry"`. If `None`, the
            option with which the model was created applies. Defaults to `None`.
        source: str or path-like. Path, name or address that the model was loaded from. Defaults to
            `None`.

    Attributes:
        bilm: `BiLM`. The biLM inside the model, with the given initial state.

    Raises:
        ValueError: If `model` is not a biLM, a `BiLMPretrainer` or an `Elmo`, or if `initial_state`
            is invalid. For a `ManyLangsBiLM`, use `TextManyLangs`.

    Example:
    >>> encode = TextBiLM(BiLM(filters=[[1, 8]], units=8, projection_dim=4))
    >>> encode("I have a dog")
    TextVectors(tokens=['I', 'have', 'a', 'dog'], vectors=float32 [3, 4, 8])
    >>> [vectors.shape for vectors in encode.encode(["That", ["a", "dog"]], layers="top")]
    [(1, 8), (2, 8)]
    """

    kind = "a biLM"

    def __init__(
        self,
        model: BiLM | ManyLangsBiLM | BiLMPretrainer | Elmo,
        vocabulary: Vocabulary | None = None,
        initial_state: InitialState | None = None,
        source: str | os.PathLike[str] | None = None,
    ):
        if not isinstance(model, AnyBiLM | BiLMPretrainer | Elmo):
            raise ValueError(
                f"`model` must be a BiLM, BiLMPretrainer or Elmo; got a {type(model).__name__}."
            )
        super().__init__(model, source)
        self.vocabulary: Vocabulary | None = vocabulary
        bilm: Any = model if isinstance(model, AnyBiLM) else model.bilm
        if initial_state not in (None, bilm.initial_state):
            bilm = bilm.with_initial_state(initial_state)
        self.bilm: BiLM | ManyLangsBiLM = bilm
        self._encoders: dict[str | int | tuple[float, ...], SentenceEncoder] = {}

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> TextVectors: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str | Sequence[str]]) -> list[TextVectors]: ...

    def __call__(self, text: Any) -> Any:
        """Computes the vectors of one raw text or of several texts.

        Args:
            text: str, or iterable of raw texts or lists of tokens.

        Returns:
            `TextVectors` with the vectors of all layers; for several texts, a list of
            `TextVectors`.

        Raises:
            ValueError: If the biLM has `initial_state="carry"`, or if it reads token ids and there
                is no vocabulary.
        """
        texts = [text] if isinstance(text, str) else text
        texts = as_list("`text`", texts)
        tokens = [_tokens(each) for each in texts]
        found = [TextVectors(*pair) for pair in zip(tokens, self.encode(tokens), strict=True)]
        return found[0] if isinstance(text, str) else found

    def encode(
        self, texts: Iterable[str | Sequence[str]], layers: Layers = "all"
    ) -> list[np.ndarray]:
        """Computes the vectors of texts.

        Args:
            texts: iterable. Raw texts, or lists of tokens. A list of tokens may be empty.
            layers: str, int or list of float. Vectors to compute. `"all"`: the vectors of every
                layer. `"top"`: the vectors of the last layer. `"average"`: the average of all
                layers. int: the vectors of the layer with this number, where 0 is the token layer.
                list: the weighted sum of the layers, with a factor for the token layer and for each
                LSTM layer. Defaults to `"all"`.

        Returns:
            list of float32 arrays, one per text, without sentence boundaries, of shape
            `[L + 1, T, D]` for `layers="all"`, otherwise `[T, D]`. L is the number of LSTM layers,
            T the number of tokens in the text, and D the width of the vectors, `bilm.output_dim`.

        Raises:
            ValueError: If `texts` is a single string or an entry is not a text, if the biLM has
                `initial_state="carry"`, if the biLM reads token ids and there is no vocabulary, or
                if `layers` is invalid.
        """
        texts = as_list("`texts`", texts)
        key = layers if isinstance(layers, str | int) else tuple(layers)
        if key not in self._encoders:
            self._encoders[key] = self.sentence_encoder(layers=layers)
        vectors = dict(self._encoders[key].encode([_tokens(text) for text in texts]))
        return [vectors[number] for number in range(len(texts))]

    def sentence_encoder(
        self,
        batch_tokens: int = BATCH_TOKENS,
        layers: Layers = "all",
        dtype: str = "float32",
    ) -> SentenceEncoder:
        """Returns a `SentenceEncoder` for this biLM, which suits large numbers of sentences.

        Args:
            batch_tokens: int. Maximum number of tokens per batch, including padding and sentence
                boundaries. Defaults to 4096.
            layers: str, int or list of float. Vectors to compute: `"all"`, `"top"`, `"average"`,
                the number of a layer, or a list of factors, as described in `encode`. Defaults to
                `"all"`.
            dtype: str. Data type of the vectors. Defaults to `"float32"`.

        Returns:
            `SentenceEncoder`, whose method `encode` yields the vectors of each sentence.

        Raises:
            ValueError: If the biLM has `initial_state="carry"`, if it reads token ids and there is
                no vocabulary, or if `batch_tokens` or `layers` is invalid.
        """
        vocabulary = self.word_characters or self.vocabulary
        return SentenceEncoder(self.bilm, vocabulary, batch_tokens, layers, dtype)


def _tokens(text: str | Sequence[str]) -> list[str]:
    return text.split() if isinstance(text, str) else list(text)
