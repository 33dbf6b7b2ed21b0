"""Methods of classifiers and taggers that read and write published BERT models with a head."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import keras

from tfreps._src.models.preset_methods import Model, PresetMethods, given, model_files
from tfreps._src.text.tags.tag_schemes import Scheme

Constrain = Literal["both", "decode", "none"]


class PublishedClassifier(PresetMethods):
    """Mixin of `Classifier` with the methods that load and save published checkpoints."""

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        labels: Sequence[str] | None = None,
        encoder_options: Mapping[str, Any] | None = None,
        next_sentence: bool | None = None,
        dropout: float | None = None,
        class_weights: Sequence[float] | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a classifier from a preset, from a run folder or from a published checkpoint.

        The options are those of `from_pretrained` and apply only to published weights.

        Args:
            source: str or path-like. A name in `tfreps.presets.list_presets()`;
                `"hf://owner/repository[@revision][/folder]"`; a URL; a path that TensorFlow reads;
                a local file, folder or zip archive that `from_pretrained` reads; or the folder or
                `.keras` file of a tfreps model that contains a `Classifier`, which is returned.
            labels, encoder_options, next_sentence, dropout: As in `from_pretrained`.
            class_weights, trainable, dtype: As in `from_pretrained`.
            **options: Further options of `Classifier`.

        Returns:
            `Classifier` with the weights of the source.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no classifier,
                or if options are passed that do not apply to it.
            OSError: If the disk is full.
        """
        named = given(
            labels=labels,
            encoder_options=encoder_options,
            next_sentence=next_sentence,
            dropout=dropout,
            class_weights=class_weights,
            trainable=trainable,
            dtype=dtype,
        )
        return model_files().from_preset(cls, source, **named, **options)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        labels: Sequence[str] | None = None,
        encoder_options: Mapping[str, Any] | None = None,
        next_sentence: bool = False,
        *,
        dropout: float | None = None,
        class_weights: Sequence[float] | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a published BERT classifier: the encoder and its head.

        To put a new head on an encoder instead, use
        `Classifier(BertEncoder.from_pretrained(source), labels)`.

        Args:
            source: str or path-like. Checkpoint with a classification head, written by
                `BertForSequenceClassification`, `DistilBertForSequenceClassification` or
                `ElectraForSequenceClassification` of Hugging Face transformers or by Google's
                `run_classifier.py`; with `next_sentence`, any checkpoint with a next-sentence head.
                `BertEncoder.from_pretrained` describes the files.
            labels: sequence of str. Label names. If `None` (the default), the checkpoint's names
                are used, or `LABEL_0`, `LABEL_1` and so on if it has none.
            encoder_options: dict. Options of the encoder that replace those of the checkpoint.
                Defaults to `None`.
            next_sentence: bool. Whether to load the next-sentence head of pre-training, as in
                `BertForNextSentencePrediction`, instead of a classification head. Unless `labels`
                is given, the labels are `"next"` and `"other"`, in the order of the checkpoint.
                Defaults to `False`.
            dropout: float in [0, 1). Dropout rate of the head's input. If `None` (the default), it
                is the checkpoint's rate.
            class_weights: sequence of float. Factors of the losses, as in `Classifier`. Defaults to
                `None`.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the head. If `None` (the default), it is
                Keras's default.
            **options: Further options of `Classifier`, except `pooling`, `hidden_units` and
                `linear`: the head is a single dense layer over the pooled output.

        Returns:
            `Classifier` with the weights of the source.

        Raises:
            ValueError: If `BertEncoder.from_pretrained` rejects the checkpoint, the head is missing
                or does not choose one of several labels, or an option does not match the head.
        """
        named = given(
            labels=labels,
            encoder_options=encoder_options,
            dropout=dropout,
            class_weights=class_weights,
            trainable=trainable,
            dtype=dtype,
        )
        options = {"next_sentence": next_sentence, **named, **options}
        return model_files().from_pretrained(cls, source, **options)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes a folder for Hugging Face transformers.

        `BertForSequenceClassification` can load the folder, or the class of DistilBERT or ELECTRA
        if `BertEncoder.save_pretrained` would write the encoder for that family. The pooler of the
        encoder is then the first dense layer of the head.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Raises:
            ValueError: If the encoder is neither a `BertEncoder` nor a `PieceEncoder` around one,
                `BertEncoder.save_pretrained` rejects it for a reason other than its pooler, the
                pooling is not `"pooled_output"`, the model has a hidden layer, a linear model or a
                temperature other than 1, or the folder contains `model.safetensors.index.json`.
        """
        model_files().save_pretrained(self, folder)


class PublishedTagger(PresetMethods):
    """Mixin of `Tagger` with the methods that load and save published checkpoints."""

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        tags: Sequence[str] | None = None,
        encoder_options: Mapping[str, Any] | None = None,
        scheme: Scheme | None = None,
        use_crf: bool | None = None,
        constrain: Constrain | None = None,
        dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a tagger from a preset, from a run folder or from a published checkpoint.

        The options are those of `from_pretrained` and apply only to published weights.

        Args:
            source: str or path-like. A name in `tfreps.presets.list_presets()`;
                `"hf://owner/repository[@revision][/folder]"`; a URL; a path that TensorFlow reads;
                a local file, folder or zip archive that `from_pretrained` reads; or the folder or
                `.keras` file of a tfreps model that contains a `Tagger`, which is returned.
            tags, encoder_options, scheme, use_crf, constrain: As in `from_pretrained`.
            dropout, trainable, dtype: As in `from_pretrained`.
            **options: Further options of `Tagger`.

        Returns:
            `Tagger` with the weights of the source.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no tagger, or if
                options are passed that do not apply to it.
            OSError: If the disk is full.
        """
        named = given(
            tags=tags,
            encoder_options=encoder_options,
            scheme=scheme,
            use_crf=use_crf,
            constrain=constrain,
            dropout=dropout,
            trainable=trainable,
            dtype=dtype,
        )
        return model_files().from_preset(cls, source, **named, **options)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        tags: Sequence[str] | None = None,
        encoder_options: Mapping[str, Any] | None = None,
        *,
        scheme: Scheme | None = None,
        use_crf: bool = False,
        constrain: Constrain | None = None,
        dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a published BERT tagger: the encoder and its head.

        To put a new head on an encoder instead, use
        `Tagger(BertEncoder.from_pretrained(source), tags)`.

        Args:
            source: str or path-like. Checkpoint with a token-classification head, written by
                `BertForTokenClassification`, `DistilBertForTokenClassification` or
                `ElectraForTokenClassification` of Hugging Face transformers.
                `BertEncoder.from_pretrained` describes the files.
            tags: sequence of str. Tag names. If `None` (the default), the checkpoint's names are
                used, or `LABEL_0`, `LABEL_1` and so on if it has none.
            encoder_options: dict. Options of the encoder that replace those of the checkpoint.
                Defaults to `None`.
            scheme: str. Tag scheme, as in `Tagger`. If `None` (the default), the tags do not form
                spans.
            use_crf: bool. Whether to add a CRF, whose scores are newly initialized. Otherwise, the
                tagger has a softmax, like the checkpoint. Defaults to `False`.
            constrain: str. Which transitions are forbidden, as in `Tagger`. If `None` (the
                default), it is `"both"`.
            dropout: float in [0, 1). Dropout rate of the head's input. If `None` (the default), it
                is the checkpoint's rate.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the head. If `None` (the default), it is
                Keras's default.
            **options: Further options of `Tagger`.

        Returns:
            `Tagger` with the weights of the source.

        Raises:
            ValueError: If `BertEncoder.from_pretrained` rejects the checkpoint, the checkpoint has
                no such head, or an option does not match the head.
        """
        named = given(
            tags=tags,
            encoder_options=encoder_options,
            scheme=scheme,
            constrain=constrain,
            dropout=dropout,
            trainable=trainable,
            dtype=dtype,
        )
        options = {"use_crf": use_crf, **named, **options}
        return model_files().from_pretrained(cls, source, **options)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes a folder that `BertForTokenClassification` of Hugging Face transformers can load.

        The folder of a DistilBERT or ELECTRA is for the class of that family; see
        `BertEncoder.save_pretrained`.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Raises:
            ValueError: If the encoder is neither a `BertEncoder` nor a `PieceEncoder` around one,
                `BertEncoder.save_pretrained` rejects it, the model has a CRF, no projection, a
                linear model or a temperature other than 1, or the folder contains
                `model.safetensors.index.json`.
        """
        model_files().save_pretrained(self, folder)
