"""Methods of `BiLM`, `ManyLangsBiLM` and `Elmo` that read and write published ELMo weights."""

import os
from collections.abc import Sequence
from typing import Any, Literal

import keras

from tfreps._src.models.preset_methods import Model, PresetMethods, given, model_files

InitialState = Literal["zero", "warm", "carry"]


class PublishedBiLM(PresetMethods):
    """Mixin of `BiLM` with the methods that load and save published weights."""

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        weights_file: str | os.PathLike[str] | None = None,
        initial_state: InitialState | None = None,
        embedding_file: str | os.PathLike[str] | None = None,
        max_batch_size: int | None = None,
        dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a biLM from a preset, from a run folder or from published ELMo weights.

        The options are those of `from_pretrained` and apply only to published weights.

        Args:
            source: str or path-like. A name in `tfreps.presets.list_presets()`, such as
                `"elmo_original"`; `"hf://owner/repository[@revision][/folder]"`; a URL; a path that
                TensorFlow reads; a local file, folder or zip archive that `from_pretrained` reads;
                or the folder or `.keras` file of a tfreps model that contains a biLM, which is
                returned.
            weights_file, initial_state, embedding_file: As in `from_pretrained`.
            max_batch_size, dropout, trainable, dtype: As in `from_pretrained`.
            **options: Further options of `BiLM`.

        Returns:
            `BiLM` with the weights of the source.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no biLM, or if
                options are passed that do not apply to it.
            OSError: If the disk is full.
        """
        named = given(
            weights_file=weights_file,
            initial_state=initial_state,
            embedding_file=embedding_file,
            max_batch_size=max_batch_size,
            dropout=dropout,
            trainable=trainable,
            dtype=dtype,
        )
        return model_files().from_preset(cls, source, **named, **options)

    @classmethod
    def from_pretrained(
        cls: type[Model],
        source: str | os.PathLike[str],
        weights_file: str | os.PathLike[str] | None = None,
        initial_state: InitialState = "zero",
        embedding_file: str | os.PathLike[str] | None = None,
        *,
        max_batch_size: int | None = None,
        dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
        **options: Any,
    ) -> Model:
        """Loads a biLM from published ELMo weights or from a training folder of bilm-tf.

        Args:
            source: str or path-like. Path of an `options.json` of bilm-tf or AllenNLP; a folder
                with one such file and its weights; or a training folder of bilm-tf (TensorFlow 1),
                whose newest checkpoint is loaded without its softmax; or a zip archive, name or
                address, as in `from_preset`. The HDF5 weights must be next to the options:
                `weights.hdf5`, `X_weights.hdf5` for `X_options.json`, or the only other HDF5 file.
            weights_file: str or path-like. Path of the HDF5 weights if they are elsewhere, or
                relative to the folder of the options. Defaults to `None`.
            initial_state: `"zero"`, `"warm"` or `"carry"`; see `BiLM`. With `"warm"`, `warm_up` is
                called and reads the default sentence. Defaults to `"zero"`.
            embedding_file: str or path-like. Path of the HDF5 file that bilm-tf's
                `dump_token_embeddings` wrote. The model then reads token ids instead of character
                ids. Defaults to `None`.
            max_batch_size: int. Largest batch size with `initial_state="carry"`. If `None` (the
                default), it is 128.
            dropout: float in [0, 1). Dropout rate of the input of each LSTM layer. If `None` (the
                default), it is 0 or, for a training folder, the rate in the options of the folder.
            trainable: bool. Whether the model is trainable. If `None` (the default), it is.
            dtype: str or `keras.DTypePolicy`. Data type of the model. If `None` (the default), it
                is Keras's default.
            **options: Further options of `BiLM` that replace those of the source.

        Returns:
            `BiLM` with the weights of the source.

        Raises:
            ValueError: If a file is missing or damaged, an option is missing or invalid, or the
                files do not match each other. The error message names the file or the array.

        Example:
        >>> from tfreps.models import BiLM
        >>> small = BiLM(filters=[[1, 8]], units=8, projection_dim=4)
        >>> small.save_pretrained("elmo_mine")
        >>> BiLM.from_pretrained("elmo_mine", initial_state="warm").filters
        [[1, 8]]
        """
        named = given(
            weights_file=weights_file,
            embedding_file=embedding_file,
            max_batch_size=max_batch_size,
            dropout=dropout,
            trainable=trainable,
            dtype=dtype,
        )
        options = {"initial_state": initial_state, **named, **options}
        return model_files().from_pretrained(cls, source, **options)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Writes `options.json` and `weights.hdf5` for bilm-tf and AllenNLP.

        Args:
            folder: str or path-like. Folder to write to; created if it does not exist.

        Warns:
            UserWarning: If AllenNLP cannot load the model.

        Raises:
            ValueError: If the model is unidirectional or has an option that the format does not
                support.
        """
        model_files().save_pretrained(self, folder)


class PublishedManyLangs(PresetMethods):
    """Mixin of `ManyLangsBiLM` with the methods that load models of ELMoForManyLangs."""

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        initial_state: InitialState | None = None,
        max_batch_size: int | None = None,
        dropout: float | None = None,
        trainable: bool | None = None,
        dtype: str | keras.DTypePolicy | None = None,
    ) -> Model:
        """Loads a biLM from a preset, a run folder or a model of ELMoForManyLangs.

        The options are those of `from_pretrained` and apply only to models of ELMoForManyLangs.
        `tfreps.load` also reads the words and characters of the model.

        Args:
            source: str or path-like. A source that `from_pretrained` reads, or the name, address,
                folder or `.keras` file of a tfreps model that contains a `ManyLangsBiLM`, which is
                returned.
            initial_state, max_batch_size, dropout, trainable, dtype: As in `from_pretrained`.

        Returns:
            `ManyLangsBiLM` with the weights of the source.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no such biLM, or
                if options are passed that do not apply to it.
            OSError: If the disk is full.
        """
        named = given(
            initial_state=initial_state,
            max_batch_size=max_batch_size,
            dropout=dropout,
            trainable=trainable,
            dtype=dtype,
        )
        return model_files().from_preset(cls, source, **named)

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
        named = given(
            max_batch_size=max_batch_size, dropout=dropout, trainable=trainable, dtype=dtype
        )
        options = {"initial_state": initial_state, **named}
        return model_files().from_pretrained(cls, source, **options)


class PublishedElmo(PresetMethods):
    """Mixin of `Elmo` with the method that loads presets and published weights."""

    @classmethod
    def from_preset(
        cls: type[Model],
        source: str | os.PathLike[str],
        *,
        num_output_representations: int | None = None,
        dropout: float | None = None,
        keep_sentence_boundaries: bool | None = None,
        fine_tune: bool | None = None,
        layer_norm: Literal["bilm_tf", "allennlp"] | None = None,
        l2: float | None = None,
        top_only: bool | None = None,
        mix_weights: Sequence[float] | None = None,
        **options: Any,
    ) -> Model:
        """Loads an `Elmo`, or loads a biLM and creates a new `Elmo` with it.

        The options are those of the new `Elmo`. An option that is `None` (the default) has the
        default value of `Elmo`.

        Args:
            source: str or path-like. A source that `BiLM.from_preset` or
                `ManyLangsBiLM.from_preset` reads. If it contains an `Elmo`, this is returned, and
                options cannot be passed.
            num_output_representations, dropout, keep_sentence_boundaries: As in `Elmo`.
            fine_tune, layer_norm, l2, top_only, mix_weights: As in `Elmo`.
            **options: Options of `keras.Model`, such as `name`.

        Returns:
            `Elmo`: the one in the source, or a new one on the biLM in the source.

        Raises:
            ValueError: If the source cannot be found or downloaded, if it contains no biLM, or if
                options are passed that do not apply to it.
            OSError: If the disk is full.
        """
        named = given(
            num_output_representations=num_output_representations,
            dropout=dropout,
            keep_sentence_boundaries=keep_sentence_boundaries,
            fine_tune=fine_tune,
            layer_norm=layer_norm,
            l2=l2,
            top_only=top_only,
            mix_weights=mix_weights,
        )
        return model_files().from_preset(cls, source, **named, **options)
