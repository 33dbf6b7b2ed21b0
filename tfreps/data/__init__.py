"""Reads text files into `tf.data.Dataset`s. TensorFlow is imported on first use."""

import importlib

_HOMES = {
    "CorpusCounts": "lm.corpus_counts",
    "LMBatches": "lm.lm_batches",
    "LMEpochs": "lm.lm_epochs",
    "LabelledText": "labelled.labelled_texts",
    "MaskedLMBatches": "masked_lm.masked_lm_batches",
    "SequenceBatches": "labelled.sequence_batches",
    "TaggedSentence": "labelled.tagged_sentences",
    "TextCuts": "labelled.text_cuts",
    "TokenDocuments": "masked_lm.token_documents",
    "class_counts": "labelled.splits",
    "count_corpus": "lm.corpus_counts",
    "count_tokens": "text_files",
    "describe_classes": "labelled.splits",
    "find_files": "text_files",
    "read_blocks": "text_files",
    "read_documents": "masked_lm.token_documents",
    "read_labelled": "labelled.labelled_texts",
    "read_sentences": "masked_lm.token_documents",
    "read_tagged": "labelled.tagged_sentences",
    "sentence_batches": "lm.sentence_batches",
    "stratified_split": "labelled.splits",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
