"""Lists small DistilBERT and ELECTRA checkpoints, for benchmarks.bert_parity."""

import itertools

# Class of the package transformers -> parts of its checkpoints other than the encoder.
KINDS = {
    "DistilBertModel": (),
    "DistilBertForMaskedLM": ("masked",),
    "DistilBertForSequenceClassification": ("pooler", "labels"),
    "DistilBertForTokenClassification": ("labels",),
    "ElectraModel": (),
    "ElectraForPreTraining": ("discriminator",),
    "ElectraForMaskedLM": ("masked",),
    "ElectraForSequenceClassification": ("pooler", "labels"),
    "ElectraForTokenClassification": ("labels",),
}
ACTIVATIONS = "gelu", "gelu_new"
# Name -> options of DistilBERT, and of ELECTRA, whose embeddings are narrower than its layers.
SIZES = {
    "usual": (
        {"hidden_dim": 64},
        {"embedding_size": 16, "layer_norm_eps": 1e-12, "type_vocab_size": 2},
    ),
    "unusual": (
        {"hidden_dim": 20, "sinusoidal_pos_embds": True},
        {"embedding_size": 12, "layer_norm_eps": 1e-3, "type_vocab_size": 5},
    ),
}
_SHARED = {"vocab_size": 19, "max_position_embeddings": 12, "pad_token_id": 0}


def family_cases():
    """Returns the cases: all combinations that tfreps supports, as dicts of strings.

    The masked-LM head of ELECTRA always has the exact gelu, so tfreps reads it only if the layers
    have it too.
    """
    found = []
    for kind, activation, sizes in itertools.product(KINDS, ACTIVATIONS, SIZES):
        if kind == "ElectraForMaskedLM" and activation != "gelu":
            continue
        for prefix in f"{model_type(kind)}.", "":
            case = {"kind": kind, "activation": activation, "sizes": sizes, "style": "late"}
            found.append({**case, "prefix": prefix, "files": "single"})
    return found


def model_type(kind):
    """Returns the model type of a class of transformers: bert, distilbert or electra."""
    return next(name for name in ("distilbert", "electra", "bert") if name in kind.lower())


def family_config(case):
    """Returns the `config.json` of a case, without labels and `architectures`."""
    distilbert, electra = SIZES[case["sizes"]]
    config = {"model_type": model_type(case["kind"]), **_SHARED}
    if config["model_type"] == "distilbert":
        sizes = {"dim": 16, "n_layers": 3, "n_heads": 2, "activation": case["activation"]}
        return {**config, **sizes, **distilbert}
    sizes = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2}
    sizes |= {"intermediate_size": 64, "hidden_act": case["activation"]}
    return {**config, **sizes, **electra}


def _tables(config, dim):
    rows = {"word": config["vocab_size"], "position": config["max_position_embeddings"]}
    rows["token_type"] = config.get("type_vocab_size")
    return {f"embeddings.{name}_embeddings.weight": (n, dim) for name, n in rows.items() if n}


def distilbert(config, parts):
    """Returns the shapes of the tables, of the layer norms and of the dense layers."""
    dim, wide = config["dim"], config["hidden_dim"]
    tables, norms, kernels = _tables(config, dim), {"embeddings.LayerNorm": dim}, {}
    for number in range(config["n_layers"]):
        block = f"transformer.layer.{number}."
        for name in "q_lin", "k_lin", "v_lin", "out_lin":
            kernels[f"{block}attention.{name}"] = (dim, dim)
        kernels |= {f"{block}ffn.lin1": (wide, dim), f"{block}ffn.lin2": (dim, wide)}
        norms |= {f"{block}sa_layer_norm": dim, f"{block}output_layer_norm": dim}
    if "masked" in parts:
        kernels["vocab_transform"] = (dim, dim)
        norms["vocab_layer_norm"] = dim
        tables["vocab_projector.bias"] = (config["vocab_size"],)
    if "pooler" in parts:
        kernels["pre_classifier"] = (dim, dim)
    if "labels" in parts:
        kernels["classifier"] = (3, dim)
    return tables, norms, kernels


def bert(config, parts):
    """Returns the shapes of the tables, of the layer norms and of the dense layers.

    The layers of ELECTRA are those of BERT, but its embeddings may be narrower.
    """
    dim, wide = config["hidden_size"], config["intermediate_size"]
    own, size = config.get("embedding_size", dim), config["vocab_size"]
    tables, norms, kernels = _tables(config, own), {"embeddings.LayerNorm": own}, {}
    if own != dim:
        kernels["embeddings_project"] = (dim, own)
    for number in range(config["num_hidden_layers"]):
        block = f"encoder.layer.{number}."
        for name in "self.query", "self.key", "self.value", "output.dense":
            kernels[f"{block}attention.{name}"] = (dim, dim)
        kernels[f"{block}intermediate.dense"] = (wide, dim)
        kernels[f"{block}output.dense"] = (dim, wide)
        norms |= {f"{block}attention.output.LayerNorm": dim, f"{block}output.LayerNorm": dim}
    heads = _electra_heads if config["model_type"] == "electra" else _bert_heads
    more = heads(dim, own, size)
    for part in parts:
        for name, shape in more[part].items():
            if name.endswith("LayerNorm"):
                norms[name] = shape
            elif name.endswith(".bias"):
                tables[name] = shape
            else:
                kernels[name] = shape
    if {"pooler", "labels"} <= {*parts} and heads is _electra_heads:
        kernels["classifier.out_proj"] = kernels.pop("classifier")
    return tables, norms, kernels


def _bert_heads(dim, own, size):
    masked = "cls.predictions"
    return {
        "pooler": {"pooler.dense": (dim, dim)},
        "masked": {
            f"{masked}.transform.dense": (dim, dim),
            f"{masked}.transform.LayerNorm": dim,
            f"{masked}.bias": (size,),
        },
        "next": {"cls.seq_relationship": (2, dim)},
        "labels": {"classifier": (3, dim)},
    }


def _electra_heads(dim, own, size):
    found = "discriminator_predictions"
    return {
        "discriminator": {f"{found}.dense": (dim, dim), f"{found}.dense_prediction": (1, dim)},
        "masked": {
            "generator_predictions.dense": (own, dim),
            "generator_predictions.LayerNorm": own,
            "generator_lm_head.bias": (size,),
        },
        "pooler": {"classifier.dense": (dim, dim)},
        "labels": {"classifier": (3, dim)},
    }
