"""Compares BERT, DistilBERT and ELECTRA with transformers on many checkpoints, in both directions.

    make peers
    python -m benchmarks.bert_parity --peer-python .venv-peers/torch/bin/python

The checkpoints are small random models of the BERT, DistilBERT and ELECTRA classes of transformers
that tfreps reads, one model of aespresso, and taggers for raw texts. Those of transformers have all
combinations of both kinds of gelu, usual and unusual sizes, names with and without a prefix and,
for BERT, array names of early and late versions, and one or several files. The outputs of the
models that tfreps loads, and of those that transformers loads after tfreps has saved them, must
agree with the original outputs to 1e-5. The table shows the number of models and their largest
difference, for checkpoints that tfreps reads ("in"), and for those that `save_pretrained` ("out")
and `save_to_preset` ("preset") write. `--fixtures FILE` writes some of the outputs of transformers
to FILE; the tests in tests/convert compare with them.
"""

import collections
import functools
import json
import pathlib
import tempfile

import numpy as np
import tensorflow as tf

from benchmarks.bert_cases import (
    AESPRESSO_CONFIG,
    RAW_OPTIONS,
    RAW_TEXTS,
    all_cases,
    config_of,
    expected_name,
    fixture_name,
    folder_name,
    inputs_of,
)
from benchmarks.runner import call_peer, parse, print_table
from tfreps import load
from tfreps.models import BertEncoder, BertPretrainer, Classifier, Tagger
from tfreps.text import tokenize

NEXT = "BertForNextSentencePrediction"
NOT_WRITTEN = NEXT, "ElectraForPreTraining"  # classes whose heads tfreps does not write
TOLERANCE = 1e-5
TASKS = {
    "MaskedLM": BertPretrainer,
    "SequenceClassification": Classifier,
    "TokenClassification": Tagger,
}
READERS = {
    "BertForPreTraining": BertPretrainer.from_pretrained,
    NEXT: functools.partial(Classifier.from_pretrained, next_sentence=True),
    **{f"BertFor{task}": model.from_pretrained for task, model in TASKS.items()},
    **{f"DistilBertFor{task}": model.from_pretrained for task, model in TASKS.items()},
    **{f"ElectraFor{task}": model.from_pretrained for task, model in TASKS.items()},
}
FIXTURES = (
    *("gelu-usual", "gelu_new-unusual"),
    *("distilbert-gelu-usual", "distilbert-gelu_new-unusual"),
    *("electra-gelu_new-usual", "electra-gelu-unusual"),
)
PER_TOKEN = "layer_outputs", "token_logits", "emissions"
MASK = inputs_of(AESPRESSO_CONFIG)[2]


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.bert_parity",
        __doc__,
        peer_python=(..., "Python interpreter with the packages of benchmarks/peers/torch.txt."),
        fixtures=(None, "JSON file to which to write outputs of transformers for the tests."),
    )
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        call_peer(options.peer_python, "bert_cases.make", str(folder))
        rows = {**forth(folder), "aespresso, in": aespresso(folder)}
        rows["BertForTokenClassification, words of raw texts"] = raw_texts(folder)
        call_peer(options.peer_python, "bert_cases.read", str(folder / "saved"))
        rows |= back(folder)
        if options.fixtures:
            write_fixtures(folder, options.fixtures)
    print_table(
        "checkpoint | models | max difference",
        [(name, len(numbers), f"{max(numbers):.1e}") for name, numbers in rows.items()],
    )
    return 1 if max(value for numbers in rows.values() for value in numbers) > TOLERANCE else 0


def forth(folder):
    """Compares models that tfreps loads from transformers, and saves some of them for `back`."""
    rows = collections.defaultdict(list)
    for case in all_cases():
        source = folder / folder_name(case)
        expected = np.load(folder / "expected" / f"{expected_name(case)}.npz")
        model = READERS.get(case["kind"], BertEncoder.from_pretrained)(source)
        # This encoder loads only the first layer.
        encoder = BertEncoder.from_pretrained(source, num_layers=1)
        found = [outputs_of(one, config_of(case)) for one in (model, model_encoder(model))]
        found.append(outputs_of(encoder, config_of(case)) | {"pooled_output": None})
        rows[row_name(case, "in")].append(max(difference(expected, one) for one in found))
        if (case["style"], case["files"]) == ("late", "single") and case["prefix"]:
            if case["kind"] not in NOT_WRITTEN:
                save(model, case, folder)
    return rows


def aespresso(folder):
    """Compares the model loaded from aespresso, and saves it with a table of its positions."""
    source = folder / "bert.model.epoch.3.safetensors"
    model = BertPretrainer.from_pretrained(source, max_sequence_length=12)
    target = folder / "saved" / "aespresso"
    model.save_pretrained(target)
    request(target, "BertForPreTraining", "aespresso, out", "aespresso")
    expected = np.load(folder / "expected" / "aespresso.npz")
    found = [outputs_of(one, AESPRESSO_CONFIG) for one in (model, model.encoder)]
    return [max(difference(expected, one) for one in found)]


def raw_texts(folder):
    """Compares the scores of taggers for raw texts, tokenized as in `tfreps tag` and in exports."""
    gaps = []
    for name in RAW_OPTIONS:
        source = folder / "raw" / name
        tagger, expected = load(source), np.load(source / "expected.npz")
        for text, theirs in zip(RAW_TEXTS, expected.values(), strict=True):
            words = tokenize(tf.constant([text]), tagger.tokenizer)  # [1, T]
            mine = tagger.model(tagger.indexer(words))["emissions"][0].numpy()
            same = mine.shape == theirs.shape
            gaps.append(float(np.abs(mine - theirs).max()) if same else float("inf"))
    return gaps


def back(folder):
    """Compares the original models with those that tfreps saved and transformers then loaded."""
    rows = collections.defaultdict(list)
    for outputs in sorted((folder / "saved").glob("*/outputs.npz")):
        asked = json.loads((outputs.parent / "request.json").read_text())
        expected = np.load(folder / "expected" / f"{asked['expected']}.npz")
        rows[asked["row"]].append(difference(expected, np.load(outputs)))
    return rows


def model_encoder(model):
    return getattr(model, "encoder", model)


def outputs_of(model, config):
    """Returns the outputs of a model under the names that benchmarks/peers/bert_cases.py uses."""
    ids, segments, mask = inputs_of(config)
    features = {"token_ids": ids, "segment_ids": segments, "mask": mask}
    if isinstance(model, BertPretrainer):
        columns = np.arange(ids.shape[1])
        features["masked_positions"] = np.tile(columns, (len(ids), 1))
    found = model(features)
    if isinstance(model, Classifier) and "next" in model.labels:
        found["next_sentence_logits"] = found.pop("logits")
    return {name: np.asarray(value) for name, value in found.items() if name != "mask"}


def difference(expected, found):
    """Returns the largest difference between the common outputs of two models at real tokens.

    It is inf if they have no common outputs or if an output is not finite.
    """
    worst, compared = 0.0, 0
    for name in expected:
        if found.get(name) is None:
            continue
        mine, theirs = found[name], expected[name]
        if name == "layer_outputs":
            theirs = theirs[:, : mine.shape[1]]  # a model has only the layers that were loaded
            mine, theirs = (np.moveaxis(x, 1, 2) for x in (mine, theirs))  # [B, T, L+1, D]
        if name in PER_TOKEN:
            mine, theirs = mine[MASK], theirs[MASK]
        gap = float(np.abs(mine - theirs).max())
        worst, compared = max(worst, gap if np.isfinite(gap) else np.inf), compared + 1
    return worst if compared else float("inf")


def save(model, case, folder):
    """Saves a model in both ways for `bert_cases.read` of benchmarks/peers."""
    name = expected_name(case)
    for way, write in ("out", model.save_pretrained), ("preset", model.save_to_preset):
        target = folder / "saved" / f"{name}, {way}"
        write(target)
        request(target, case["kind"], row_name(case, way), name)


def request(target, kind, row, expected):
    """Writes a file that names the class that reads a folder and the case with its outputs."""
    text = json.dumps({"kind": kind, "row": row, "expected": expected})
    (target / "request.json").write_text(text)


def row_name(case, way):
    return f"{case['kind']} {case['activation']}, {way}"


def write_fixtures(folder, path):
    """Writes outputs of transformers at real tokens; classes with equal weights share a file."""
    fixtures = {}
    for case in all_cases():
        found = fixtures.setdefault(fixture_name(case), {})
        expected = np.load(folder / "expected" / f"{expected_name(case)}.npz")
        for name in expected:
            array = expected[name].astype("float64")
            if name == "layer_outputs":
                array = np.moveaxis(array, 1, 2)[:, :, [1, 3]]  # [B, T, 2, D]
            array = array[MASK] if name in PER_TOKEN else array
            found[name] = array.round(6).tolist()
    text = json.dumps({name: fixtures[name] for name in FIXTURES if name in fixtures})
    pathlib.Path(path).write_text(text.replace("], ", "],\n") + "\n")


if __name__ == "__main__":
    raise SystemExit(main())
