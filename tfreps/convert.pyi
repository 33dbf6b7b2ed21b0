from ._src.convert.bert_checkpoint import Checkpoint as Checkpoint
