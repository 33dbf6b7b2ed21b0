"""Converts Hugging Face and Google configs to options of `BertEncoder` and back."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

# Upper bound for all sizes, which are read before the weights and may be wrong.
LARGEST = 1 << 24
REQUIRED = object()
ACTIVATIONS = {
    **dict.fromkeys(("gelu", "gelu_python"), "gelu"),
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_accurate"), "gelu_tanh"),
    **dict.fromkeys(("gelu_pytorch_tanh", "gelu_python_tanh"), "gelu_tanh"),
    "relu": "relu",
}


class Key(NamedTuple):
    """A key of a config, the matching option of `BertEncoder`, and the default value.

    `check` maps a value to a tuple `(expected, good)`: a description of valid values, and whether
    this value is valid.
    """

    theirs: str
    ours: str
    check: Callable
    default: object = REQUIRED


def _size(value):
    return f"a whole number from 1 to {LARGEST}", _is_int(value) and 1 <= value <= LARGEST


def _blocks(value):
    return "a whole number from 1 to 1024", _is_int(value) and 1 <= value <= 1024


def _share(value):
    return "a number in [0, 1)", _is_number(value) and 0 <= value < 1


def _positive(value):
    return "a positive number", _is_number(value) and 0 < value < math.inf


def _id(value):
    return "an id or null", value is None or _is_int(value) and 0 <= value < LARGEST


def _activation(value):
    names = ", ".join(f'"{name}"' for name in ACTIVATIONS)
    return f"one of {names}", isinstance(value, str) and value in ACTIVATIONS


KEYS = (
    Key("vocab_size", "vocabulary_size", _size),
    Key("hidden_size", "hidden_dim", _size),
    Key("num_hidden_layers", "num_layers", _blocks),
    Key("num_attention_heads", "num_heads", _size),
    Key("intermediate_size", "intermediate_dim", _size),
    Key("hidden_act", "activation", _activation, "gelu"),
    Key("hidden_dropout_prob", "dropout", _share, 0.1),
    Key("attention_probs_dropout_prob", "attention_dropout", _share, 0.1),
    Key("layer_norm_eps", "layer_norm_epsilon", _positive, 1e-12),
    Key("max_position_embeddings", "max_positions", _size, 512),
    Key("type_vocab_size", "num_segments", _size, 2),
    Key("initializer_range", "initializer_range", _positive, 0.02),
    Key("pad_token_id", "padding_id", _id, 0),
)
# Keys that can select another network, with the values that select the supported one.
OTHER_NETWORKS = {
    "model_type": ("bert",),
    "position_embedding_type": ("absolute",),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "cross_attention_hidden_size": (None,),
    "is_encoder_decoder": (False,),
    "tie_encoder_decoder": (False,),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
    "auto_map": (None,),
    "directionality": ("bidi",),
    "pooler_type": ("first_token_transform",),
}
# Keys that are read with a head.
OF_HEADS = {
    "id2label",
    "num_labels",
    "problem_type",
    "classifier_dropout",
    "tie_word_embeddings",
}
# Keys that do not affect an encoder's outputs: names, precision of the file, text generation,
# the outputs that transformers returns, and sizes of a pooler that Google's code does not have.
WITHOUT_EFFECT = {
    "_name_or_path",
    "name",
    "name_or_path",
    "architectures",
    "transformers_version",
    "torch_dtype",
    "dtype",
    "torchscript",
    "use_bfloat16",
    "tf_legacy_loss",
    "language",
    "label2id",
    "finetuning_task",
    "task_specific_params",
    "tokenizer_class",
    "prefix",
    "use_cache",
    "gradient_checkpointing",
    "chunk_size_feed_forward",
    "output_past",
    "output_attentions",
    "output_hidden_states",
    "return_dict",
    "sentence_transformers",
    "_attn_implementation",
    "_attn_implementation_autoset",
    "attn_implementation",
    "bos_token_id",
    "eos_token_id",
    "eos_token_ids",
    "sep_token_id",
    "cls_token_id",
    "mask_token_id",
    "unk_token_id",
    "decoder_start_token_id",
    "do_lower_case",
    "max_length",
    "min_length",
    "do_sample",
    "early_stopping",
    "num_beams",
    "num_beam_groups",
    "diversity_penalty",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
    "repetition_penalty",
    "length_penalty",
    "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size",
    "bad_words_ids",
    "num_return_sequences",
    "output_scores",
    "return_dict_in_generate",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "remove_invalid_values",
    "exponential_decay_length_penalty",
    "suppress_tokens",
    "begin_suppress_tokens",
    "use_return_dict",
    "xla_device",
    "model_max_length",
    "pad_token",
    "sbert_ce_default_activation_function",
    "pooler_fc_size",
    "pooler_num_attention_heads",
    "pooler_num_fc_layers",
    "pooler_size_per_head",
    "_num_labels",
}


def encoder_options(config: Mapping, source: str) -> dict:
    """Converts a config to the options of `BertEncoder`, except `pooler`.

    Args:
        config: dict. Content of the config file.
        source: str. Name of the file in error messages.

    Raises:
        ValueError: If a key is missing or unknown, has an invalid value, or selects a different
            network.
    """
    for key, accepted in OTHER_NETWORKS.items():
        if key in config and config[key] not in accepted:
            raise ValueError(
                f"{source}: `{key}` must be {' or '.join(repr(value) for value in accepted)} for "
                f"BertEncoder; got {config[key]!r}."
            )
    known = {key.theirs for key in KEYS} | set(OTHER_NETWORKS) | OF_HEADS | WITHOUT_EFFECT
    unknown = sorted(set(config) - known)
    if unknown:
        raise ValueError(
            f"{source}: these keys are not supported: {', '.join(unknown)}. Remove them from the "
            "file if they do not change the network."
        )
    options = {key.ours: _value(config, key, source) for key in KEYS}
    options["activation"] = ACTIVATIONS[options["activation"]]
    options["padding_id"] = options["padding_id"] or 0
    if options["padding_id"] >= options["vocabulary_size"]:
        raise ValueError(
            f"{source}: `pad_token_id` must be below `vocab_size`; got {options['padding_id']} "
            f"and {options['vocabulary_size']}."
        )
    if options["hidden_dim"] % options["num_heads"]:
        raise ValueError(
            f"{source}: `num_attention_heads` must divide `hidden_size`; got "
            f"{options['num_heads']} and {options['hidden_dim']}."
        )
    fixed = {"normalization": "post", "positions": "learned", "normalize_positions": False}
    return {**options, **fixed}


def label_names(config: Mapping, count: int, source: str) -> list[str]:
    """Returns the names of `count` labels in the order of their ids.

    If the config has no `id2label`, the names are LABEL_0, LABEL_1 and so on.

    Raises:
        ValueError: If `id2label` does not name exactly the labels 0 to `count` - 1, if a name is
            not unique, is empty, or contains a line break or a tab, or if there is no `id2label`
            and `num_labels` differs from `count`.
    """
    names = config.get("id2label")
    if names is None:
        if config.get("num_labels", count) != count:
            raise ValueError(
                f"{source}: `num_labels` must be {count}, the number of labels of the head; got "
                f"{config['num_labels']!r}."
            )
        return [f"LABEL_{number}" for number in range(count)]
    expected = {str(number) for number in range(count)}
    if not isinstance(names, dict) or set(names) != expected:
        got = sorted(names) if isinstance(names, dict) else names
        raise ValueError(
            f"{source}: `id2label` must name the labels 0 to {count - 1}, because the head has "
            f"{count} labels; got {got}."
        )
    found = [str(names[str(number)]) for number in range(count)]
    numbers = Counter(found)
    wrong = [n for n in found if numbers[n] > 1 or n.splitlines() != [n] or "\t" in n]
    if wrong:
        raise ValueError(
            f"{source}: `id2label` must give each label a unique name that is not empty and "
            f"contains no line break or tab; got {', '.join(map(repr, wrong))}. Change these names."
        )
    return found


def head_dropout(config: Mapping, source: str) -> float:
    """Returns the dropout before a label head, which defaults to the encoder's dropout."""
    own = Key("classifier_dropout", "dropout", _share, None)
    if config.get(own.theirs) is None:
        own = own._replace(theirs="hidden_dropout_prob", default=0.1)
    return _value(config, own, source)


def as_json(options: Mapping) -> dict:
    """Returns the Hugging Face config for the options of a `BertEncoder`.

    Sinusoidal positions are described as a learned table of `max_positions` vectors.

    Raises:
        ValueError: If Hugging Face's BERT does not support one of the options.
    """
    if options["normalization"] != "post":
        raise ValueError(
            '`normalization` must be "post" for Hugging Face\'s BERT; this encoder was created '
            f"with normalization={options['normalization']!r}. Use `model.save` instead."
        )
    theirs = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}
    activation = options["activation"]
    if not isinstance(activation, str) or activation not in theirs:
        raise ValueError(
            f"`activation` must be one of {', '.join(theirs)} for Hugging Face's BERT; this "
            f"encoder was created with {activation!r}. Use `model.save` instead."
        )
    config = {key.theirs: options[key.ours] for key in KEYS}
    config["hidden_act"] = theirs[activation]
    config["intermediate_size"] = options["intermediate_dim"] or 4 * options["hidden_dim"]
    if config["initializer_range"] is None:
        del config["initializer_range"]
    return {"model_type": "bert", "dtype": "float32", **config, "tie_word_embeddings": True}


def _value(config: Mapping, key: Key, source: str):
    value = config.get(key.theirs, key.default)
    expected, good = key.check(value)
    if value is REQUIRED:
        raise ValueError(f"{source}: `{key.theirs}` is missing; expected {expected}.")
    if not good:
        raise ValueError(f"{source}: `{key.theirs}` must be {expected}; got {value!r}.")
    return value


def _is_int(value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
