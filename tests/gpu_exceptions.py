"""Operations without a GPU kernel that are known and run on the CPU, each with its reason."""

from typing import NamedTuple

from tests.exported_models import MAKERS


class OnCPU(NamedTuple):
    """Operation without a GPU kernel: where it occurs, and the reason.

    Args:
        reason: str. Tensor that it computes.
        calls: tuple of names of the catalogue whose call or gradient contains it.
        steps: tuple of names of `gpu_graphs.TRAINED` that contain it in a step of `fit`,
            `evaluate` or `predict`.
        float16: tuple of such names that contain it under the policy `mixed_float16` only.
        exports: tuple of names of `exported_models.MAKERS` that contain it in a signature of their
            export.
    """

    reason: str
    calls: tuple = ()
    steps: tuple = ()
    float16: tuple = ()
    exports: tuple = ()


# In the numeric path: each of these costs a copy to the CPU and back in every step or call.
IN_MODELS = {
    "UniqueV2 T=int32 Taxis=int32 out_idx=int32": OnCPU(
        "distinct tokens of character ids, which are encoded once",
        calls=(
            *("CharCNNEncoder", "CharLSTMEncoder", "BiLM", "Elmo", "Tagger, on an Elmo"),
            *("WordCharCNNEncoder", "ManyLangsBiLM", "Elmo, on a ManyLangsBiLM"),
            *("TokenEmbedder", "TokenEmbedder, BiLSTM"),
        ),
        steps=("BiLMPretrainer, characters", "Tagger, on an Elmo"),
        exports=(
            *("BiGRUEncoder", "BiLM", "BiLMPretrainer", "BiLSTMEncoder", "Classifier", "Elmo"),
            *("ManyLangsBiLM", "SLSTMEncoder"),
            *("SentenceEmbedder", "Tagger", "TextCNN", "TokenEmbedder", "TransformerEncoder"),
        ),
    ),
    "RaggedGather Tindices=int64 Tsplits=int64 Tvalues=int32": OnCPU(
        "piece ids of each text; in exports also those of each word",
        exports=("BertEncoder", "BertPretrainer", "PieceEncoder"),
    ),
    "RaggedTensorToTensor T=int32 Tindex=int64 Tshape=int64": OnCPU(
        "piece ids with padding; ids of the characters of each token",
        exports=("BertEncoder", "BertPretrainer", "ManyLangsBiLM", "PieceEncoder"),
    ),
    "UnsortedSegmentSum T=int64 Tindices=int32 Tnumsegments=int32": OnCPU(
        "counts of spans in `SpanF1`, in evaluation only",
        steps=("Tagger", "Tagger, CRF", "Tagger, CRF under XLA", "Tagger, on an Elmo"),
    ),
    "TensorScatterUpdate T=bool Tindices=int32": OnCPU(
        "rows of a sparse gradient that Keras's LossScaleOptimizer checks for overflow",
        float16=(
            *("BiLMPretrainer", "Classifier", "Classifier, on a BiLM", "Tagger", "Tagger, CRF"),
            "Tagger, CRF under XLA",
        ),
    ),
    "TensorScatterUpdate T=bool Tindices=int64": OnCPU(
        "the same, for int64 rows; in exports, which pieces are known",
        float16=("BiLMPretrainer", "BiLMPretrainer, characters"),
        exports=("BertEncoder", "PieceEncoder"),
    ),
}
# In exports only: what the tokenization, which works on strings, computes in integers.
IN_SIGNATURES = {
    "DenseBincount T=int64 Tidx=int32": OnCPU("tokens of each text", exports=tuple(MAKERS)),
    "Fill T=int32 index_type=int64": OnCPU("unknown words", exports=("PieceEncoder",)),
    "RaggedGather Tindices=int32 Tsplits=int64 Tvalues=int32": OnCPU(
        "pieces of distinct words", exports=("BertEncoder", "PieceEncoder")
    ),
    "RaggedRange T=int64 Tsplits=int64": OnCPU(
        "positions of pieces", exports=("BertEncoder", "BertPretrainer")
    ),
    "UnsortedSegmentSum T=int64 Tindices=int64 Tnumsegments=int32": OnCPU(
        "characters of each text", exports=("BertPretrainer",)
    ),
}


def expected(place, name):
    """Returns the operations that are known to run on the CPU.

    Args:
        place: `"calls"`, `"steps"`, `"float16"` or `"exports"`. A field of `OnCPU`.
        name: str. Name of an entry or model.
    """
    known = {**IN_MODELS, **IN_SIGNATURES}
    return {operation for operation, where in known.items() if name in getattr(where, place)}
