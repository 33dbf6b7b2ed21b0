"""PresetMethods: loading a model from a preset, and storing and uploading it."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

Model = TypeVar("Model", bound="PresetMethods")

# Functions that read and write the files of models, by name. `runs/model_files.py`, which is above
# `models/` and imports it, adds them when it is imported, as `tfreps.models` does.
FILES: dict[str, Callable[..., Any]] = {}


def read_files(name: str, arguments: dict[str, Any]) -> Any:
    """Calls the function `name` of `FILES` with the arguments of a class method of this name.

    `arguments` are the `locals()` of the class method: `cls`, `source`, its options, which are not
    passed if they are `None`, and `options`, a dict of further options, if it takes these.
    """
    further = arguments.pop("options", {})
    cls, source = arguments.pop("cls"), arguments.pop("source")
    given = {option: value for option, value in arguments.items() if value is not None}
    return FILES[name](cls, source, **given, **further)


class PresetMethods:
    """Mixin with the methods `from_preset`, `save_to_preset` and `upload_preset` of all models.

    Classes with published weights also have the methods `from_pretrained` and `save_pretrained`.
    """

    @classmethod
    def from_preset(cls: type[Model], source: str | os.PathLike[str], **options: Any) -> Model:
        """Loads a model by name, from the Hugging Face Hub, from a URL or from a path.

        If the source contains a larger model, such as a `Classifier` on a `BertEncoder`, the first
        part of this class is returned. No code from the files is run.

        Args:
            source: str or path-like. A name in `tfreps.presets.list_presets()`, such as
                `"elmo_original"`; `"hf://owner/repository[@revision][/folder]"`; a URL; a path that
                TensorFlow reads, such as `"gs://bucket/folder"`; or a local file, folder or zip
                archive. The source must contain what `save_to_preset` or a tfreps command wrote, a
                `.keras` file, or published weights in a format that `from_pretrained` of the class
                reads.
            **options: Options of `from_pretrained` of the class. They apply only to published
                weights. For a `Classifier` or `Tagger` with a new, random head on a pre-trained
                BERT: `labels`, `num_classes` or `tags`, and other options of the class. This
                model takes raw texts in `fit`, `evaluate` and `predict`.

        Returns:
            The model.

        Raises:
            ValueError: If the source cannot be found or downloaded, or if it contains no model of
                this class, or if options are passed that do not apply to it.
            OSError: If the disk is full.

        Example:
        >>> from tfreps.models import TextCNN, TokenEmbedder
        >>> model = TextCNN(TokenEmbedder(vocabulary_size=9), num_filters=4)
        >>> model.save_to_preset("my_text_cnn")
        >>> TextCNN.from_preset("my_text_cnn").num_filters
        4
        """
        return FILES["from_preset"](cls, source, **options)

    def save_to_preset(self, folder: str | os.PathLike[str]) -> None:
        """Writes the model to a folder that `from_preset` and `tfreps.load` read.

        The folder contains `options.json`, `config.json`, `model.safetensors`, a model card and,
        for a tagger or classifier, the tags or labels. If the BERT classes of transformers can
        represent the model, they can load the folder too. To store the vocabulary as well, use
        `save_to_preset` of the object that `tfreps.load` returns.

        Args:
            folder: str or path-like. A folder that does not exist yet or is empty.

        Raises:
            ValueError: If the folder exists and is not empty, or the model cannot be stored.
            OSError: If the folder cannot be written.
        """
        FILES["save_to_preset"](self, folder)

    def upload_preset(
        self, address: str, message: str = "Upload with tfreps", private: bool | None = None
    ) -> str:
        """Uploads the folder that `save_to_preset` writes to a repository on the Hugging Face Hub.

        The upload needs a token: log in with `hf auth login`, or set the environment variable
        `HF_TOKEN`. To upload the vocabulary as well, use `upload_preset` of the object that
        `tfreps.load` returns.

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
        return FILES["upload_preset"](self, address, message, private)
