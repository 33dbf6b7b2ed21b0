"""open_for_export: opens a trained model with the signatures of its export."""

import os
from typing import Any

from tfreps._src.export.bert_signatures import BertSignatures
from tfreps._src.export.bilm_signatures import BiLMSignatures
from tfreps._src.export.embedder_signatures import EmbedderSignatures
from tfreps._src.export.labeling_signatures import TextSignatures
from tfreps._src.export.portable_model import model_of
from tfreps._src.export.signature_base import Signatures
from tfreps._src.inference.loaded_model import LoadedModel
from tfreps._src.inference.model_loading import load_model
from tfreps._src.inference.text_bert import TextBert
from tfreps._src.inference.text_bilm import TextBiLM
from tfreps._src.inference.text_embedder import TextEmbedder
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.runs.run_card import run_card


def open_for_export(
    source: str | os.PathLike[str] | LoadedModel,
    explain: bool = False,
    core_ops: bool = True,
    **options: Any,
) -> Signatures:
    """Opens a trained model for `write_export`.

    Args:
        source: str, path-like or loaded model. Path of a model for `tfreps.load`; or a
            `TextTagger`, `TextClassifier`, `TextEmbedder`, `TextBiLM` or `TextBert`, each of which
            can also wrap a Keras model in memory.
        explain: bool. Whether to add the signature `explain`, which also returns attention, and
            scores of tags, labels or tokens, as far as the model has them. Defaults to `False`.
        core_ops: bool. Whether the export uses only core TensorFlow operations. If `False`, an
            operation of TensorFlow Text tokenizes the texts for a BERT model, which is faster.
            Defaults to `True`.
        **options: Options of `tfreps.load`, such as `initial_state`, if `source` is a path.

    Returns:
        `Signatures`. The signatures of the model, which `write_export`, `write_portable_export`,
        `weight_changes` and `check_export` take.

    Raises:
        ValueError: If `source` is neither a path nor a loaded model, if `options` are given for a
            loaded model, or if the model cannot be loaded or cannot be exported with these options.

    Example:
    >>> import tempfile
    >>> import tensorflow as tf
    >>> from tfreps.export import open_for_export, write_export
    >>> from tfreps.models import BiLM
    >>> bilm = TextBiLM(BiLM(filters=[[1, 8]], units=8, projection_dim=4))
    >>> written = write_export(open_for_export(bilm), tempfile.mkdtemp() + "/elmo")
    >>> list(written.functions)
    ['default', 'serving_default', 'tokens', 'character_ids', 'vectors']
    >>> call = tf.saved_model.load(str(written.folder)).signatures["default"]
    >>> call(text=tf.constant(["I have a dog"]))["elmo"].shape
    TensorShape([1, 4, 8])
    """
    loaded = load_model(source, **options) if isinstance(source, str | os.PathLike) else source
    if not isinstance(loaded, LoadedModel):
        raise ValueError(
            "`source` must be the path of a model for `tfreps.load`, or a TextTagger, "
            f"TextClassifier, TextEmbedder, TextBiLM or TextBert; got a {type(source).__name__}. "
            "Pass a model in memory as `TextTagger(model, indexer)`, `TextClassifier(model, "
            "indexer)`, `TextEmbedder(model, indexer)`, `TextBiLM(model, vocabulary)` or "
            "`TextBert(model, tokenizer)` from `tfreps.inference`. For a Keras model that takes "
            "tensors, use `model.export(folder)`."
        )
    if loaded is source and options:
        raise ValueError(
            f"The options {', '.join(f'`{name}`' for name in options)} apply only if `source` "
            f"is a path; got a {type(source).__name__}. Omit them."
        )
    if type(loaded) is LoadedModel:
        raise ValueError(
            f"{loaded.source} contains a {type(loaded.model).__name__} without the vocabulary or "
            "tokenizer that it needs to read text. Add the missing file, or export the Keras model "
            "with `model.export(folder)`."
        )
    if isinstance(loaded, TextBiLM):
        if not core_ops:
            raise ValueError(
                "`core_ops=False` applies only to BERT models; a biLM reads whole tokens. Omit "
                "`core_ops=False`."
            )
        if isinstance(loaded.model, BiLMPretrainer) and loaded.vocabulary is None:
            raise ValueError(
                f"{loaded.source or '`source`'} contains a language model but no vocabulary.txt, "
                "which scoring needs. Restore the vocabulary.txt that the model was trained with. "
                "For a model in memory, pass `TextBiLM(model, vocabulary)`."
            )
        signatures: Signatures = BiLMSignatures(loaded, explain)
    else:
        kinds = {TextBert: BertSignatures, TextEmbedder: EmbedderSignatures}
        signatures = kinds.get(type(loaded), TextSignatures)(loaded, explain, core_ops)
    signatures.known = {} if loaded.run is None else run_card(loaded.run)
    if signatures.reads_text:
        signatures.description = model_of(signatures).description()
    return signatures
