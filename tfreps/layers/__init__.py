"""Keras layers: encoders, embeddings, attention, pooling, CRF and sampled softmax."""

from tfreps.backend import require_tensorflow_backend

require_tensorflow_backend()

from tfreps.layers.attention import SelfAttention  # noqa: E402
from tfreps.layers.bilstm import BiLSTM  # noqa: E402
from tfreps.layers.char_cnn import CharCNNEncoder  # noqa: E402
from tfreps.layers.char_lstm import CharLSTMEncoder  # noqa: E402
from tfreps.layers.crf import CRF  # noqa: E402
from tfreps.layers.elmo_bilstm import ElmoBiLSTM, ElmoLSTM, LSTMState  # noqa: E402
from tfreps.layers.highway import Highway  # noqa: E402
from tfreps.layers.pooling import Pooling  # noqa: E402
from tfreps.layers.position_embedding import PositionEmbedding  # noqa: E402
from tfreps.layers.sampled_softmax import SampledSoftmax  # noqa: E402
from tfreps.layers.scalar_mix import ScalarMix  # noqa: E402
from tfreps.layers.segment_embedding import SegmentEmbedding  # noqa: E402
from tfreps.layers.slstm import SLSTM  # noqa: E402
from tfreps.layers.slstm_cell import SLSTMCell  # noqa: E402
from tfreps.layers.transformer import TransformerBlock  # noqa: E402

__all__ = [
    "CRF",
    "BiLSTM",
    "CharCNNEncoder",
    "CharLSTMEncoder",
    "ElmoBiLSTM",
    "ElmoLSTM",
    "Highway",
    "LSTMState",
    "Pooling",
    "PositionEmbedding",
    "SLSTM",
    "SLSTMCell",
    "SampledSoftmax",
    "ScalarMix",
    "SegmentEmbedding",
    "SelfAttention",
    "TransformerBlock",
]
