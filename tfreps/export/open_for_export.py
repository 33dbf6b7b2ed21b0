"""open_for_export: a trained model with the signatures that an export of it has."""

from tfreps.export.bert_signatures import BertSignatures
from tfreps.export.bilm_signatures import BiLMSignatures
from tfreps.export.labelling_signatures import TextSignatures
from tfreps.inference.load import load
from tfreps.inference.loaded_model import LoadedModel
from tfreps.inference.text_bert import TextBert
from tfreps.inference.text_bilm import TextBiLM
from tfreps.models import BiLMPretrainer


def open_for_export(source, explain=False, core_ops=True, **options):
    """Opens a trained model, for `write_export` to write.

    Args:
        source: path of a model, as `tfreps.load` takes it, or what that returned: `TextTagger`,
            `TextClassifier`, `TextBiLM` or `TextBert`, which also take Keras models made here.
        explain: bool. Whether there is a signature `explain`, with more about the answers.
        core_ops: bool. Whether the export needs TensorFlow alone. If False, an operation of
            TensorFlow Text cuts the texts of a BERT, which is faster.
        **options: of `tfreps.load`, such as `initial_state`.

    Returns:
        `BiLMSignatures`, `BertSignatures` or `TextSignatures`.

    Raises:
        ValueError: what `tfreps.load` raises, or the model cannot be exported so.

    Example:
    >>> import tempfile
    >>> import tensorflow as tf
    >>> from tfreps.export import open_for_export, write_export
    >>> from tfreps.models import BiLM
    >>> bilm = TextBiLM(BiLM(filters=[[1, 8]], units=8, projection_dim=4))
    >>> written = write_export(open_for_export(bilm), tempfile.mkdtemp() + "/elmo")
    >>> list(written.functions)
    ['default', 'serving_default', 'tokens', 'character_ids']
    >>> answer = tf.saved_model.load(str(written.folder)).signatures["default"]
    >>> answer(text=tf.constant(["I have a dog"]))["elmo"].shape
    TensorShape([1, 4, 8])
    """
    loaded = source if isinstance(source, LoadedModel) else load(source, **options)
    if isinstance(loaded, TextBiLM):
        if not core_ops:
            raise ValueError("TensorFlow Text cuts texts of a BERT; a biLM reads whole tokens.")
        if isinstance(loaded.model, BiLMPretrainer) and loaded.vocabulary is None:
            raise ValueError(
                f"{loaded.source} holds a language model but no vocabulary.txt, without which it "
                "cannot score: put the vocabulary back that it was trained with."
            )
        return BiLMSignatures(loaded, explain)
    kind = BertSignatures if isinstance(loaded, TextBert) else TextSignatures
    return kind(loaded, explain, core_ops)
