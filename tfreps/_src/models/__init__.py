"""Models: complete networks built from layers."""

from tfreps._src.backend import require_tensorflow_backend

require_tensorflow_backend()

# A saved model refers to its optimizer, schedule and metrics by name. They are imported here so
# that Keras finds them.
import tfreps._src.metrics  # noqa: E402
import tfreps._src.optimizers  # noqa: E402
import tfreps._src.optimizers.schedules  # noqa: E402, F401
from tfreps._src.models.bert import BertEncoder  # noqa: E402
from tfreps._src.models.bert_pretrainer import BertPretrainer  # noqa: E402
from tfreps._src.models.bilm import BiLM  # noqa: E402
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer  # noqa: E402
from tfreps._src.models.bilstm_encoder import BiLSTMEncoder  # noqa: E402
from tfreps._src.models.classifier import Classifier  # noqa: E402
from tfreps._src.models.elmo import Elmo  # noqa: E402
from tfreps._src.models.hmm import HMMTagger  # noqa: E402
from tfreps._src.models.linear_encoder import LinearEncoder  # noqa: E402
from tfreps._src.models.many_langs import ManyLangsBiLM  # noqa: E402
from tfreps._src.models.piece_encoder import PieceEncoder  # noqa: E402
from tfreps._src.models.sentence_embedder import SentenceEmbedder  # noqa: E402
from tfreps._src.models.slstm_encoder import SLSTMEncoder  # noqa: E402
from tfreps._src.models.tagger import Tagger  # noqa: E402
from tfreps._src.models.text_cnn import TextCNN  # noqa: E402
from tfreps._src.models.token_embedder import TokenEmbedder  # noqa: E402
from tfreps._src.models.transformer_encoder import TransformerEncoder  # noqa: E402

__all__ = [
    "BertEncoder",
    "BertPretrainer",
    "BiLM",
    "BiLMPretrainer",
    "BiLSTMEncoder",
    "Classifier",
    "Elmo",
    "HMMTagger",
    "ManyLangsBiLM",
    "PieceEncoder",
    "SLSTMEncoder",
    "SentenceEmbedder",
    "Tagger",
    "TextCNN",
    "TokenEmbedder",
    "TransformerEncoder",
    "LinearEncoder",
]
