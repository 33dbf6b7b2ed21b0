from ._src.convert.bert_checkpoint import Checkpoint as Checkpoint
from ._src.convert.transition_scores import TransitionScores as TransitionScores
from ._src.convert.transition_scores import read_transition_scores as read_transition_scores
