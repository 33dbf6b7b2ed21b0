"""LoadedModel: what all objects that `tfreps.load` returns have in common."""

from tfreps.inference.attention import transformer_of


class LoadedModel:
    """A Keras model, and where it was loaded from.

    Attributes:
        model: the Keras model.
        source: what it was loaded from, or None for a model that was made here.
        transformer: the `BertEncoder` or `TransformerEncoder` inside of the model; a ValueError if
            there is none.
    """

    kind = "a model"  # for errors

    def __init__(self, model, source=None):
        self.model, self.source = model, source

    @property
    def transformer(self):
        """The Transformer inside of the model."""
        return transformer_of(self.model, self.source or "The model")

    def attention(self, text, second=None):
        """Raises a ValueError; what has a Transformer inside returns `TextAttention` here."""
        raise ValueError(f"{self.source} holds {self.kind}, which has no attention.")

    def __repr__(self):
        inner = self.model.parts().get("encoder")
        on = "" if inner is None else f" on {type(inner).__name__}"
        of = "" if self.source is None else f" of {self.source}"
        return f"<{type(self).__name__}: {type(self.model).__name__}{on}{of}>"
