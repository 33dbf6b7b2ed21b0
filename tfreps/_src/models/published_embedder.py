"""Methods of `SentenceEmbedder` that read and write folders of sentence-transformers."""

import os
from collections.abc import Mapping
from typing import Any

import keras

from tfreps._src.models.preset_methods import Model, PresetMethods, given, model_files


class PublishedEmbedder(PresetMethods):
    """Mixin of `SentenceEmbedder` with the methods for models of sentence-transformers."""

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        encoder_options: Mapping[str, Any] | None = None,
        scale: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
    ) -> Model:
        """Loads a model from a preset, from a run folder or from sentence-transformers.

        The options are those of `from_pretrained` and apply only to published weights.

        Args:
            source: str or path-like. A name in `tfreps.presets.list_presets()`, such as
                `"all_minilm_l6_v2"`; `"hf://owner/repository[@revision][/folder]"`; a URL; a path
                that TensorFlow reads; a local folder or zip archive that `from_pretrained` reads;
                or the folder or `.keras` file of a tfreps model that contains a `SentenceEmbedder`,
                which is returned.
            encoder_options, scale, trainable, dtype: As in `from_pretrained`.

        Returns:
            `SentenceEmbedder` with the weights of the source.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no such model,
                or if options are passed that do not apply to it.
            OSError: If the disk is full.
        """
        named = given(
            encoder_options=encoder_options, scale=scale, trainable=trainable, dtype=dtype
        )
        return model_files().from_preset(cls, source, **named)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        encoder_options: Mapping[str, Any] | None = None,
        scale: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
    ) -> Model:
        """Loads a published model of sentence-transformers.

        `tfreps.load` also reads the vocabulary, the maximum length and the prompts.

        Args:
            source: str or path-like. Folder with `modules.json`, whose modules are a Transformer (a
                BERT, DistilBERT or ELECTRA; see `BertEncoder.from_pretrained`), a Pooling, any
                number of Dense and, optionally, a Normalize. As in `from_preset`, it may also be in
                a zip archive, or be given by its name or address.
            encoder_options: dict. Options of the encoder that replace those of the folder. A pooler
                is not loaded unless they contain `pooler=True`. Defaults to `None`.
            scale: float. Factor of the cosines in training, as in `SentenceEmbedder`. If `None`
                (the default), it is 20.0.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the layers after the encoder. If `None`
                (the default), it is Keras's default.

        Returns:
            `SentenceEmbedder` with the weights of the source.

        Raises:
            ValueError: If the folder has other modules or another order of modules, another kind of
                pooling or another activation (the message names it), if a file of a module is
                missing or damaged, or if `BertEncoder.from_pretrained` rejects the Transformer.

        Reference: sentence-transformers, "models/Transformer.py", "models/Pooling.py".
        """
        named = given(
            encoder_options=encoder_options, scale=scale, trainable=trainable, dtype=dtype
        )
        return model_files().from_pretrained(cls, source, **named)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes a folder for sentence-transformers, without the vocabulary.

        `save_pretrained` of the object that `tfreps.load` returns also writes the vocabulary, the
        maximum length and the prompts.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Raises:
            ValueError: If the encoder is not a `BertEncoder`, if `BertEncoder.save_pretrained`
                rejects it, or if sentence-transformers has no such pooling or activation.
        """
        model_files().save_pretrained(self, folder)
