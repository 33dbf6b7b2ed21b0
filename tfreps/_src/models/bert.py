"""BertEncoder: the Transformer encoder of BERT and of aespresso's models."""

import os
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_dropout, check_integers
from tfreps._src.layers.attention import built_dense
from tfreps._src.layers.ops.annotations import Activation, Features, Initializer, Outputs, Positions
from tfreps._src.layers.ops.configurable import shared_options
from tfreps._src.layers.ops.initializers import new_initializer
from tfreps._src.layers.ops.matmul import dense_of_tokens
from tfreps._src.layers.ops.table_rows import rows_of_distinct
from tfreps._src.layers.pooling import Pooling
from tfreps._src.layers.position_embedding import PositionEmbedding
from tfreps._src.layers.segment_embedding import SegmentEmbedding
from tfreps._src.layers.transformer import (
    activation_function,
    check_blocks,
    layer_norm,
    make_blocks,
    read_blocks,
)
from tfreps._src.models.adapter_methods import AdapterMethods
from tfreps._src.models.features import feature, with_optional
from tfreps._src.models.preset_methods import FILES, Model, read_files
from tfreps._src.models.whole_model import WholeModel

# Name of an input in other libraries -> its name in tfreps.
FOREIGN = {
    "input_ids": "token_ids",
    "attention_mask": "mask",
    "padding_mask": "mask",
    "input_mask": "mask",
    "token_type_ids": "segment_ids",
}


@keras.saving.register_keras_serializable(package="tfreps")
class BertEncoder(AdapterMethods, WholeModel, keras.Model):
    """BERT encoder: `num_layers` Transformer layers over token ids and segment ids.

        x_0 = dropout(embedding_norm(token_table[id] + position_p + segment_table[segment]))
        x_0 = x_0 @ embedding_kernel + embedding_bias       (if embedding_dim != hidden_dim)
        x_l = TransformerBlock_l(x_{l-1})       l = 1 .. L, with L = num_layers
        pooled_output = pooler_activation(x_L of the first token @ pooler_kernel + pooler_bias)

    The defaults are those of BERT-base. DistilBERT corresponds to `num_segments=0` and
    `pooler_activation="relu"`, and ELECTRA to an `embedding_dim` other than `hidden_dim` and
    `pooler_activation="gelu"`. In both, the pooler is the first dense layer of the classification
    head.

    Args:
        vocabulary_size: int. Number of rows of the token table.
        hidden_dim: int. Width of the vectors, a multiple of `num_heads`. Defaults to 768.
        num_layers: int. Number of Transformer layers. Defaults to 12.
        num_heads: int. Number of attention heads per layer. Defaults to 12.
        intermediate_dim: int. Width of the hidden layer of the feed-forward network of each layer.
            If `None` (the default), it is `4 * hidden_dim`.
        normalize_first: bool. Whether to normalize the inputs of the parts of a layer instead of
            their outputs; see `TransformerBlock`. If `True`, another layer norm follows the last
            layer. Defaults to `False`.
        activation: str or function. Activation of the feed-forward networks; see
            `TransformerBlock`. Defaults to `"gelu"`.
        dropout: float in [0, 1). Dropout rate of `x_0` and of the outputs of the attention and the
            feed-forward network of each layer. Defaults to 0.1.
        attention_dropout: float in [0, 1). Dropout rate of the attention probabilities.
            Defaults to 0.1.
        layer_norm_epsilon: float. Constant added to the variance in the layer norms.
            Defaults to 1e-12.
        positions: `"learned"`, `"sinusoidal"` or `"sinusoidal_full_index"`. Kind of position
            vectors; see `PositionEmbedding`. Defaults to `"learned"`.
        max_sequence_length: int. Maximum length of a text in tokens. Sinusoidal positions have no
            maximum; for them, only `save_pretrained` uses this number. Defaults to 512.
        normalize_positions: bool. Whether to scale each sinusoidal position vector to length 1.
            Defaults to `False`.
        num_segments: int. Number of segment ids: 2 in BERT, 256 in aespresso's models. If 0, there
            is no segment table, and `segment_ids` have no effect. Defaults to 2.
        padding_id: int. Token id of padding, used if no mask is given. Defaults to 0.
        embeddings_initializer: str, config or Keras initializer of the token, position and segment
            tables, or `"orthogonal_rows"`. If `None` (the default), it is a truncated normal
            distribution with a standard deviation of 0.02.
        kernel_initializer: str, config or Keras initializer of the kernels. If `None` (the
            default), it is a truncated normal distribution with a standard deviation of 0.02.
        pooler: bool. Whether to compute `pooled_output`. Defaults to `True`.
        embedding_dim: int. Width of the token, position and segment tables. If it differs from
            `hidden_dim`, a dense layer maps `x_0` to `hidden_dim`. If `None` (the default), it is
            `hidden_dim`.
        pooler_activation: str or function. Activation of the pooler: `"tanh"`, `"relu"`, `"gelu"`,
            or any other that Keras accepts. Defaults to `"tanh"`.

    Call arguments:
        features: dict with `token_ids` int `[B, T]` and, optionally, `segment_ids` int `[B, T]` (0
            if absent) and `mask` bool `[B, T]`, True on real tokens (`token_ids != padding_id` if
            absent). The token ids may also be passed by themselves, without a dict.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `sequence_output` float32 `[B, T, hidden_dim]`, zero on padding; `mask`
        bool `[B, T]`, True on real tokens; `layer_outputs` float32
        `[B, num_layers + 1, T, hidden_dim]`, starting with `x_0`; and, with a pooler,
        `pooled_output` float32 `[B, hidden_dim]`.

    Masking: masked tokens have no influence on other tokens, and positions count real tokens only.
    The original implementations also count padding, which makes no difference if the padding comes
    last. For a text that contains only padding, the sequence output is zero and the pooled output
    is pooler_activation(pooler_bias).

    Raises:
        ValueError: If an option is invalid, if `features` has no `token_ids` or uses a name from
            another library, such as `input_ids`, if the token ids are not integers, or if a shape
            is wrong.
        tf.errors.InvalidArgumentError: If an id is out of range, or, with learned positions, a text
            has more than `max_sequence_length` tokens.

    Reference: Devlin et al., 2019, "BERT"; Sanh et al., 2019, "DistilBERT"; Clark et al., 2020,
    "ELECTRA"; aespresso/a_journey_into_math_of_ml, "models/bert_model.py".

    Example:
    >>> bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=2, num_heads=2)
    >>> out = bert({"token_ids": tf.constant([[2, 5, 3, 0]])})
    >>> out["sequence_output"].shape, out["pooled_output"].shape
    (TensorShape([1, 4, 8]), TensorShape([1, 8]))
    """

    def __init__(
        self,
        vocabulary_size: int,
        hidden_dim: int = 768,
        num_layers: int = 12,
        num_heads: int = 12,
        intermediate_dim: int | None = None,
        normalize_first: bool = False,
        activation: Activation = "gelu",
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        layer_norm_epsilon: float = 1e-12,
        positions: Positions = "learned",
        max_sequence_length: int = 512,
        normalize_positions: bool = False,
        num_segments: int = 2,
        padding_id: int = 0,
        embeddings_initializer: Initializer | None = None,
        kernel_initializer: Initializer | None = None,
        pooler: bool = True,
        embedding_dim: int | None = None,
        pooler_activation: Activation = "tanh",
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.normalize_first = normalize_first
        self.activation = activation
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.positions = positions
        self.max_sequence_length = max_sequence_length
        self.normalize_positions = normalize_positions
        self.num_segments = num_segments
        self.padding_id = padding_id
        self.embeddings_initializer = embeddings_initializer
        self.kernel_initializer = kernel_initializer
        self.pooler = pooler
        self.embedding_dim = embedding_dim
        self.pooler_activation = pooler_activation
        check_blocks(self)
        check_integers(1, vocabulary_size=vocabulary_size)
        check_integers(0, num_segments=num_segments)
        check_integers(1, embedding_dim=embedding_dim, or_none=True)
        check_dropout(dropout=dropout)
        # Layers.
        self.table_dim = embedding_dim or hidden_dim
        self.token_embedding = keras.layers.ReversibleEmbedding(
            vocabulary_size,
            self.table_dim,
            embeddings_initializer=new_initializer(embeddings_initializer),
            dtype=self.dtype_policy,
            name="token_embedding",
        )
        self.token_embedding.build((None,))
        options = shared_options(self, PositionEmbedding)
        self.add_positions = PositionEmbedding(**options, name="positions")
        self.add_positions.build((None, None, self.table_dim))
        self.segment_embedding = None
        if num_segments:
            options = shared_options(self, SegmentEmbedding)
            self.segment_embedding = SegmentEmbedding(
                **options, units=self.table_dim, name="segments"
            )
            self.segment_embedding.build((None, None))
        self.embedding_norm = layer_norm(layer_norm_epsilon, self.table_dim, "embedding_norm")
        self.embedding_dense = None
        if self.table_dim != hidden_dim:
            self.embedding_dense = built_dense(self, "embedding_dense", self.table_dim, hidden_dim)
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.blocks = make_blocks(self)
        self.final_norm = None
        if normalize_first:
            self.final_norm = layer_norm(layer_norm_epsilon, hidden_dim, "final_norm")
        self.pooler_dense = None
        self.activate = activation_function(pooler_activation)
        if pooler:
            self.first = Pooling("first", name="first")
            self.first.build((None, None, hidden_dim))
            self.pooler_dense = built_dense(self, "pooler_dense", hidden_dim, hidden_dim)
        self.output_dim = hidden_dim
        self.pooled_dim = hidden_dim if pooler else None
        self.supports_jit = False  # the output of tf.unique has no static shape
        self.built = True

    def call(self, features: Features, training: bool = False) -> Outputs:
        layers, mask = self._read(features, training)
        outputs = {"sequence_output": layers[-1], "mask": mask}
        outputs["layer_outputs"] = tf.stack(layers, axis=1)  # [B, L+1, T, D]
        if self.pooler_dense is not None:
            v = self.pooler_dense(self.first(layers[-1], mask=mask))  # [B, D]
            outputs["pooled_output"] = self.activate(tf.cast(v, "float32"))
        return outputs

    def _input_signatures(self):
        """Returns the input specs; see `WholeModel._input_signatures`."""
        ids = feature("token_ids")
        segment_ids = feature("segment_ids")
        return [*with_optional([ids], segment_ids, feature("mask", dtype="bool")), ids]

    def attention(self, features: Features) -> tf.Tensor:
        """Computes the attention probabilities of all layers.

        Args:
            features: dict or int tensor. The features, as passed to `call`.

        Returns:
            float32, shape `[B, num_layers, num_heads, T, T]`. The second-to-last axis is the token
            that attends, and the last axis is the token that it attends to. Rows of real tokens sum
            to 1; rows and columns of padding are zero.
        """
        kept = []
        self._read(features, False, kept)
        return tf.stack(kept, axis=1)

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
        return read_files("from_pretrained", locals())

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
        FILES["save_pretrained"](self, folder)

    def _read(self, features, training, kept=None):
        """Returns the list that `read_blocks` returns, and the mask: bool `[B, T]`.

        If `kept` is a list, the attention probabilities of each layer are appended to it.
        """
        ids, segment_ids, mask = self._inputs(features)
        x = rows_of_distinct(self.token_embedding, ids, self.vocabulary_size)  # [B, T, E]
        x = self.add_positions(tf.cast(x, "float32"), mask=mask)
        if self.segment_embedding is not None:
            x += self.segment_embedding(segment_ids)
        x = self.drop(self.embedding_norm(x), training=training)
        if self.embedding_dense is not None:
            x = tf.cast(dense_of_tokens(self.embedding_dense, x), "float32")  # [B, T, D]
        x = tf.where(tf.expand_dims(mask, -1), x, 0.0)
        return read_blocks(self, x, mask, training, kept), mask

    def _inputs(self, features):
        features = features if isinstance(features, dict) else {"token_ids": features}
        for theirs, ours in FOREIGN.items():
            if theirs in features:
                raise ValueError(
                    f"`features` must not have the key `{theirs}`; rename it to `{ours}`."
                )
        if "token_ids" not in features:
            raise ValueError(
                f"`features` must have the key `token_ids`; got {sorted(features)}. Create the "
                "features with the method `build_batch` of the tokenizer."
            )
        ids = tf.convert_to_tensor(features["token_ids"])
        if not ids.dtype.is_integer or ids.shape.rank not in (None, 2):
            raise ValueError(
                f"`token_ids` must be integers of shape [B, T]; got {ids.dtype.name} of shape "
                f"{ids.shape}."
            )
        ids = tf.cast(ids, "int32")
        others = []
        for name, default in ("segment_ids", tf.zeros_like(ids)), ("mask", ids != self.padding_id):
            given = features.get(name)
            other = default if given is None else tf.cast(given, default.dtype)
            if not other.shape.is_compatible_with(ids.shape):
                raise ValueError(
                    f"`{name}` must have the shape of `token_ids`, {ids.shape}; got {other.shape}."
                )
            others.append(other)
        return ids, *others
