"""Counts the tags, spans and labels that change if a trained model computes in bfloat16.

    python -m benchmarks.precision_outputs --runs runs/ner runs/reviews

A run folder of `tfreps train-tagger` or `train-classifier` is copied with the dtype policy
`mixed_bfloat16` and the same weights, and both models are applied to the validation data of the
run. "outputs" are the tags of tokens or the labels of texts, and "changed" counts those that
differ. "spans" are those of the float32 model, and "in one" counts those that only one of both
models finds. "float32" and "bfloat16" are the F1 of spans, or the accuracy without a tag scheme,
and "probability" is the largest difference between the probabilities of outputs that are equal.
"""

import json
import pathlib
import shutil
import tempfile
import types

from benchmarks.runner import parse, print_table

POLICY = "mixed_bfloat16"
COLUMNS = "run | outputs | changed | spans | in one | float32 | bfloat16 | probability"


def main(argv=None):
    about = "Run folders of taggers or classifiers, with the validation data in place."
    runs = (..., about, {"nargs": "+", "metavar": "RUN"})
    options = parse(argv, "benchmarks.precision_outputs", __doc__, runs=runs)
    print_table(COLUMNS, [measure(run) for run in options.runs])
    return 0


def measure(path):
    """Returns a row of the table for the run folder at `path`."""
    import tfreps
    from tfreps._src.runs.run_folder import RunFolder

    run = RunFolder.open(path)
    with tempfile.TemporaryDirectory() as folder:
        copy = RunFolder.open(shutil.copytree(path, pathlib.Path(folder) / "run"))
        copy.save_model(with_policy(run.load_model(), POLICY))
        models = tfreps.load(path), tfreps.load(copy.path)
    compare = compare_taggers if models[0].is_tagger else compare_classifiers
    return (pathlib.Path(path).name, *compare(models, run.options))


def with_policy(model, policy):
    """Returns a copy of a model with the same weights that computes with another dtype policy."""
    config = json.dumps(model.get_config()).replace('"float32"', json.dumps(policy))
    other = type(model).from_config(json.loads(config))
    other.build_from_config(model.get_build_config())
    other.set_weights(model.get_weights())
    return other


def compare_taggers(models, options):
    from tfreps._src.cli.tagged_files import read_tagged_files
    from tfreps.reports import classification_report, span_report

    given = types.SimpleNamespace(format=None)
    sentences = read_tagged_files(given, options["validation"], kept=options)
    found = [model([sentence.tokens for sentence in sentences]) for model in models]
    tags = [
        (one == other, abs(p - q))
        for a, b in zip(*found, strict=True)
        for one, other, p, q in zip(a.tags, b.tags, a.confidences, b.confidences, strict=True)
    ]
    spans = [
        {(n, *span[:3]) for n, text in enumerate(texts) for span in text.spans} for texts in found
    ]
    gold = [sentence.tags for sentence in sentences]
    predicted = [[text.tags for text in texts] for texts in found]
    if models[0].scheme is None:
        scores = [classification_report(sum(gold, []), sum(y, []))["accuracy"] for y in predicted]
    else:
        scores = [span_report(gold, y, models[0].scheme)["micro"]["f1"] for y in predicted]
    number, changed, largest = changes(tags)
    scores = [f"{score:.4f}" for score in scores]
    return [number, changed, len(spans[0]), len(spans[0] ^ spans[1]), *scores, largest]


def compare_classifiers(models, options):
    from tfreps.training.options import labeled_texts

    given = types.SimpleNamespace(**dict.fromkeys(labeled_texts.OPTIONS))
    texts = labeled_texts.read_files(options["validation"], given, options)
    found = [model([text.text for text in texts]) for model in models]
    labels = [
        (a.label == b.label, abs(a.confidence - b.confidence)) for a, b in zip(*found, strict=True)
    ]
    scores = [
        sum(a.label == text.label for a, text in zip(f, texts, strict=True)) / len(texts)
        for f in found
    ]
    number, changed, largest = changes(labels)
    return [number, changed, "-", "-", *(f"{score:.4f}" for score in scores), largest]


def changes(outputs):
    """Returns `(number of outputs, number that differ, largest difference of the others)`."""
    same = [distance for equal, distance in outputs if equal]
    return len(outputs), len(outputs) - len(same), f"{max(same, default=0.0):.3f}"


if __name__ == "__main__":
    raise SystemExit(main())
