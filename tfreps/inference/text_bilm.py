"""TextBiLM: a trained biLM that gives the vectors of raw texts."""

from collections.abc import Sequence

from tfreps.inference.answers import TextVectors
from tfreps.inference.loaded_model import LoadedModel
from tfreps.inference.sentence_encoder import BATCH_TOKENS, SentenceEncoder
from tfreps.models import BiLM, BiLMPretrainer, Elmo


class TextBiLM(LoadedModel):
    """A biLM with all there is between a string and its vectors.

    `tfreps.load` makes it of a run folder, of an `options.json` with HDF5 weights, or of a training
    folder of bilm-tf. Raw text is split at white space.

    Args:
        model: `BiLM`; `BiLMPretrainer`, with its softmax; or `Elmo`.
        vocabulary: `tfreps.text.Vocabulary`; None for a biLM that reads characters, if no softmax
            is asked.
        initial_state: what the biLM starts each batch from, as in `BiLM`; None for the model's own.
        source: what it was loaded from.

    Attributes:
        bilm: the `BiLM` in the model, in the initial state asked for.

    Raises:
        ValueError: the model has no biLM.

    Example:
    >>> encode = TextBiLM(BiLM(filters=[[1, 8]], units=8, projection_dim=4))
    >>> encode("I have a dog")
    TextVectors(tokens=['I', 'have', 'a', 'dog'], vectors=float32 [3, 4, 8])
    >>> [vectors.shape for vectors in encode.encode(["That", ["a", "dog"]], layers="top")]
    [(1, 8), (2, 8)]
    """

    kind = "a biLM"

    def __init__(self, model, vocabulary=None, initial_state=None, source=None):
        if not isinstance(model, BiLM | BiLMPretrainer | Elmo):
            raise ValueError(
                f"Expected a BiLM, BiLMPretrainer or Elmo; got a {type(model).__name__}."
            )
        super().__init__(model, source)
        self.vocabulary = vocabulary
        bilm = model.find(BiLM)
        if initial_state not in (None, bilm.initial_state):
            bilm = bilm.with_initial_state(initial_state)
        self.bilm = bilm
        self._encoders = {}

    def __call__(self, text):
        """The vectors of one raw text, or of a list of texts.

        Returns:
            `TextVectors` of all layers; of a list, a list of them.
        """
        texts = [text] if isinstance(text, str) else text
        tokens = [_tokens(each) for each in texts]
        found = [TextVectors(*pair) for pair in zip(tokens, self.encode(tokens), strict=True)]
        return found[0] if isinstance(text, str) else found

    def encode(self, texts: Sequence[str | Sequence[str]], layers="all") -> list:
        """Encodes texts.

        Args:
            texts: raw texts, or lists of tokens, which may be empty.
            layers: as of `SentenceEncoder`: `"all"`, `"top"`, `"average"`, or a factor for each.

        Returns:
            list of float32 arrays: `[L + 1, T, D]` for all layers, else `[T, D]`, without
            sentence boundaries.
        """
        key = layers if isinstance(layers, str) else tuple(layers)
        if key not in self._encoders:
            self._encoders[key] = self.sentence_encoder(layers=layers)
        vectors = dict(self._encoders[key].encode([_tokens(text) for text in texts]))
        return [vectors[number] for number in range(len(texts))]

    def sentence_encoder(
        self, batch_tokens=BATCH_TOKENS, layers="all", dtype="float32"
    ) -> SentenceEncoder:
        """The `SentenceEncoder` of this biLM, for many sentences; see there."""
        return SentenceEncoder(self.bilm, self.vocabulary, batch_tokens, layers, dtype)


def _tokens(text):
    return text.split() if isinstance(text, str) else list(text)
