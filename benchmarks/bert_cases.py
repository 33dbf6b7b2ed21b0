"""Creates small BERT checkpoints in all known file layouts, for benchmarks.bert_parity."""

import itertools
import json
import pathlib
import zlib

import numpy as np
from safetensors.numpy import save_file

from benchmarks.bert_family_cases import KINDS as FAMILY_KINDS
from benchmarks.bert_family_cases import bert, distilbert, family_cases, family_config, model_type

# Class of the package transformers -> parts of its checkpoints other than the encoder.
KINDS = {
    "BertModel": ("pooler",),
    "BertModel without pooler": (),
    "BertForPreTraining": ("pooler", "masked", "next"),
    "BertForMaskedLM": ("masked",),
    "BertForNextSentencePrediction": ("pooler", "next"),
    "BertForSequenceClassification": ("pooler", "labels"),
    "BertForTokenClassification": ("labels",),
}
ACTIVATIONS = "gelu", "gelu_new"
SIZES = {
    "usual": {"layer_norm_eps": 1e-12, "type_vocab_size": 2, "intermediate_size": 64},
    "unusual": {"layer_norm_eps": 1e-3, "type_vocab_size": 5, "intermediate_size": 20},
}
# "late" files are those of transformers 5. "early" files name gamma and beta, include the buffer of
# positions, store tied arrays twice, and have no `architectures`.
STYLES = "late", "early"
PREFIXES = "bert.", ""
FILES = "single", "sharded"
# The configuration that `open_aespresso` assumes, with fewer units.
AESPRESSO_CONFIG = {
    **{"model_type": "bert", "vocab_size": 19, "hidden_size": 24, "num_hidden_layers": 2},
    **{"num_attention_heads": 12, "intermediate_size": 96, "max_position_embeddings": 12},
    **{"type_vocab_size": 256, "hidden_act": "gelu", "pad_token_id": 0},
}
LABELS = ["O", "B-PER", "I-PER"]
# Names of arrays that begin with these strings get none of the `PREFIXES`.
HEADS = "cls.", "classifier", "pre_classifier", "vocab_", "generator_", "discriminator_"
# Taggers that read raw texts: options of transformers' tokenizers, and then pieces, sizes and
# texts.
RAW_OPTIONS = {
    "uncased": {"do_lower_case": True},
    "cased": {"do_lower_case": False},
    "together": {"do_lower_case": True, "tokenize_chinese_chars": False},
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
RAW_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_LETTERS, *",.!?-'=，。"]
RAW_PIECES += [*(f"##{letter}" for letter in _LETTERS), *map(chr, range(0x4E00, 0x4F00))]
RAW_CONFIG = {
    **{"model_type": "bert", "vocab_size": len(RAW_PIECES), "hidden_size": 16},
    **{"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32},
    **{"max_position_embeddings": 128, "type_vocab_size": 2, "hidden_act": "gelu"},
    "pad_token_id": 0,
    "architectures": ["BertForTokenClassification"],
    "id2label": {str(number): name for number, name in enumerate(LABELS)},
    "label2id": {name: number for number, name in enumerate(LABELS)},
}
_CHINESE = "".join(map(chr, range(0x4E00, 0x4F00, 9)))
RAW_TEXTS = (
    _CHINESE,
    f"abc {_CHINESE[:5]}def, 12! {_CHINESE[5:9]}",
    f"Don't\u200b stop\u00ad it caf\u00e9 ≠ {_CHINESE[:3]}，{_CHINESE[3:6]}。",
    f"{'a' * 60} b",  # a word of 60 pieces
    "http-a.b?c=d " * 3,
    "\u0301 x \u0301y, \u0301.",
    "İstanbul a\u0000b \ufffd c",
)


def all_cases():
    """Returns the cases, as dicts of strings: all combinations above, DistilBERT and ELECTRA."""
    names = "kind", "activation", "sizes", "style", "prefix", "files"
    choices = KINDS, ACTIVATIONS, SIZES, STYLES, PREFIXES, FILES
    cases = [dict(zip(names, values, strict=True)) for values in itertools.product(*choices)]
    return cases + family_cases()


def folder_name(case):
    """Returns the name of the folder of a case."""
    return "-".join(value.strip(".") or "bare" for value in case.values()).replace(" ", "_")


def expected_name(case):
    """Returns the name that is common to all cases with the same outputs."""
    return "-".join((case["kind"], case["activation"], case["sizes"])).replace(" ", "_")


def fixture_name(case):
    """Returns the name that is common to all classes whose weights of the same name are equal."""
    family = "" if case["kind"] in KINDS else f"{model_type(case['kind'])}-"
    return f"{family}{case['activation']}-{case['sizes']}"


def config_of(case):
    """Returns the `config.json` of a case."""
    if case["kind"] in FAMILY_KINDS:
        config = family_config(case)
    else:
        config = {
            **{"model_type": "bert", "vocab_size": 19, "hidden_size": 16, "num_hidden_layers": 3},
            **{"num_attention_heads": 2, "max_position_embeddings": 12, "pad_token_id": 0},
            **{"hidden_act": case["activation"], **SIZES[case["sizes"]]},
        }
    if "labels" in {**KINDS, **FAMILY_KINDS}[case["kind"]]:
        config["id2label"] = {str(number): name for number, name in enumerate(LABELS)}
        config["label2id"] = {name: number for number, name in enumerate(LABELS)}
    if case["style"] == "late":
        config["architectures"] = [case["kind"].split()[0]]
    return config


def shapes_of(config, kind):
    """Returns a dict from names of arrays, as in transformers 5 but without prefix, to shapes."""
    parts, is_distilbert = {**KINDS, **FAMILY_KINDS}[kind], model_type(kind) == "distilbert"
    shapes, norms, kernels = (distilbert if is_distilbert else bert)(config, parts)
    for name, shape in kernels.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name, dim in norms.items():
        shapes |= {f"{name}.weight": (dim,), f"{name}.bias": (dim,)}
    return shapes


def array_of(name, shape):
    """Returns a random array that depends only on the name and shape, not on NumPy's version."""
    array = np.random.RandomState(zlib.crc32(name.encode())).normal(scale=0.3, size=shape)
    return (array + name.endswith(("LayerNorm.weight", "layer_norm.weight"))).astype(np.float32)


def inputs_of(config):
    """Returns token ids, segment ids and mask, each `[3, 12]`, of texts of 12, 5 and 1 tokens."""
    columns = np.arange(config["max_position_embeddings"])
    mask = columns[None] < np.array([[len(columns)], [5], [1]])
    ids = 1 + (7 * columns + 5 * np.arange(3)[:, None]) % (config["vocab_size"] - 1)
    segments = columns // 3 % config.get("type_vocab_size", 2)
    return ids * mask, segments * mask, mask


def aespresso_positions(length, dim):
    """Computes the position table of aespresso: rows of norm 1 after a row of zeros."""
    table = np.zeros((length, dim))
    for place in range(1, length):
        for i in range(dim):
            angle = place / 10000 ** (2 * i / dim)
            table[place, i] = np.cos(angle) if i % 2 else np.sin(angle)
    return (table / (np.linalg.norm(table, axis=1, keepdims=True) + 1e-8)).astype(np.float32)


def write(case, folder, arrays=None):
    """Writes the files of a case.

    `arrays` is a dict from names, as in transformers but without `bert.`, to arrays. If it is
    `None`, `array_of` creates the arrays.
    """
    folder, config = pathlib.Path(folder), config_of(case)
    folder.mkdir(parents=True, exist_ok=True)
    if arrays is None:
        shapes = shapes_of(config, case["kind"])
        arrays = {name: array_of(name, shape) for name, shape in shapes.items()}
    arrays = _in_style(arrays, case)
    (folder / "config.json").write_text(json.dumps(config))
    if case["files"] == "single":
        save_file(arrays, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names, places = sorted(arrays), {}
    for number in range(2):
        file, part = f"model-{number + 1:05}-of-00002.safetensors", names[number::2]
        save_file({name: arrays[name] for name in part}, folder / file, metadata={"format": "pt"})
        places |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))


def _in_style(arrays, case):
    """Renames the arrays for a case; in the early style, adds the arrays of early versions."""
    prefix, found = case["prefix"], {}
    for name, array in arrays.items():
        if case["style"] == "early":
            name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
            name = name.replace("LayerNorm.bias", "LayerNorm.beta")
        found[name if name.startswith(HEADS) else prefix + name] = array
    if case["style"] == "early":
        found[f"{prefix}embeddings.position_ids"] = np.arange(12)[None]
        if "masked" in KINDS[case["kind"]]:
            found["cls.predictions.decoder.weight"] = arrays["embeddings.word_embeddings.weight"]
            found["cls.predictions.decoder.bias"] = arrays["cls.predictions.bias"]
    return found
