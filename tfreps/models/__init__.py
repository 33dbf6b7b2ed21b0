"""Models: complete networks built from layers."""

from tfreps.backend import require_tensorflow_backend

require_tensorflow_backend()

# A saved model refers to its optimizer, schedule and metrics by name. They are imported here so
# that Keras finds them.
import tfreps.metrics  # noqa: E402
import tfreps.optimizers  # noqa: E402
import tfreps.optimizers.schedules  # noqa: E402, F401
from tfreps.models.bert import BertEncoder  # noqa: E402
from tfreps.models.bert_pretrainer import BertPretrainer  # noqa: E402
from tfreps.models.bilm import BiLM  # noqa: E402
from tfreps.models.bilm_pretrainer import BiLMPretrainer  # noqa: E402
from tfreps.models.bilstm_encoder import BiLSTMEncoder  # noqa: E402
from tfreps.models.classifier import Classifier  # noqa: E402
from tfreps.models.elmo import Elmo  # noqa: E402
from tfreps.models.hmm import HMMTagger  # noqa: E402
from tfreps.models.linear_encoder import LinearEncoder  # noqa: E402
from tfreps.models.piece_encoder import PieceEncoder  # noqa: E402
from tfreps.models.slstm_encoder import SLSTMEncoder  # noqa: E402
from tfreps.models.tagger import Tagger  # noqa: E402
from tfreps.models.text_cnn import TextCNN  # noqa: E402
from tfreps.models.token_embedder import TokenEmbedder  # noqa: E402
from tfreps.models.transformer_encoder import TransformerEncoder  # noqa: E402

__all__ = [
    "BertEncoder",
    "BertPretrainer",
    "BiLM",
    "BiLMPretrainer",
    "BiLSTMEncoder",
    "Classifier",
    "Elmo",
    "HMMTagger",
    "PieceEncoder",
    "SLSTMEncoder",
    "Tagger",
    "TextCNN",
    "TokenEmbedder",
    "TransformerEncoder",
    "LinearEncoder",
]
