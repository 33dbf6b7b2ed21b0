"""ModelParts: methods that return the parts of a model and their properties."""

from collections.abc import Iterator
from typing import Any, TypeVar

import keras

from tfreps._src.layers.ops.configurable import argument_names

Part = TypeVar("Part")


class ModelParts:
    """Mixin with the methods that inspect a model and the models inside it."""

    # Numbers of tokens to the left and right of a token that its output depends on. `None` if
    # they are unlimited or unknown.
    _window: tuple[int, int] | None = None

    @property
    def trainable(self) -> bool:
        """True if the model is trainable.

        Setting this property changes all layers, but parts that are frozen by an option of the
        model stay frozen.
        """
        return super().trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        keras.Model.trainable.fset(self, value)
        if value and self.built:
            for part in self._frozen_by_options():
                part.trainable = False

    def parts(self) -> dict[str, keras.layers.Layer]:
        """Returns the models and layers that were passed to the constructor.

        Returns:
            dict from the name of an argument to its model or layer, in the order of the arguments.

        Example:
        >>> from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder
        >>> tagger = Tagger(BiLSTMEncoder(TokenEmbedder(vocabulary_size=9), units=4), ["O", "X"])
        >>> list(tagger.parts()), list(tagger.encoder.parts())
        (['encoder'], ['embedder'])
        """
        values = {name: vars(self).get(name) for name in argument_names(type(self))}
        return {n: value for n, value in values.items() if isinstance(value, keras.layers.Layer)}

    def _all_parts(self) -> Iterator[Any]:
        """Yields the model itself and all tfreps models inside it, outer models first."""
        yield self
        for part in self.parts().values():
            if isinstance(part, ModelParts):
                yield from part._all_parts()

    def find(self, *classes: type[Part]) -> Part | None:
        """Returns the first part of the model that is an instance of one of the classes.

        Args:
            *classes: Model classes of tfreps.

        Returns:
            The model itself or one of its parts, or `None` if none of them is such an instance.

        Example:
        >>> from tfreps.models import BertEncoder, BertPretrainer, TokenEmbedder
        >>> bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
        >>> BertPretrainer(bert).find(BertEncoder) is bert, bert.find(TokenEmbedder)
        (True, None)
        """
        return next((part for part in self._all_parts() if isinstance(part, classes)), None)

    @property
    def _num_tokens(self):
        """Vocabulary size of the model or of its first part that has one, or `None`."""
        sizes = (part._own_num_tokens for part in self._all_parts())
        return next((size for size in sizes if size is not None), None)

    @property
    def _own_num_tokens(self):
        """Size of the `Vocabulary` of the model itself, without its parts, or `None`."""
        return vars(self).get("vocabulary_size")

    @property
    def _num_characters(self):
        """Number of character ids per token; `None` if the model does not read `character_ids`."""
        spec = self._required("character_ids")
        return None if spec is None else spec.shape[-1]

    @property
    def _reads_vectors(self):
        """True if the model reads `vectors`, which `tfreps embed` computes in advance."""
        return self._required("vectors") is not None

    @property
    def _carries_state(self):
        """True if the model itself, not only a part of it, carries states between calls."""
        return False

    def _mix_shares(self):
        """Returns the share of each layer in the learned mixes of the model.

        Returns:
            dict with a float32 tensor of shape `[L]` for each kind of mix that the model has:
            `elmo_mix` for the first mix of an `Elmo`, and `vector_mix` for the mix of the
            precomputed vectors of a `TokenEmbedder`. `L` is the number of layers.
        """
        shares = {}
        for part in self._all_parts():
            shares |= part._own_mix_shares()
        return shares

    def _own_mix_shares(self):
        return {}

    def _required(self, name):
        """Returns the spec of a feature if every input dict must contain it; otherwise `None`."""
        dicts = [specs for specs in self._input_signatures() if isinstance(specs, dict)]
        return dicts[0].get(name) if dicts else None
