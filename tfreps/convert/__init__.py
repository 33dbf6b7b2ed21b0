"""Converters between checkpoints of other libraries and the weights of tfreps."""

from tfreps.convert import bert_checkpoint, bilm_files, hugging_face
from tfreps.convert.bert_checkpoint import Checkpoint
from tfreps.convert.bert_files import is_checkpoint, open_checkpoint
from tfreps.convert.model_cards import write_model_card
from tfreps.models.registry import register_converter

__all__ = ["Checkpoint", "is_checkpoint", "open_checkpoint"]


def _read_with(read):
    """Returns a function that opens the checkpoint at a path and reads a model from it."""

    def read_path(path, *args, **options):
        return read(open_checkpoint(path), *args, **options)

    return read_path


def _with_card(write):
    """Returns a function that writes a model into a folder, with its model card."""

    def write_folder(model, folder, *args):
        write(model, folder, *args)
        write_model_card(model, folder)

    return write_folder


for _model, _read, _write in (
    ("BertEncoder", bert_checkpoint.read_encoder, hugging_face.write_model),
    ("BertPretrainer", bert_checkpoint.read_pretrainer, hugging_face.write_model),
    ("Classifier", bert_checkpoint.read_classifier, hugging_face.write_model),
    ("Tagger", bert_checkpoint.read_tagger, hugging_face.write_model),
):
    register_converter(_model, "pretrained", _read_with(_read), _with_card(_write))
register_converter("BiLM", "pretrained", bilm_files.read, _with_card(bilm_files.write))
