"""config.json: each key is supported, or an error names it."""

import pytest

from tfreps._src.convert import hugging_face_config
from tfreps._src.convert.hugging_face_config import encoder_options, head_dropout, label_names
from tfreps.models import BertEncoder

# A config by transformers 5, with further keys of google-bert/bert-base-chinese and others.
CONFIG = {
    **{"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2},
    **{"intermediate_size": 12, "model_type": "bert", "architectures": ["BertForMaskedLM"]},
    **{"hidden_act": "gelu", "is_decoder": False, "add_cross_attention": False},
    **{"position_embedding_type": "absolute", "torch_dtype": "float32", "use_cache": True},
    **{"pooler_type": "first_token_transform", "pooler_fc_size": 768, "directionality": "bidi"},
    **{"transformers_version": "4.6.0", "gradient_checkpointing": False, "pruned_heads": {}},
}


def test_every_key_has_its_option():
    changes = {
        **{"hidden_dropout_prob": 0.2, "attention_probs_dropout_prob": 0.3, "pad_token_id": 3},
        **{"layer_norm_eps": 1e-5, "max_position_embeddings": 7, "type_vocab_size": 4},
        "initializer_range": 0.5,
    }
    options = encoder_options({**CONFIG, **changes}, "config.json")
    normal = {"class_name": "TruncatedNormal", "config": {"stddev": 0.5}}
    assert options == {
        **{
            "vocabulary_size": 9,
            "hidden_dim": 8,
            "num_layers": 2,
            "num_heads": 2,
            "layer_norm_epsilon": 1e-5,
        },
        **{"intermediate_dim": 12, "activation": "gelu", "dropout": 0.2, "attention_dropout": 0.3},
        **{"max_sequence_length": 7, "num_segments": 4, "padding_id": 3},
        **{"kernel_initializer": normal, "embeddings_initializer": normal},
        **{"normalize_first": False, "positions": "learned", "normalize_positions": False},
    }
    again = hugging_face_config.as_json(BertEncoder(**options).get_config())
    assert encoder_options(again, "x") == options


def test_what_is_not_said_is_as_in_transformers():
    options = encoder_options({**CONFIG, "pad_token_id": None}, "config.json")
    assert (options["dropout"], options["layer_norm_epsilon"], options["max_sequence_length"]) == (
        0.1,
        1e-12,
        512,
    )
    assert (options["num_segments"], options["padding_id"]) == (2, 0)


@pytest.mark.parametrize(
    "theirs, ours",
    [
        *[(name, "gelu_tanh") for name in ("gelu_new", "gelu_pytorch_tanh", "gelu_fast")],
        *[("gelu_python", "gelu"), ("relu", "relu")],
    ],
)
def test_activations(theirs, ours):
    assert encoder_options({**CONFIG, "hidden_act": theirs}, "x")["activation"] == ours


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"position_embedding_type": "relative_key"},
            "`position_embedding_type` must be 'absolute' .*; got 'relative_key'",
        ),
        ({"is_decoder": True}, "`is_decoder` must be False for BertEncoder; got True"),
        ({"add_cross_attention": True}, "`add_cross_attention` must .*; got True"),
        ({"cross_attention_hidden_size": 8}, "`cross_attention_hidden_size` must .*; got 8"),
        ({"is_encoder_decoder": True}, "`is_encoder_decoder` must .*; got True"),
        ({"pruned_heads": {"1": [0]}}, "`pruned_heads` must .*; got {'1': \\[0\\]}"),
        ({"quantization_config": {"bits": 4}}, "`quantization_config` must .*; got {'bits': 4}"),
        ({"auto_map": {"AutoModel": "x.py"}}, "`auto_map` must be None"),
        ({"model_type": "roberta"}, "`model_type` must be 'bert' .*; got 'roberta'"),
        ({"pooler_type": "last"}, "`pooler_type` must .*; got 'last'"),
        ({"embedding_size": 4, "alibi": 1}, "these keys are not supported: alibi, embedding_size"),
        ({"hidden_act": "silu"}, "`hidden_act` must be one of \"gelu\".*got 'silu'"),
        ({"hidden_act": ["gelu"]}, "`hidden_act` must be one of"),
        ({"vocab_size": 10**13}, "`vocab_size` must be a whole number from 1 to 16777216"),
        ({"hidden_size": "8"}, "`hidden_size` must be a whole number .*; got '8'"),
        ({"num_hidden_layers": True}, "`num_hidden_layers` must be a whole number"),
        ({"num_attention_heads": 3}, "must divide `hidden_size`; got 3 and 8"),
        ({"layer_norm_eps": 0}, "`layer_norm_eps` must be a positive number; got 0"),
        ({"hidden_dropout_prob": 1.0}, "`hidden_dropout_prob` must be a number in \\[0, 1\\)"),
        ({"pad_token_id": -1}, "`pad_token_id` must be a token id or null; got -1"),
        ({"pad_token_id": 9}, "`pad_token_id` must be below `vocab_size`; got 9 and 9"),
    ],
)
def test_what_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=f"config.json: .*{message}"):
        encoder_options({**CONFIG, **change}, "config.json")


def test_missing_sizes():
    for key in "vocab_size", "hidden_size", "num_attention_heads", "intermediate_size":
        config = {name: value for name, value in CONFIG.items() if name != key}
        with pytest.raises(ValueError, match=f"x: `{key}` is missing"):
            encoder_options(config, "x")


def test_labels_and_their_dropout():
    assert label_names({}, 2, "x") == ["LABEL_0", "LABEL_1"]
    known = {"id2label": {"1": "b", "0": "a"}}
    for config in known, {**known, "num_labels": 3}:  # names take precedence in transformers
        assert label_names(config, 2, "x") == ["a", "b"]
    assert label_names({"id2label": ["b", "a"]}, 2, "x") == ["b", "a"]
    for second in ("a", "a\nb", "a\tb", "", "a\u2028b"):
        with pytest.raises(ValueError, match="x: `id2label` must give each label a unique"):
            label_names({"id2label": {"0": "a", "1": second}}, 2, "x")
    with pytest.raises(ValueError, match="x: `num_labels` must be 2, .*; got 3"):
        label_names({"num_labels": 3}, 2, "x")
    for names in {"0": "a"}, {"0": "a", "2": "b"}, ["a"], "ab", ["a", "b", "c"]:
        with pytest.raises(ValueError, match="`id2label` must name the labels 0 to 1, .* 2 labels"):
            label_names({"id2label": names}, 2, "x")
    assert head_dropout({"classifier_dropout": None, "hidden_dropout_prob": 0.2}, "x") == 0.2
    assert head_dropout({"classifier_dropout": 0.3, "hidden_dropout_prob": 0.2}, "x") == 0.3
    assert head_dropout({}, "x") == 0.1
    with pytest.raises(ValueError, match="`classifier_dropout` must be a number"):
        head_dropout({"classifier_dropout": "much"}, "x")
