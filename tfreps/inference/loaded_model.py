"""LoadedModel: base class of the objects that `tfreps.load` returns."""

from tfreps.inference.attention import transformer_of


class LoadedModel:
    """Base class of the objects that `tfreps.load` returns.

    Args:
        model: `keras.Model`. The trained model.
        source: str or path-like. Path that the model was loaded from. If `None`, the model was not
            loaded from a file. Defaults to `None`.

    Attributes:
        run: `tfreps.runs.run_folder.RunFolder`. The run that trained the model, or `None` if the
            model was not loaded from a run folder.
        transformer: `BertEncoder` or `TransformerEncoder`. The Transformer inside the model.
            Raises a ValueError if there is none.
    """

    kind = "a model"  # used in error messages

    def __init__(self, model, source=None):
        self.model = model
        self.source = source
        self.run = None

    @property
    def transformer(self):
        """The Transformer inside the model. Raises a ValueError if there is none."""
        return transformer_of(self.model, self.source or "The model")

    def attention(self, text, second=None):
        """Raises a ValueError. Subclasses with attention override it to return `TextAttention`."""
        raise ValueError(
            f"{self.source or 'The model'} is {self.kind}, which has no attention. Use a model "
            "with a Transformer."
        )

    def __repr__(self):
        inner = self.model.parts().get("encoder")
        on = "" if inner is None else f" on {type(inner).__name__}"
        of = "" if self.source is None else f" of {self.source}"
        return f"<{type(self).__name__}: {type(self.model).__name__}{on}{of}>"
