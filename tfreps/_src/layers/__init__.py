"""Keras layers: encoders, embeddings, attention, pooling, CRF and sampled softmax."""

from tfreps._src.backend import require_tensorflow_backend

require_tensorflow_backend()

from tfreps._src.layers.attention import SelfAttention  # noqa: E402
from tfreps._src.layers.bilstm import BiLSTM  # noqa: E402
from tfreps._src.layers.char_cnn import CharCNNEncoder  # noqa: E402
from tfreps._src.layers.char_lstm import CharLSTMEncoder  # noqa: E402
from tfreps._src.layers.crf import CRF  # noqa: E402
from tfreps._src.layers.elmo_bilstm import ElmoBiLSTM, ElmoLSTM, LSTMState  # noqa: E402
from tfreps._src.layers.highway import Highway  # noqa: E402
from tfreps._src.layers.pooling import Pooling  # noqa: E402
from tfreps._src.layers.position_embedding import PositionEmbedding  # noqa: E402
from tfreps._src.layers.sampled_softmax import SampledSoftmax  # noqa: E402
from tfreps._src.layers.scalar_mix import ScalarMix  # noqa: E402
from tfreps._src.layers.segment_embedding import SegmentEmbedding  # noqa: E402
from tfreps._src.layers.slstm import SLSTM  # noqa: E402
from tfreps._src.layers.slstm_cell import SLSTMCell  # noqa: E402
from tfreps._src.layers.transformer import TransformerBlock  # noqa: E402
from tfreps._src.layers.word_char_cnn import WordCharCNNEncoder  # noqa: E402

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
    "WordCharCNNEncoder",
]
