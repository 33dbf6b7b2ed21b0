"""Methods of BERT encoders and pretrainers that read and write published checkpoints."""

import os
from typing import Any

import keras

from tfreps._src.models.preset_methods import Model, PresetMethods, given, model_files


class PublishedEncoder(PresetMethods):
    """Mixin of `BertEncoder` with the methods that load and save published checkpoints."""

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        num_layers: int | None = None,
        max_sequence_length: int | None = None,
        pooler: bool | None = None,
        dropout: float | None = None,
        attention_dropout: float | None = None,
        activation: str | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads an encoder from a preset, from a run folder or from a published checkpoint.

        The options are those of `from_pretrained` and apply only to published weights.

        Args:
            source: str or path-like. A name in `tfreps.presets.list_presets()`, such as
                `"bert_base_uncased"`; `"hf://owner/repository[@revision][/folder]"`; a URL; a path
                that TensorFlow reads; a local file, folder or zip archive that `from_pretrained`
                reads; or the folder or `.keras` file of a tfreps model that contains a
                `BertEncoder`, which is returned.
            num_layers, max_sequence_length, pooler, dropout: As in `from_pretrained`.
            attention_dropout, activation, trainable, dtype: As in `from_pretrained`.
            **options: Further options of `BertEncoder`.

        Returns:
            `BertEncoder` with the weights of the source.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no
                `BertEncoder`, or if options are passed that do not apply to it.
            OSError: If the disk is full.
        """
        named = given(
            num_layers=num_layers,
            max_sequence_length=max_sequence_length,
            pooler=pooler,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation=activation,
            trainable=trainable,
            dtype=dtype,
        )
        return model_files().from_preset(cls, source, **named, **options)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        num_layers: int | None = None,
        max_sequence_length: int | None = None,
        pooler: bool | None = None,
        dropout: float | None = None,
        attention_dropout: float | None = None,
        activation: str | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a published checkpoint from Google, Hugging Face or aespresso.

        Heads are not loaded. If an option is `None` (the default), the value of the checkpoint is
        used.

        Args:
            source: str or path-like. A folder with `bert_config.json` and `bert_model.ckpt`
                (Google, TF 1); a folder with `config.json` and `model.safetensors`, or
                `pytorch_model.bin`, or the index of several files (Hugging Face's BERT, DistilBERT
                and ELECTRA); or aespresso's `bert.model.epoch.N`, also as a `.safetensors` file.
                As in `from_preset`, it may also be in a zip archive, or be given by its name or
                address.
            num_layers: int. Number of layers to load, from the first one on.
            max_sequence_length: int. Number of positions to load, from the first one on.
            pooler: bool. Whether to load the pooler.
            dropout: float in [0, 1). Dropout rate, as in `BertEncoder`.
            attention_dropout: float in [0, 1). Dropout rate of the attention probabilities.
            activation: str. Activation of the feed-forward networks.
            trainable: bool. Whether the model is trainable.
            dtype: str or `keras.DTypePolicy`. Data type of the model.
            **options: Further options of `BertEncoder` that replace those of the checkpoint. The
                sizes of the checkpoint's arrays cannot be changed. aespresso's files do not store
                `num_heads` or `normalize_positions`, which default to 12 and `True` here.

        Returns:
            `BertEncoder` with the weights of the source.

        Raises:
            ValueError: If a file is missing, incomplete or damaged, if the files do not match each
                other, if the checkpoint's configuration has an unsupported option (the message
                names it), if the files belong to a different network, or if an option does not
                match the arrays.

        Reference: google-research/bert, "modeling.py"; transformers, "models/bert".

        Example:
        >>> from tfreps.models import BertEncoder
        >>> bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=2, num_heads=2)
        >>> bert.save_pretrained("bert_tiny")
        >>> len(BertEncoder.from_pretrained("bert_tiny", num_layers=1).blocks)
        1
        """
        named = given(
            num_layers=num_layers,
            max_sequence_length=max_sequence_length,
            pooler=pooler,
            dropout=dropout,
            attention_dropout=attention_dropout,
            activation=activation,
            trainable=trainable,
            dtype=dtype,
        )
        return model_files().from_pretrained(cls, source, **named, **options)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes `config.json` and `model.safetensors` for Hugging Face transformers.

        `BertModel` can load the folder. An encoder without a segment table is written for
        `DistilBertModel`, and one with an `embedding_dim` of its own or with
        `pooler_activation="gelu"` for `ElectraModel`. Sinusoidal positions are written as a table
        of `max_sequence_length` rows.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Raises:
            ValueError: If this class does not support the model, for example because of
                `normalize_first=True`, quantized weights, or a pooler in an encoder for
                `DistilBertModel` or `ElectraModel`, or if the folder contains
                `model.safetensors.index.json`.
        """
        model_files().save_pretrained(self, folder)


class PublishedPretrainer(PresetMethods):
    """Mixin of `BertPretrainer` with the methods that load and save published checkpoints."""

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        next_sentence: bool | None = None,
        num_layers: int | None = None,
        max_sequence_length: int | None = None,
        dropout: float | None = None,
        attention_dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **encoder_options: Any,
    ) -> Model:
        """Loads a model from a preset, from a run folder or from a published checkpoint.

        The options are those of `from_pretrained` and apply only to published weights.

        Args:
            source: str or path-like. A source that `BertEncoder.from_preset` reads, with a
                masked-token head.
            next_sentence, num_layers, max_sequence_length, dropout: As in `from_pretrained`.
            attention_dropout, trainable, dtype: As in `from_pretrained`.
            **encoder_options: Further options of the encoder.

        Returns:
            `BertPretrainer` with the weights of the source.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no masked-token
                head, or if options are passed that do not apply to it.
            OSError: If the disk is full.
        """
        named = given(
            next_sentence=next_sentence,
            num_layers=num_layers,
            max_sequence_length=max_sequence_length,
            dropout=dropout,
            attention_dropout=attention_dropout,
            trainable=trainable,
            dtype=dtype,
        )
        return model_files().from_preset(cls, source, **named, **encoder_options)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        next_sentence: bool | None = None,
        *,
        num_layers: int | None = None,
        max_sequence_length: int | None = None,
        dropout: float | None = None,
        attention_dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **encoder_options: Any,
    ) -> Model:
        """Loads the encoder and the heads of a published checkpoint.

        This method accepts the same checkpoints as `BertEncoder.from_pretrained`. If the second
        sentence follows the first, the next-sentence label is 0 in checkpoints from Google and
        Hugging Face, and 1 in those from aespresso.

        Args:
            source: str or path-like. Checkpoint with a masked-token head; see
                `BertEncoder.from_pretrained`.
            next_sentence: bool. Whether to load the next-sentence head. If `None` (the default), it
                is loaded if the checkpoint contains it.
            num_layers, max_sequence_length, dropout: As in `BertEncoder.from_pretrained`.
            attention_dropout, trainable, dtype: As in `BertEncoder.from_pretrained`.
            **encoder_options: Further options of the encoder that replace those of the checkpoint.

        Returns:
            `BertPretrainer` with the weights of the source.

        Raises:
            ValueError: If `BertEncoder.from_pretrained` rejects the checkpoint, if the masked-token
                head or a requested next-sentence head is missing, if `pooler=False` is passed and a
                next-sentence head is loaded, or if the masked-token head does not share the token
                table or the activation of the encoder.
        """
        named = given(
            num_layers=num_layers,
            max_sequence_length=max_sequence_length,
            dropout=dropout,
            attention_dropout=attention_dropout,
            trainable=trainable,
            dtype=dtype,
        )
        options = {"next_sentence": next_sentence, **named, **encoder_options}
        return model_files().from_pretrained(cls, source, **options)

    def save_pretrained(self, folder: str | os.PathLike[str], next_label: int = 0) -> None:
        """Writes a folder that `BertForPreTraining` of Hugging Face transformers can load.

        Without the next-sentence task, the folder is for `BertForMaskedLM`, or for
        `DistilBertForMaskedLM` or `ElectraForMaskedLM` (the generator of ELECTRA); see
        `BertEncoder.save_pretrained`. The latter two have no next-sentence head.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.
            next_label: int. Label, 0 or 1, that this model uses if the second sentence follows the
                first. In the folder, this label is always 0, as in transformers. Defaults to 0.

        Raises:
            ValueError: If `next_label` is not 0 or 1, if Hugging Face transformers does not support
                the encoder (see `BertEncoder.save_pretrained`), if the encoder is a DistilBERT or
                ELECTRA and the model has a next-sentence head or an `activation` that the family's
                masked-token head does not use, or if the folder contains
                `model.safetensors.index.json`.
        """
        model_files().save_pretrained(self, folder, next_label)
