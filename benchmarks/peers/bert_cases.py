"""Runs transformers on small BERT checkpoints for benchmarks/bert_parity.py.

`make` writes a folder with a checkpoint for each case, and the outputs of the models as
`expected/NAME.npz`. `read` loads the checkpoint of every folder that has a `request.json` and
writes the outputs of the model to `outputs.npz` in that folder.
"""

import json
import pathlib
import tempfile

import numpy as np
from safetensors.numpy import load_file, save_file

from benchmarks.bert_cases import (
    AESPRESSO_CONFIG,
    RAW_CONFIG,
    RAW_OPTIONS,
    RAW_PIECES,
    RAW_TEXTS,
    aespresso_positions,
    all_cases,
    array_of,
    config_of,
    expected_name,
    folder_name,
    inputs_of,
    shapes_of,
    write,
)
from benchmarks.bert_family_cases import model_type


def make(folder):
    folder = pathlib.Path(folder)
    (folder / "expected").mkdir(parents=True)
    for case in all_cases():
        expected = folder / "expected" / f"{expected_name(case)}.npz"
        model = random_model(config_of(case), case["kind"])
        if not expected.exists():
            np.savez(expected, **outputs_of(model, config_of(case)))
        write_case(model, case, folder / folder_name(case))
    model = random_model(AESPRESSO_CONFIG, "BertForPreTraining")
    table = aespresso_positions(12, 24)
    model.bert.embeddings.position_embeddings.weight.data[:] = tensor(table)
    np.savez(folder / "expected" / "aespresso.npz", **outputs_of(model, AESPRESSO_CONFIG))
    arrays = {name: array.numpy() for name, array in model.state_dict().items()}
    arrays = {name: array for name, array in arrays.items() if "position" not in name}
    save_file(arrays, folder / "bert.model.epoch.3.safetensors")
    for name, options in RAW_OPTIONS.items():
        make_raw(folder / "raw" / name, options)


def make_raw(folder, options):
    """Writes a tagger, its tokenizer, and its scores for the first piece of each word."""
    import torch
    from transformers import BertTokenizer

    model = random_model(RAW_CONFIG, "BertForTokenClassification")
    model.save_pretrained(folder)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("".join(f"{piece}\n" for piece in RAW_PIECES), encoding="utf-8")
    tokenizer = BertTokenizer(str(vocabulary), **options)
    tokenizer.save_pretrained(folder)
    scores = []
    for text in RAW_TEXTS:
        found = tokenizer(text, return_tensors="pt")
        words = found.word_ids()  # the word of each piece, `None` for special tokens
        firsts = [n for n, word in enumerate(words) if word is not None and word != words[n - 1]]
        with torch.no_grad():
            scores.append(model(**found).logits[0, firsts].numpy())
    np.savez(folder / "expected.npz", *scores)


def read(folder):
    for request in sorted(pathlib.Path(folder).glob("*/request.json")):
        kind = json.loads(request.read_text())["kind"]
        options = {"add_pooling_layer": False} if kind.endswith("without pooler") else {}
        model, told = class_of(kind).from_pretrained(
            request.parent, output_loading_info=True, attn_implementation="eager", **options
        )
        for what in "missing_keys", "unexpected_keys", "mismatched_keys":
            if told[what]:
                raise SystemExit(f"{request.parent}: expected no {what}; got {told[what]}.")
        config = json.loads((request.parent / "config.json").read_text())
        np.savez(request.parent / "outputs.npz", **outputs_of(model.eval(), config))


def random_model(config, kind):
    """Returns a model all of whose weights come from `array_of`."""
    from transformers import AutoConfig

    options = {"add_pooling_layer": False} if kind.endswith("without pooler") else {}
    settings = AutoConfig.for_model(**config, attn_implementation="eager")
    model = class_of(kind)(settings, **options).eval()
    prefix = f"{config['model_type']}."
    found = {name.removeprefix(prefix): value for name, value in model.named_parameters()}
    shapes = shapes_of(config, kind)
    if {name: tuple(value.shape) for name, value in found.items()} != shapes:
        raise SystemExit(
            f"{kind}: the arrays of transformers differ from those in benchmarks/bert_cases.py."
        )
    for name, value in found.items():
        value.data[:] = tensor(array_of(name, shapes[name]))
    return model


def write_case(model, case, folder):
    """Writes a case with `save_pretrained` if that yields its layout, otherwise with `write`."""
    prefix = f"{model_type(case['kind'])}."
    natural = "" if "Model" in case["kind"] else prefix
    if case["style"] == "late" and case["prefix"] == natural:
        size = "2KB" if case["files"] == "sharded" else "1GB"
        model.save_pretrained(folder, max_shard_size=size)
        return
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        arrays = load_file(f"{saved}/model.safetensors")
    write(case, folder, {name.removeprefix(prefix): array for name, array in arrays.items()})


def outputs_of(model, config):
    """Returns the outputs of a model under the names that benchmarks.bert_parity uses."""
    import torch

    ids, segments, mask = inputs_of(config)
    features = {"input_ids": ids, "attention_mask": mask.astype("int64")}
    if config["model_type"] != "distilbert":
        features["token_type_ids"] = segments
    with torch.no_grad():
        tensors = {name: tensor(array) for name, array in features.items()}
        found = model(**tensors, output_hidden_states=True)
    task = type(model).__name__.partition("For")[2]
    named = {
        "layer_outputs": torch.stack(found.hidden_states, 1),  # [B, L+1, T, D]
        "pooled_output": found.get("pooler_output"),
        "token_logits": found.get("prediction_logits"),
        "next_sentence_logits": found.get("seq_relationship_logits"),
    }
    other = {
        "MaskedLM": "token_logits",
        "NextSentencePrediction": "next_sentence_logits",
        "SequenceClassification": "logits",
        "TokenClassification": "emissions",
    }
    if task in other:
        named[other[task]] = found.logits
    return {name: value.numpy() for name, value in named.items() if value is not None}


def class_of(kind):
    import transformers

    return getattr(transformers, kind.split()[0])


def tensor(array):
    import torch

    return torch.from_numpy(np.ascontiguousarray(array))
