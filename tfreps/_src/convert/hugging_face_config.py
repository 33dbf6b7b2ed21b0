"""Converts Hugging Face and Google configs to options of `BertEncoder` and back."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tfreps._src.convert.bert_families import (
    ACTIVATIONS,
    BERT,
    DISTILBERT,
    family_for,
    family_in,
    table_dim,
)
from tfreps._src.convert.config_keys import value_of

STDDEV = 0.02  # default standard deviation of the initial weights of a `BertEncoder`
# Keys that can select another network, with the values that select the supported network.
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
# Keys that are read together with a label or tag head.
OF_HEADS = set("id2label num_labels problem_type classifier_dropout tie_word_embeddings".split())
# Keys that do not affect an encoder's outputs: names, precision of the file, text generation,
# the outputs that transformers returns, and sizes of a pooler that Google's code does not have.
WITHOUT_EFFECT = set(
    """
    _name_or_path name name_or_path architectures transformers_version torch_dtype dtype
    torchscript use_bfloat16 tf_legacy_loss language label2id finetuning_task
    task_specific_params tokenizer_class prefix use_cache gradient_checkpointing
    chunk_size_feed_forward output_past output_attentions output_hidden_states return_dict
    sentence_transformers _attn_implementation _attn_implementation_autoset attn_implementation
    bos_token_id eos_token_id eos_token_ids sep_token_id cls_token_id mask_token_id unk_token_id
    decoder_start_token_id do_lower_case max_length min_length do_sample early_stopping
    num_beams num_beam_groups diversity_penalty temperature top_k top_p typical_p
    repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size
    bad_words_ids num_return_sequences output_scores return_dict_in_generate forced_bos_token_id
    forced_eos_token_id remove_invalid_values exponential_decay_length_penalty suppress_tokens
    begin_suppress_tokens use_return_dict xla_device model_max_length pad_token
    sbert_ce_default_activation_function pooler_fc_size pooler_num_attention_heads
    pooler_num_fc_layers pooler_size_per_head _num_labels tfreps
    """.split()
)


def encoder_options(config: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Converts a config to the options of `BertEncoder`, except `pooler`.

    Raises:
        ValueError: If a key is missing or unknown, has an invalid value, or selects a different
            network.
    """
    family = family_in(config, source)
    for key, accepted in OTHER_NETWORKS.items():
        if key in config and config[key] not in accepted:
            raise ValueError(
                f"{source}: `{key}` must be {' or '.join(repr(value) for value in accepted)} for "
                f"BertEncoder; got {config[key]!r}."
            )
    theirs = {key.ours: key.theirs for key in family.keys}
    known = {"model_type", *theirs.values(), *family.without_effect}
    known |= {key.theirs for key in (*family.label_dropout, *family.tag_dropout)}
    unknown = sorted(set(config) - known - set(OTHER_NETWORKS) - OF_HEADS - WITHOUT_EFFECT)
    if unknown:
        raise ValueError(
            f"{source}: these keys are not supported: {', '.join(unknown)}. Remove them from the "
            "file if they do not change the network."
        )
    options = {key.ours: value_of(config, key, source) for key in family.keys}
    options["activation"] = ACTIVATIONS[options["activation"]]
    options["padding_id"] = options["padding_id"] or 0
    if options["padding_id"] >= options["vocabulary_size"]:
        raise ValueError(
            f"{source}: `pad_token_id` must be below `vocab_size`; got {options['padding_id']} "
            f"and {options['vocabulary_size']}. Use the original file."
        )
    if options["hidden_dim"] % options["num_heads"]:
        raise ValueError(
            f"{source}: `{theirs['num_heads']}` must divide `{theirs['hidden_dim']}`; got "
            f"{options['num_heads']} and {options['hidden_dim']}. Use the original file."
        )
    stddev = options.pop("initializer_range")
    if stddev != STDDEV:
        normal = {"class_name": "TruncatedNormal", "config": {"stddev": stddev}}
        options |= {"embeddings_initializer": normal, "kernel_initializer": normal}
    fixed = {"normalize_first": False, "positions": "learned", "normalize_positions": False}
    if family is not BERT:
        fixed["pooler_activation"] = family.pooler_activation
    return {**options, **family.options, **fixed}


def label_names(config: Mapping[str, Any], count: int, source: str) -> list[str]:
    """Returns the names of `count` labels in the order of their ids.

    If the config has no `id2label`, the names are LABEL_0, LABEL_1 and so on. `id2label` may be a
    list of names or a JSON object that maps ids to names.
    """
    names = config.get("id2label")
    if names is None:
        if config.get("num_labels", count) != count:
            raise ValueError(
                f"{source}: `num_labels` must be {count}, the number of labels of the head; got "
                f"{config['num_labels']!r}. Use the original file."
            )
        return [f"LABEL_{number}" for number in range(count)]
    if isinstance(names, list):
        names = {str(number): name for number, name in enumerate(names)}
    expected = {str(number) for number in range(count)}
    if not isinstance(names, dict) or set(names) != expected:
        got = sorted(names) if isinstance(names, dict) else names
        raise ValueError(
            f"{source}: `id2label` must name the labels 0 to {count - 1}, because the head has "
            f"{count} labels; got {got}. Use the original file."
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


def head_dropout(config: Mapping[str, Any], source: str, tags: bool = False) -> float:
    """Returns the dropout rate before a label head or, if `tags` is True, before a tag head."""
    family = family_in(config, source)
    *first, last = family.tag_dropout if tags else family.label_dropout
    key = next((key for key in first if config.get(key.theirs) is not None), last)
    return value_of(config, key, source)


def as_json(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the Hugging Face config for the options of a `BertEncoder`.

    Sinusoidal positions are described as a learned table of `max_sequence_length` vectors. The
    model type is DistilBERT if the encoder has no segment table, ELECTRA if `embedding_dim` differs
    from `hidden_dim` or the pooler has ELECTRA's activation, and otherwise BERT.

    Raises:
        ValueError: If the model type of transformers does not support the value of an option.
    """
    family = family_for(options)
    needed = {"normalize_first": False, **family.options}
    if options["pooler"]:
        needed["pooler_activation"] = family.pooler_activation
    if family is DISTILBERT:
        needed["embedding_dim"] = options["hidden_dim"]
    for name, value in needed.items():
        given = table_dim(options) if name == "embedding_dim" else options[name]
        if given != value:
            raise ValueError(
                f"`{name}` must be {value!r} for Hugging Face's {family.title}; this encoder was "
                f"created with {name}={given!r}. Use `model.save` instead."
            )
    theirs = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}
    activation = options["activation"]
    if not isinstance(activation, str) or activation not in theirs:
        raise ValueError(
            f"`activation` must be one of {', '.join(theirs)} for Hugging Face's {family.title}; "
            f"this encoder was created with {activation!r}. Use `model.save` instead."
        )
    values = {
        **options,
        "activation": theirs[activation],
        "intermediate_dim": options["intermediate_dim"] or 4 * options["hidden_dim"],
        "embedding_dim": table_dim(options),
        "initializer_range": _stddev_of(options["kernel_initializer"]),
    }
    config = {key.theirs: values[key.ours] for key in family.keys}
    about = {"model_type": family.model_type, "dtype": "float32"}
    return {**about, **config, "tie_word_embeddings": True}


def _stddev_of(initializer: object) -> float:
    """Returns the standard deviation of a truncated normal initializer, or `STDDEV` for others."""
    config = initializer if isinstance(initializer, Mapping) else {}
    if config.get("class_name") != "TruncatedNormal":
        return STDDEV
    return config["config"].get("stddev", 0.05)  # 0.05 is the default of Keras
