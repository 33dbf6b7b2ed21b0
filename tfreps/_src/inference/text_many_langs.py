"""TextManyLangs: a model of ELMoForManyLangs that computes the vectors of raw texts."""

import os

from tfreps._src.inference.text_bilm import TextBiLM
from tfreps._src.models.any_bilm import InitialState
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.text.word_char_ids import WordCharIndexer


class TextManyLangs(TextBiLM):
    """Model of ELMoForManyLangs that computes the vectors of raw texts.

    `tfreps.load` returns it for a folder of ELMoForManyLangs. Raw text is split at white space; the
    published models expect the tokens of Universal Dependencies. `output_layer=-1` of the original
    is `layers="average"` of `encode`, -2 is `"all"`, and 0, 1 and 2 are the layers 0, 1 and 2.

    Args:
        model: `ManyLangsBiLM`, or an `Elmo` on one.
        word_characters: `tfreps.text.WordCharIndexer`. Converts tokens to the ids of the model.
        initial_state: str. LSTM state at the start of each batch, as in `TextBiLM`. Defaults to
            `None`.
        source: str or path-like. Path, name or address that the model was loaded from. Defaults to
            `None`.

    Attributes:
        bilm: `ManyLangsBiLM`. The biLM inside the model, with the given initial state.

    Raises:
        ValueError: If `model` has no `ManyLangsBiLM`, or if `initial_state` is invalid.

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
        model: ManyLangsBiLM | Elmo,
        word_characters: WordCharIndexer,
        initial_state: InitialState | None = None,
        source: str | os.PathLike[str] | None = None,
    ):
        super().__init__(model, None, initial_state, source)
        if not isinstance(self.bilm, ManyLangsBiLM):
            raise ValueError(
                f"`model` must have a ManyLangsBiLM; got a {type(self.bilm).__name__}. Use "
                "`TextBiLM`."
            )
        self.word_characters: WordCharIndexer | None = word_characters
