"""Files to `tf.data.Dataset`s; importing it loads no TensorFlow until a pipeline is named."""

import importlib

_HOMES = {
    "CorpusCounts": "corpus_counts",
    "LMBatches": "lm_batches",
    "LabelledText": "labelled",
    "MaskedLMBatches": "masked_lm",
    "SequenceBatches": "sequence_batches",
    "TaggedSentence": "tagged",
    "TextCuts": "text_cuts",
    "TokenDocuments": "token_documents",
    "class_counts": "splits",
    "count_corpus": "corpus_counts",
    "count_tokens": "text_files",
    "describe_classes": "splits",
    "find_files": "text_files",
    "read_blocks": "text_files",
    "read_documents": "token_documents",
    "read_labelled": "labelled",
    "read_sentences": "token_documents",
    "read_tagged": "tagged",
    "sentence_batches": "sentences",
    "stratified_split": "splits",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        module = importlib.import_module(f"tfreps.data.{_HOMES[name]}")
        value = getattr(module, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
