"""Elmo: learned mixes of the layers of a BiLM."""

import os
from collections.abc import Sequence
from typing import Any, Literal

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_dropout, check_integers
from tfreps._src.layers.ops.annotations import Features
from tfreps._src.layers.scalar_mix import ScalarMix
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.copy_weights import changed_copy
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.models.preset_methods import Model, read_files
from tfreps._src.models.whole_model import WholeModel

# Epsilon of the layer norm in each original implementation; see ScalarMix.
LAYER_NORMS = {None: 0.0, "bilm_tf": 1e-12, "allennlp": 1e-13}


@keras.saving.register_keras_serializable(package="tfreps")
class Elmo(WholeModel, keras.Model):
    """Contextual token vectors of ELMo: independent mixes of the layers of a biLM.

        elmo_k = dropout(gamma_k * sum_l softmax(w_k)_l * layer_l)

    `w_k` and `gamma_k` are the learned weights and scale of mix `k`. The model can be used on its
    own, as the encoder of a `Tagger` or `Classifier`, or as a layer of a functional model whose
    inputs are character ids or strings.

    Args:
        bilm: `BiLM` or `ManyLangsBiLM`. If its `trainable` equals `fine_tune`, it is shared, and
            the attribute `bilm` is the given object. Otherwise the biLM is copied with its weights,
            and the given one is not changed. To avoid the copy if the biLM is not fine-tuned, load
            it with `BiLM.from_pretrained(source, trainable=False)`.
        num_output_representations: int. Number of mixes. Defaults to 1.
        dropout: float in [0, 1). Dropout rate of the mixes. Defaults to 0.5.
        keep_sentence_boundaries: bool. Whether the outputs include the sentence start and end.
            Defaults to `False`.
        fine_tune: bool. Whether to train the biLM. The mixes are trained in either case, unless
            `mix_weights` is given. Defaults to `False`.
        layer_norm: `"bilm_tf"` (normalizes over the tokens of the batch, and over the sentence
            boundaries only if they are kept) or `"allennlp"` (always over both); see `ScalarMix`.
            If `None` (the default), layers are not normalized. As in bilm-tf, `"bilm_tf"` has no
            effect if `top_only` is `True`.
        l2: float. Adds `l2` times the sum of the squared mix weights to the losses.
            Defaults to 0.0.
        top_only: bool. Whether to use only the last layer. Defaults to `False`.
        mix_weights: list of `L + 1` floats, one per layer, with the token layer first. Fixed
            weights before the softmax, like AllenNLP's `scalar_mix_parameters`; `gamma` is then
            not trained either. If `None` (the default), the mix is learned.

    Call arguments:
        inputs: Input of the biLM: character ids `[B, T, C]`, string tokens `[B, T]`, string
            sentences `[B]`, or a dict with `character_ids`; for other forms, see `BiLM` and
            `ManyLangsBiLM`.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `elmo_representations`, a list of float32 `[B, T, 2P]`, zero on padding; `mask`
        bool `[B, T]`: True on real tokens; `sequence_output`, the first representation; and
        `layer_outputs` float32 `[B, L+1, T, 2P]`: the layers of the biLM. `L` and `P` are the
        `num_layers` and `projection_dim` of the biLM. With `keep_sentence_boundaries`, `T + 2`
        replaces `T`; with a unidirectional biLM, `P` replaces `2P`.

    Raises:
        ValueError: If an option is invalid, `mix_weights` does not have one value per layer, both
            `top_only` and `mix_weights` are given, or the biLM rejects the form of `inputs`.
        tf.errors.InvalidArgumentError: If the biLM rejects an id or the position of padding.

    Reference: Peters et al., 2018, "Deep contextualized word representations", section 3.2;
    AllenNLP's module of the same name.

    Example:
    >>> import tfreps
    >>> from tfreps.models import BiLM
    >>> elmo = Elmo(BiLM(filters=[[1, 8]], units=16, projection_dim=4), dropout=0.0)
    >>> out = elmo(tfreps.text.batch_to_ids([["I", "have", "a", "dog"], ["That"]]))
    >>> out["elmo_representations"][0].shape
    TensorShape([2, 4, 8])
    """

    def __init__(
        self,
        bilm: BiLM | ManyLangsBiLM,
        num_output_representations: int = 1,
        dropout: float = 0.5,
        keep_sentence_boundaries: bool = False,
        fine_tune: bool = False,
        layer_norm: Literal["bilm_tf", "allennlp"] | None = None,
        l2: float = 0.0,
        top_only: bool = False,
        mix_weights: Sequence[float] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_choice(LAYER_NORMS, layer_norm=layer_norm)
        check_integers(1, num_output_representations=num_output_representations)
        check_dropout(dropout=dropout)
        if top_only and mix_weights is not None:
            raise ValueError(
                "`mix_weights` cannot be combined with `top_only`, which uses only the last layer. "
                "Pass only one of them."
            )
        # Options.
        self.num_output_representations = num_output_representations
        self.dropout = dropout
        self.keep_sentence_boundaries = keep_sentence_boundaries
        self.fine_tune = fine_tune
        self.layer_norm = layer_norm
        self.l2 = l2
        self.top_only = top_only
        self.mix_weights = mix_weights
        # Layers. bilm-tf does not apply its layer norm if it uses only the top layer.
        normalizes = layer_norm is not None and not (top_only and layer_norm == "bilm_tf")
        trains_bilm = fine_tune and self.trainable
        if bilm.trainable != trains_bilm:
            bilm = changed_copy(bilm, trainable=trains_bilm)
        self.bilm = bilm
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.mixes = [
            ScalarMix(
                initial_weights=mix_weights,
                layer_norm=normalizes,
                layer_norm_epsilon=LAYER_NORMS[layer_norm],
                l2=l2,
                top_only=top_only,
                trainable=mix_weights is None and self.trainable,
                name=f"mix_{k}",
            )
            for k in range(num_output_representations)
        ]
        if mix_weights is not None and len(mix_weights) != bilm.num_layers + 1:
            raise ValueError(
                f"`mix_weights` must have one value for each of the {bilm.num_layers + 1} "
                f"layers of the biLM, including the token layer; got {len(mix_weights)} values."
            )
        for mix in self.mixes:
            mix.build((None, bilm.num_layers + 1, None, bilm.output_dim))
        self.output_dim = bilm.output_dim
        self.built = True

    def call(self, inputs: Features, training: bool = False) -> dict[str, Any]:
        out = self.bilm(inputs, training=training and self.fine_tune)
        if self._sees_boundaries:
            layers = out["layer_outputs_with_boundaries"]
            mask = out["mask_with_boundaries"]
        else:
            layers = out["layer_outputs"]
            mask = out["mask"]
        if not self.fine_tune:
            layers = tf.stop_gradient(layers)  # [B, L+1, T, 2P]
        mixed = [mix(layers, mask=mask) for mix in self.mixes]  # [B, T, 2P] each
        if self._sees_boundaries and not self.keep_sentence_boundaries:
            mixed = [x[:, 1:-1] for x in mixed]
            layers = out["layer_outputs"]
            mask = out["mask"]
        mixed = [
            tf.where(tf.expand_dims(mask, -1), self.drop(x, training=training), 0.0) for x in mixed
        ]
        return {
            "elmo_representations": mixed,
            "sequence_output": mixed[0],
            "layer_outputs": layers,
            "mask": mask,
        }

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
        return read_files("from_preset", locals())

    def _input_signatures(self):
        """Returns the input specs of the biLM; see `WholeModel._input_signatures`."""
        return self.bilm._input_signatures()

    def _frozen_by_options(self):
        """Returns a list of the biLM, unless it is fine-tuned, and the mixes with fixed weights."""
        fixed = [] if self.mix_weights is None else [*self.mixes]
        return fixed if self.fine_tune else [self.bilm, *fixed]

    def _own_mix_shares(self):
        return {} if self.top_only else {"elmo_mix": self.mixes[0].normalized_weights()}

    @property
    def _sees_boundaries(self):
        return self.keep_sentence_boundaries or self.layer_norm == "allennlp"
