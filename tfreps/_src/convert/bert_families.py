"""Encoders that differ from BERT only in array names and options: DistilBERT and ELECTRA."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tfreps._src.convert.config_keys import Key, num_blocks, positive, share, size, token_id

ACTIVATIONS = {
    **dict.fromkeys(("gelu", "gelu_python"), "gelu"),
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_accurate"), "gelu_tanh"),
    **dict.fromkeys(("gelu_pytorch_tanh", "gelu_python_tanh"), "gelu_tanh"),
    "relu": "relu",
}


def activation_name(value: object) -> tuple[str, bool]:
    """Returns a description of valid values, and whether `value` is a supported activation.

    The description is a str for an error message.
    """
    names = ", ".join(f'"{name}"' for name in ACTIVATIONS)
    return f"one of {names}", isinstance(value, str) and value in ACTIVATIONS


class Family(NamedTuple):
    """Differences between the transformers classes of one model type and the classes of BERT.

    `title` is the name in messages, and `classes` is the prefix of the class names.

    `keys` are the config keys that are options of `BertEncoder`, and `options` are the options that
    have the same value in all models of the family. `label_dropout` and `tag_dropout` are config
    keys of the dropout rate before a label head and before a tag head: the rate is the value of the
    first key that a config contains, and otherwise the default of the last key. `without_effect`
    are further keys that do not affect an encoder's outputs.

    `parts` maps parts of the names of BERT's arrays to the corresponding parts in this family; the
    replacements are made in this order. Array names that begin with one of `heads` have no prefix
    such as "bert.". `decoder` names the second copy of the token table, which is in the masked-LM
    head. `token_biases` are names of the bias of the masked-LM head: if a file has several of them,
    the arrays must be equal, and the last one is read. `label_head` is the name of the last dense
    layer of a label head; in a tag head, this layer is always named `"classifier"`. If
    `masked_lm_activation` is `None`, the masked-LM head has the activation of the layers. Arrays
    whose names begin with one of `unused` are not read.
    """

    title: str
    model_type: str
    classes: str
    keys: tuple[Key, ...]
    options: Mapping[str, Any]
    pooler_activation: str
    label_dropout: tuple[Key, ...]
    tag_dropout: tuple[Key, ...]
    without_effect: tuple[str, ...]
    parts: Mapping[str, str]
    heads: tuple[str, ...]
    decoder: str
    token_biases: tuple[str, ...]
    label_head: str = "classifier"
    masked_lm_activation: str | None = None
    unused: tuple[str, ...] = ("qa_outputs.",)


_VOCABULARY = Key("vocab_size", "vocabulary_size", size)
_SHARED = (
    Key("max_position_embeddings", "max_sequence_length", size, 512),
    Key("initializer_range", "initializer_range", positive, 0.02),
    Key("pad_token_id", "padding_id", token_id, 0),
)
_BERT_KEYS = (
    _VOCABULARY,
    Key("hidden_size", "hidden_dim", size),
    Key("num_hidden_layers", "num_layers", num_blocks),
    Key("num_attention_heads", "num_heads", size),
    Key("intermediate_size", "intermediate_dim", size),
    Key("hidden_act", "activation", activation_name, "gelu"),
    Key("hidden_dropout_prob", "dropout", share, 0.1),
    Key("attention_probs_dropout_prob", "attention_dropout", share, 0.1),
    Key("layer_norm_eps", "layer_norm_epsilon", positive, 1e-12),
    Key("type_vocab_size", "num_segments", size, 2),
    *_SHARED,
)
_DISTILBERT_KEYS = (
    _VOCABULARY,
    Key("dim", "hidden_dim", size),
    Key("n_layers", "num_layers", num_blocks),
    Key("n_heads", "num_heads", size),
    Key("hidden_dim", "intermediate_dim", size),
    Key("activation", "activation", activation_name, "gelu"),
    Key("dropout", "dropout", share, 0.1),
    Key("attention_dropout", "attention_dropout", share, 0.1),
    *_SHARED,
)
_OWN_DROPOUT = Key("classifier_dropout", "dropout", share, None)
_BERT_DROPOUT = (_OWN_DROPOUT, Key("hidden_dropout_prob", "dropout", share, 0.1))

BERT = Family(
    title="BERT",
    model_type="bert",
    classes="Bert",
    keys=_BERT_KEYS,
    options={},
    pooler_activation="tanh",
    label_dropout=_BERT_DROPOUT,
    tag_dropout=_BERT_DROPOUT,
    without_effect=(),
    parts={},
    heads=("cls.", "classifier"),
    decoder="cls.predictions.decoder.weight",
    token_biases=("cls.predictions.decoder.bias", "cls.predictions.bias"),
)
DISTILBERT = Family(
    title="DistilBERT",
    model_type="distilbert",
    classes="DistilBert",
    keys=_DISTILBERT_KEYS,
    options={"num_segments": 0, "layer_norm_epsilon": 1e-12},
    pooler_activation="relu",
    label_dropout=(Key("seq_classif_dropout", "dropout", share, 0.2),),
    # transformers reads only `dropout` for a DistilBERT. tfreps also writes and reads
    # `classifier_dropout`, so that the rate of a tag head can differ from the encoder's rate.
    tag_dropout=(_OWN_DROPOUT, Key("dropout", "dropout", share, 0.1)),
    # Positions are stored as a table, even if they were sinusoidal when training began.
    without_effect=("sinusoidal_pos_embds", "qa_dropout", "tie_weights_"),
    parts={
        "encoder.layer.": "transformer.layer.",
        "attention.self.query": "attention.q_lin",
        "attention.self.key": "attention.k_lin",
        "attention.self.value": "attention.v_lin",
        "attention.output.dense": "attention.out_lin",
        "attention.output.LayerNorm": "sa_layer_norm",
        "intermediate.dense": "ffn.lin1",
        "output.dense": "ffn.lin2",
        "output.LayerNorm": "output_layer_norm",
        "pooler.dense": "pre_classifier",
        "cls.predictions.transform.dense": "vocab_transform",
        "cls.predictions.transform.LayerNorm": "vocab_layer_norm",
    },
    heads=("pre_classifier", "classifier", "vocab_"),
    decoder="vocab_projector.weight",
    token_biases=("vocab_projector.bias",),
)
ELECTRA = Family(
    title="ELECTRA",
    model_type="electra",
    classes="Electra",
    keys=(*_BERT_KEYS, Key("embedding_size", "embedding_dim", size, 128)),
    options={},
    pooler_activation="gelu",
    label_dropout=_BERT_DROPOUT,
    tag_dropout=_BERT_DROPOUT,
    without_effect=(  # these keys belong to the multiple choice head
        "summary_type",
        "summary_use_proj",
        "summary_activation",
        "summary_first_dropout",
        "summary_last_dropout",
    ),
    parts={
        "pooler.dense": "classifier.dense",
        "cls.predictions.transform": "generator_predictions",
    },
    heads=("classifier", "generator_"),
    decoder="generator_lm_head.weight",
    token_biases=("generator_lm_head.bias",),
    label_head="classifier.out_proj",
    masked_lm_activation="gelu",
    # Arrays of the heads that detect replaced tokens, choose one of several texts, and answer
    # questions.
    unused=("discriminator_predictions.", "sequence_summary.", "qa_outputs."),
)
FAMILIES = {family.model_type: family for family in (BERT, DISTILBERT, ELECTRA)}
# Other model types, and how they differ from BERT.
OTHER_TYPES = {
    "albert": "all of its layers share their weights",
    "big_bird": "its attention is sparse",
    "camembert": "it has SentencePiece tokens, and its positions start after the padding id",
    "convbert": "its attention contains convolutions",
    "deberta": "its attention uses relative positions",
    "deberta-v2": "its attention uses relative positions",
    "funnel": "it shortens the sequence between layers",
    "longformer": "its attention is limited to windows",
    "mobilebert": "its layers have bottlenecks",
    "modernbert": "it has rotary positions",
    "mpnet": "its attention uses relative positions",
    "nomic_bert": "it has rotary positions",
    "roberta": "it has byte-level BPE tokens, and its positions start after the padding id",
    "roformer": "it has rotary positions",
    "squeezebert": "its dense layers are grouped convolutions",
    "xlm": "it has BPE tokens and language embeddings",
    "xlm-roberta": "it has SentencePiece tokens, and its positions start after the padding id",
    "xlnet": "its attention uses relative positions",
}


def family_in(config: Mapping[str, Any], source: str) -> Family:
    """Returns the family that `model_type` in a config names, or BERT if the key is missing."""
    given = config.get("model_type", BERT.model_type)
    if not isinstance(given, str) or given not in FAMILIES:
        reason = OTHER_TYPES.get(given) if isinstance(given, str) else None
        raise ValueError(
            f"{source}: `model_type` must be {' or '.join(map(repr, FAMILIES))} for BertEncoder; "
            f"got {given!r}" + (f", which is not supported: {reason}." if reason else ".")
        )
    return FAMILIES[given]


def family_for(options: Mapping[str, Any]) -> Family:
    """Returns the model family in which an encoder is written for transformers.

    `options` is the config of the `BertEncoder`. This function does not check whether the family
    supports all of these options.
    """
    if not options["num_segments"]:
        return DISTILBERT
    if table_dim(options) != options["hidden_dim"]:
        return ELECTRA
    return ELECTRA if options["pooler_activation"] == ELECTRA.pooler_activation else BERT


def table_dim(options: Mapping[str, Any]) -> int:
    """Returns the width of the token, position and segment tables of a `BertEncoder`."""
    return options.get("embedding_dim") or options["hidden_dim"]
