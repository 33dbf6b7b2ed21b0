"""Keys of Hugging Face configs: their valid values, and those that do not affect an encoder."""

import math
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


def size(value):
    """Checks a size of the network."""
    return f"a whole number from 1 to {LARGEST}", _is_int(value) and 1 <= value <= LARGEST


def num_blocks(value):
    """Checks the number of blocks."""
    return "a whole number from 1 to 1024", _is_int(value) and 1 <= value <= 1024


def share(value):
    """Checks a dropout rate."""
    return "a number in [0, 1)", _is_number(value) and 0 <= value < 1


def positive(value):
    """Checks a positive number."""
    return "a positive number", _is_number(value) and 0 < value < math.inf


def token_id(value):
    """Checks a token id, which may be absent."""
    return "an id or null", value is None or _is_int(value) and 0 <= value < LARGEST


def activation_name(value):
    """Checks the name of an activation."""
    names = ", ".join(f'"{name}"' for name in ACTIVATIONS)
    return f"one of {names}", isinstance(value, str) and value in ACTIVATIONS


# Keys that can select another network, with the values that select the supported one.
OTHER_NETWORKS = {
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
    "tfreps",
}


def value_of(config: Mapping, key: Key, source: str):
    """Returns the value of a key in a config, or its default value.

    Args:
        config: dict. Content of the config file.
        key: `Key`. The key.
        source: str. Name of the file in error messages.

    Raises:
        ValueError: If the key is required and missing, or if its value is invalid.
    """
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
