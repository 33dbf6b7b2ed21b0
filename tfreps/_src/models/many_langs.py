"""ManyLangsBiLM: the biLM of ELMoForManyLangs, which reads words and Unicode characters."""

import os
from typing import Any

import keras

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.layers.ops.annotations import Activation, Filters
from tfreps._src.layers.ops.configurable import shared_options
from tfreps._src.layers.word_char_cnn import WordCharCNNEncoder
from tfreps._src.models.any_bilm import AnyBiLM, InitialState
from tfreps._src.models.preset_methods import Model, read_files
from tfreps._src.text.word_char_ids import (
    LEAST_CHARACTERS,
    SPECIAL_CHARACTERS,
    SPECIAL_WORDS,
    boundary_rows,
)


@keras.saving.register_keras_serializable(package="tfreps")
class ManyLangsBiLM(AnyBiLM):
    """Bidirectional language model of ELMoForManyLangs, without its softmax.

        layer 0:  [token, token],  token = WordCharCNN(word, characters)
        layer l:  [forward_l, backward_l]                       (`ElmoBiLSTM`)

    It differs from `BiLM` in its tokens: a word vector next to the character CNN, one projection of
    both, and Unicode characters from a list instead of bytes. The LSTMs are those of `BiLM`. The
    model adds a sentence start and a sentence end to every sentence and removes them from the
    outputs. It can be fine-tuned inside an `Elmo`, but not trained further as a language model: the
    published folders have no softmax.

    Args:
        filters: list of `(width, count)` pairs. Filters of the character CNN. Has no effect without
            characters.
        num_character_ids: int, or None. `num_character_ids` of the `tfreps.text.WordCharIndexer`.
            If `None`, there is no character CNN.
        vocabulary_size: int, or None. `vocabulary_size` of the `tfreps.text.WordCharIndexer`. If
            `None` (the default), there are no word vectors.
        word_dim: int. Width of a word vector. Has no effect without words. Defaults to 100.
        units: int. Width of the cell state in each direction. Defaults to 4096.
        projection_dim: int. Width of the token vectors and the hidden states. It must not exceed
            `units`. Defaults to 512.
        num_layers: int. Number of LSTM layers. Defaults to 2.
        character_dim: int. Width of a character vector. Defaults to 50.
        num_highways: int. Number of highway layers after the convolutions. Defaults to 2.
        activation: str or function. Activation of the convolutions. Defaults to `"relu"`.
        max_characters: int. Number of character ids C per token. Defaults to 50.
        cell_clip: float. Bound on the absolute value of the cell state. If `None`, the cell state
            is not clipped. Defaults to 3.0.
        projection_clip: float. Bound on the absolute value of the projected hidden state. If
            `None`, the hidden state is not clipped. Has no effect if `projection_dim` equals
            `units`, because there is no projection. Defaults to 3.0.
        dropout: float in [0, 1). Dropout rate of the input of each LSTM layer. Defaults to 0.0.
        initial_state: `"zero"`, `"warm"` or `"carry"`, as in `BiLM`. `warm_up` reads a sentence
            without tokens. ELMoForManyLangs carries the states. Defaults to `"zero"`.
        max_batch_size: int. Largest batch size with `"carry"`, the number of rows whose states are
            stored. Defaults to 128.

    Call arguments:
        inputs: int, shape `[B, T, 1 + C]`, `[B, T, C]` without words, or `[B, T, 1]` without
            characters, as created by `tfreps.text.WordCharIndexer`; or a dict with these as
            `word_character_ids` and, optionally, `mask` bool `[B, T]`, True on real tokens. 0 on
            padding, which must come last. T may be 0.
        initial_state: dict of the states to start from, as in `BiLM`. If `None` (the default), the
            constructor's `initial_state` is used.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with the keys and shapes of the output of `BiLM`: among them `layer_outputs` float32
        `[B, L+1, T, 2P]`, the token layer first, zero on padding; `sequence_output` float32
        `[B, T, 2P]`, the last layer; and `mask` bool `[B, T]`, True on real tokens. `L` is
        `num_layers`, and `P` is `projection_dim`.

    Masking: a token is real if any of its ids is greater than 0.

    Raises:
        ValueError: If an option is invalid, the ids are missing from the dict, have the wrong shape
            or are not integers, or the input is strings.
        tf.errors.InvalidArgumentError: If an id is out of range, padding comes before a token, or,
            with `"carry"`, a batch has more than `max_batch_size` rows.

    Reference: Che et al., 2018, "Towards Better UD Parsing"; ELMoForManyLangs.

    Example:
    >>> import tfreps
    >>> indexer = tfreps.text.WordCharIndexer(["d", "g", "o"], ["dog"], max_characters=7)
    >>> sizes = {"units": 8, "projection_dim": 4, "max_characters": 7}
    >>> bilm = ManyLangsBiLM([[1, 4]], indexer.num_character_ids, indexer.vocabulary_size, **sizes)
    >>> bilm(indexer([["a", "dog"], ["dog"]]))["layer_outputs"].shape
    TensorShape([2, 3, 2, 8])
    """

    def __init__(
        self,
        filters: Filters,
        num_character_ids: int | None,
        vocabulary_size: int | None = None,
        word_dim: int = 100,
        units: int = 4096,
        projection_dim: int = 512,
        num_layers: int = 2,
        character_dim: int = 50,
        num_highways: int = 2,
        activation: Activation = "relu",
        max_characters: int = 50,
        cell_clip: float | None = 3.0,
        projection_clip: float | None = 3.0,
        dropout: float = 0.0,
        initial_state: InitialState = "zero",
        max_batch_size: int = 128,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.filters = [list(pair) for pair in filters]
        self.num_character_ids = num_character_ids
        self.vocabulary_size = vocabulary_size
        self.word_dim = word_dim
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.character_dim = character_dim
        self.num_highways = num_highways
        self.activation = activation
        self.max_characters = max_characters
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.dropout = dropout
        self.initial_state = initial_state
        self.max_batch_size = max_batch_size
        _check(self)
        # Layers.
        common = {"dtype": self.dtype_policy, "trainable": self.trainable}
        options = shared_options(self, WordCharCNNEncoder)
        self._add_layers(WordCharCNNEncoder(**options, **common, name="token_encoder"))

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        initial_state: InitialState = "zero",
        *,
        max_batch_size: int | None = None,
        dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
    ) -> Model:
        """Loads a published model of ELMoForManyLangs.

        Args:
            source: str or path-like. Folder or archive of the model, or its name or address.
            initial_state: `"zero"`, `"warm"` or `"carry"`; see `ManyLangsBiLM`. With `"warm"`,
                `warm_up` is called. Defaults to `"zero"`.
            max_batch_size: int. Largest batch size with `initial_state="carry"`. If `None` (the
                default), it is 128.
            dropout: float in [0, 1). Dropout rate of the input of each LSTM layer. If `None` (the
                default), it is 0.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the model. If `None` (the default), it
                is Keras's default.

        Returns:
            `ManyLangsBiLM` with the weights of the source.

        Raises:
            ValueError: If a file is missing or damaged, an option is missing or invalid, or the
                files do not belong together. The error message names the file or the array.
        """
        return read_files("from_pretrained", locals())

    @property
    def _ids_name(self):
        return "word_character_ids"

    @property
    def _ids_sizes(self):
        return [self.token_encoder.num_ids]

    @property
    def _own_num_tokens(self):
        """Returns `None`, because the words of this model are not those of a `Vocabulary`."""
        return None

    def _boundary_ids(self):
        return boundary_rows(self.num_character_ids, self.vocabulary_size, self.max_characters)

    def _of_strings(self, strings):
        raise ValueError(
            "`inputs` must be word character ids [B, T, C], because this biLM has its own lists of "
            f"words and characters and does not accept strings; got strings of shape "
            f"{strings.shape}. Convert tokens with the `tfreps.text.WordCharIndexer` of the model."
        )


def _check(model):
    check_integers(LEAST_CHARACTERS, max_characters=model.max_characters)
    if model.num_character_ids is not None:
        check_integers(len(SPECIAL_CHARACTERS) + 1, num_character_ids=model.num_character_ids)
    if model.vocabulary_size is not None:
        check_integers(len(SPECIAL_WORDS), vocabulary_size=model.vocabulary_size)
