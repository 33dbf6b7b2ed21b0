"""SLSTMEncoder: a Sentence-State LSTM over token vectors."""

from typing import Any

import keras

from tfreps._src.files.argument_checks import check_dropout
from tfreps._src.layers.ops.annotations import (
    Boundary,
    Features,
    InputTerm,
    Neighbors,
    Outputs,
    SentenceNormalization,
    SLSTMInitialState,
)
from tfreps._src.layers.ops.configurable import shared_options
from tfreps._src.layers.slstm import SLSTM
from tfreps._src.models.whole_model import WholeModel


@keras.saving.register_keras_serializable(package="tfreps")
class SLSTMEncoder(WholeModel, keras.Model):
    """Sentence-State LSTM over embedded tokens.

        words, sentence = SLSTM(project(embedder(features)))

    `project` is a dense layer, which is omitted if the output width of the embedder is `units`.

    Args:
        embedder: `TokenEmbedder` or any other encoder. Its own dropout applies to the inputs.
        units: int. Width of the states and of the output. Defaults to 300.
        num_steps: int. Number of steps, at least 1. The paper's best result with window 1 uses
            9 steps. Defaults to 9.
        window: int. Number of neighbors that a word reads on each side in a step, at least 1.
            Defaults to 1.
        num_sentence_nodes: int. Number of sentence nodes. The hidden state of the first is the
            pooled output; with 0, there is no pooled output. Defaults to 1.
        neighbors: `"separate"`, `"summed"` or `"nearest_cells"`. How the neighbors are read; see
            `SLSTMCell`. Defaults to `"separate"`.
        input_term: `"gate"` or `"embedding"`. Value multiplied by the input gate; see `SLSTMCell`.
            Defaults to `"gate"`.
        sentence_normalization: `"joint"` or `"words"`. Gates in the softmax of a sentence node; see
            `SLSTMCell`. Defaults to `"joint"`.
        initial_state: `"learned"`, `"learned_separately"`, `"zeros"` or `"embedding"`. Initial
            states; see `SLSTM`. Defaults to `"learned"`.
        boundary: `"learned"`, `"fixed"` or `"zeros"`. Nodes at both ends of a sentence; see
            `SLSTM`. Defaults to `"learned"`.
        state_dropout: float in [0, 1). Dropout rate of the initial states with
            `initial_state="embedding"`. Defaults to 0.0.
        dropout: float in [0, 1). Dropout rate of the outputs. `Tagger` and `Classifier` have their
            own dropout. Defaults to 0.0.
        l2: float. Adds `l2` times the sum of the squared kernels of the S-LSTM to the losses.
            Defaults to 0.0.

    Call arguments:
        features: dict. The features that the embedder reads.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `sequence_output` float32 `[B, T, units]`, zero on padding; `mask` bool `[B, T]`;
        and, with a sentence node, `pooled_output` float32 `[B, units]`, which is zero for a
        sentence without tokens.

    Raises:
        ValueError: If an option is invalid.

    Reference: Zhang, Liu and Song, 2018, "Sentence-State LSTM for Text Representation".

    Example:
    >>> import tensorflow as tf
    >>> from tfreps.models import TokenEmbedder
    >>> encoder = SLSTMEncoder(TokenEmbedder(vocabulary_size=9), units=4, num_steps=3)
    >>> out = encoder({"token_ids": tf.constant([[3, 9, 0]])})
    >>> out["sequence_output"].shape, out["pooled_output"].shape
    (TensorShape([1, 3, 4]), TensorShape([1, 4]))
    """

    def __init__(
        self,
        embedder: keras.Model,
        units: int = 300,
        num_steps: int = 9,
        window: int = 1,
        num_sentence_nodes: int = 1,
        neighbors: Neighbors = "separate",
        input_term: InputTerm = "gate",
        sentence_normalization: SentenceNormalization = "joint",
        initial_state: SLSTMInitialState = "learned",
        boundary: Boundary = "learned",
        state_dropout: float = 0.0,
        dropout: float = 0.0,
        l2: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_dropout(dropout=dropout)
        # Options.
        self.embedder = embedder
        self.units = units
        self.num_steps = num_steps
        self.window = window
        self.num_sentence_nodes = num_sentence_nodes
        self.neighbors = neighbors
        self.input_term = input_term
        self.sentence_normalization = sentence_normalization
        self.initial_state = initial_state
        self.boundary = boundary
        self.state_dropout = state_dropout
        self.dropout = dropout
        self.l2 = l2
        # Layers.
        self.project = None
        if embedder.output_dim != units:
            self.project = keras.layers.Dense(units, dtype=self.dtype_policy, name="project")
            self.project.build((None, None, embedder.output_dim))
        options = shared_options(self, SLSTM)
        self.slstm = SLSTM(**options, dtype=self.dtype_policy, name="slstm")
        self.slstm.build((None, None, units))
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.output_dim = units
        self.pooled_dim = units if num_sentence_nodes else None
        self.supports_jit = False
        self.built = True

    def call(self, features: Features, training: bool = False) -> Outputs:
        embedded = self.embedder(features, training=training)
        x = embedded["sequence_output"]
        mask = embedded["mask"]
        x = x if self.project is None else self.project(x)  # [B, T, units]
        words, sentence = self.slstm(x, mask=mask, training=training)  # [B, S, units]
        output = {"sequence_output": self.drop(words, training=training), "mask": mask}
        if self.num_sentence_nodes:
            output["pooled_output"] = self.drop(sentence[:, 0], training=training)
        return output
