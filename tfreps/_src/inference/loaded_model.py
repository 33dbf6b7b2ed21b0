"""LoadedModel: base class of the objects that `tfreps.load` returns."""

import os
from typing import Any

import keras

from tfreps._src.inference.attention import transformer_of
from tfreps._src.inference.outputs import TextAttention
from tfreps._src.inference.text_pipe import TextPipe
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.transformer_encoder import TransformerEncoder
from tfreps._src.runs.model_files import save_to_preset, upload_preset
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_ids import WordCharIndexer


class LoadedModel(TextPipe):
    """Base class of the objects that `tfreps.load` returns.

    Args:
        model: `keras.Model`. The trained model.
        source: str or path-like. Path, name or address that the model was loaded from. If `None`,
            the model was not loaded from a file. Defaults to `None`.

    Attributes:
        run: `tfreps.runs.RunFolder`. The run that trained the model, or `None` if the
            model was not loaded from a run folder.
        vocabulary: `tfreps.text.Vocabulary`. The vocabulary for reading text, or `None` if there is
            none.
        tokenizer: Tokenizer of a BERT model, or `None` for other models.
        word_characters: `tfreps.text.WordCharIndexer`. The words and characters of a
            `ManyLangsBiLM` in the model, or `None` if there is none.
        transformer: `BertEncoder` or `TransformerEncoder`. The Transformer inside the model.
            Raises a ValueError if there is none.
    """

    kind: str = "a model"  # description of the model in error messages
    vocabulary: Vocabulary | None = None
    tokenizer: PieceTokenizer | None = None
    word_characters: WordCharIndexer | None = None

    def __init__(self, model: keras.Model, source: str | os.PathLike[str] | None = None):
        self.model: Any = model
        self.source: str | os.PathLike[str] | None = source
        self.run: RunFolder | None = None

    def __call__(self, text: Any) -> Any:
        """Raises a ValueError; subclasses that read text override this method."""
        raise ValueError(
            f"{self.source or 'The model'} cannot read text, because it was stored without its "
            "vocabulary or tokenizer. Call the Keras model, the attribute `model`, on ids."
        )

    @property
    def transformer(self) -> BertEncoder | TransformerEncoder:
        """The Transformer inside the model. Raises a ValueError if there is none."""
        return transformer_of(self.model, self.source or "The model")

    def attention(self, text: str, second: str | None = None) -> TextAttention:
        """Raises a ValueError; subclasses that compute attention override this method."""
        raise ValueError(
            f"{self.source or 'The model'} is {self.kind}, which cannot compute the attention for "
            "a text. Use a model with a Transformer that was stored with its vocabulary."
        )

    def save_to_preset(self, folder: str | os.PathLike[str]) -> None:
        """Writes the model, and everything it needs to read raw text, into a folder to publish.

        `tfreps.load` returns an equivalent object for the folder, and the commands accept the
        folder in place of a run folder. The folder contains the config and the weights, the
        vocabulary or the tokenizer, the tags or labels, the training options, and a model card.
        Paths of the user's files are shortened to file names. The `initial_state` that was passed
        to `tfreps.load` is not stored.

        Args:
            folder: str or path-like. Folder that does not exist yet, or an empty one.

        Raises:
            ValueError: If the folder exists and is not empty, or if the model cannot be stored.
            OSError: If the folder cannot be written.
        """
        save_to_preset(
            self.model,
            folder,
            run=self.run,
            options=self._reading(),
            vocabulary=self.vocabulary,
            tokenizer=self.tokenizer,
            word_characters=self.word_characters,
        )

    def upload_preset(
        self, address: str, message: str = "Upload with tfreps", private: bool | None = None
    ) -> str:
        """Uploads the folder that `save_to_preset` writes to a repository on the Hugging Face Hub.

        The upload needs a token: log in with `hf auth login`, or set the environment variable
        `HF_TOKEN`. `tfreps.load` opens the address.

        Args:
            address: str. `hf://owner/repository[@branch][/folder]`. The repository is created if
                it does not exist; the branch must exist.
            message: str. Message of the commit. Defaults to "Upload with tfreps".
            private: bool. Whether a new repository is private. If `None`, the owner's default
                setting applies. Defaults to `None`.

        Returns:
            str. URL of the commit.

        Raises:
            ValueError: If the address is not valid, the model cannot be stored, or the upload
                fails.
            OSError: If the temporary folder cannot be written.
        """
        return upload_preset(self, address, message, private)

    def _reading(self) -> dict[str, Any]:
        """Returns a dict of the options that determine how the model reads text.

        The keys are the names of the options in a run folder, such as `"max_length"`.
        """
        return {}

    def __repr__(self) -> str:
        inner = self.model.parts().get("encoder")
        on = "" if inner is None else f" on {type(inner).__name__}"
        of = "" if self.source is None else f" of {self.source}"
        return f"<{type(self).__name__}: {type(self.model).__name__}{on}{of}>"


def trace_once(model: Any, signature: Any) -> None:
    """Traces the prediction function of a model once, for batches of all shapes.

    Otherwise, Keras would trace the function for the first batch, and again for the first batch
    that has another shape. Each trace takes as long as the first one. `signature` maps the names of
    the features of a batch to their `tf.TensorSpec`, in which the sizes that vary are `None`.
    """
    model.make_predict_function()
    if not model.run_eagerly:
        model.predict_function.get_concrete_function([(signature,)])
