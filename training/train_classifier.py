"""Trains a classifier: a label for every text.

    tfreps train-classifier --train train.tsv --test test.tsv --tokens words --lowercase \
        --encoder cnn --run runs/reviews

Without --dev a tenth of the training texts is held out, label by label. Killed? The same command
with --resume goes on where the last checkpoint stands. Then: tfreps evaluate, tfreps classify,
tfreps export.
"""

import argparse
import types

import keras

from tfreps import encoders, fitting, inputs, plots
from tfreps.data import (
    SequenceBatches,
    class_counts,
    describe_classes,
    read_labelled,
    stratified_split,
)
from tfreps.evaluation import evaluate_classifier
from tfreps.models import Classifier
from tfreps.models.classifier import POOLINGS
from tfreps.program_options import Option, add_flags, parse_options
from tfreps.reports import format_report
from tfreps.run_folder import RunFolder
from tfreps.text import TagSet
from tfreps.text.tokenizers import TOKENIZERS, tokenize_texts
from tfreps.text_model import TextModel

PROGRAM = "train-classifier"
PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
FORMATS = "tab", "csv", "tsv", "json", "folders"

DATA = {
    "train": Option(str, None, "files or globs (a folder for folders)", many=True),
    "dev": Option(str, None, "held-out texts, for the best weights", many=True),
    "dev_share": Option(float, 0.1, "of the training texts, held out without --dev (0.1)"),
    "test": Option(str, None, "texts for the final figures", many=True),
    "format": Option(
        str, "tab", "label<TAB>text, columns with a header, JSON lines (tab)", FORMATS
    ),
    "text_field": Option(str, "text", "column or JSON field of the text (text)"),
    "label_field": Option(str, "label", "that of the label (label)"),
    "encoding": Option(str, "utf-8", "of the files (utf-8)"),
    "tokens": Option(str, "words", "how texts are cut (words)", TOKENIZERS),
    "max_length": Option(int, None, "texts are cut after so many tokens"),
    "train_vectors": Option(str, None, "file of `tfreps embed` for --train, text by text"),
    "dev_vectors": Option(str, None, "the same for --dev"),
    "test_vectors": Option(str, None, "the same for --test"),
}
HEAD = {
    "pooling": Option(str, None, "(the encoder's own, or mean)", POOLINGS),
    "hidden_units": Option(int, None, "of a layer between pooling and labels"),
    "balance": Option(bool, False, "weigh labels against their frequency"),
    "precision": Option(str, "float32", "of products (float32)", sorted(PRECISIONS)),
}
MAY_CHANGE = {"minutes", "epochs", "checkpoint_every", "test", "test_vectors"}
OWN_POOLING = "cnn", "slstm"  # encoders whose `pooled_output` is what classifiers read


def main(argv=None):
    options = parse_options(make_parser(), argv)
    run = RunFolder.begin(options.run, PROGRAM, vars(options), MAY_CHANGE)
    keras.config.set_dtype_policy(PRECISIONS[options.precision])
    keras.utils.set_random_seed(options.seed)

    data = read_all(options)
    label_set = TagSet.from_sequences([data["train"].labels], source="--train", word="label")
    print(describe_classes(data["train"].labels))
    elmo = inputs.read_elmo(options)
    features = inputs.make_features(options, data["train"].tokens, elmo)
    batches, dev = make_batches(options, data, features, label_set)
    model = make_model(options, features, label_set, elmo, getattr(batches, "vector_shape", (0, 0)))
    model.compile(fitting.make_optimizer(options, model, batches.num_batches()), jit_compile=False)

    run = run or RunFolder.create(options.run, PROGRAM, vars(options), options.overwrite)
    features.vocabulary.write(run.vocabulary_path)
    label_set.write(run.labels_path)
    say_start(run, model, batches)
    best = fitting.fit_epochs(
        model, batches, dev, run, options.epochs, "accuracy",
        patience=options.patience, minutes=options.minutes, resume=options.resume,
        checkpoint_every=options.checkpoint_every,
    )  # fmt: skip

    results = {"best": best, **measure(TextModel.open(run.path), data)}
    run.write_results({**run.results(), **results})
    draw(run, results, label_set.names)
    say_end(run, results)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--run", required=True, help="folder to make: model, checkpoints, logs, results")
    add("--resume", action="store_true", help="go on with the killed run in that folder")
    add("--overwrite", action="store_true", help="replace an earlier run in that folder")
    add_flags(parser.add_argument_group("data"), DATA)
    add_flags(parser.add_argument_group("words"), inputs.OPTIONS)
    add_flags(parser.add_argument_group("encoder"), encoders.OPTIONS)
    add_flags(parser.add_argument_group("labels"), HEAD)
    add_flags(parser.add_argument_group("training"), fitting.OPTIONS)
    return parser


def read_all(options):
    """Part of the data -> its texts; without --dev, some of the training texts are dev."""
    data = {part: read(options, part) for part in ("train", "dev", "test")}
    if data["train"] is None:
        raise ValueError("--train is missing: give files of labelled texts.")
    if data["dev"] is None and options.dev_share:
        places = stratified_split(data["train"].labels, options.dev_share, options.seed, "keep")
        data["train"], data["dev"] = (take(data["train"], part) for part in places)
    return data


def read(options, part):
    """Tokens, labels and places of the texts of one part; None where it was not given."""
    files = getattr(options, part)
    if not files:
        return None
    fields = {"text_field": options.text_field, "label_field": options.label_field}
    read = read_labelled(
        files, options.format, encoding=options.encoding, empty_texts="keep", **fields
    )
    return types.SimpleNamespace(
        tokens=tokenize_texts([example.text for example in read], options.tokens),
        labels=[example.label for example in read],
        places=[(example.file, example.line) for example in read],
        vectors=getattr(options, f"{part}_vectors"),
        numbers=list(range(len(read))),
    )


def take(texts, places):
    """Some of the texts."""
    lists = {
        name: [values[i] for i in places]
        for name, values in vars(texts).items()
        if name != "vectors"
    }
    return types.SimpleNamespace(**lists, vectors=texts.vectors)


def make_model(options, features, label_set, elmo, vector_shape):
    vectors = inputs.read_vectors(options, features)
    width = None if vectors is None else vectors.matrix.shape[1]
    encoder = encoders.make_encoder(options, features.vocabulary_size, width, elmo, vector_shape)
    if vectors is not None:
        getattr(encoder, "embedder", encoder).set_word_vectors(vectors.matrix)
    return Classifier(
        encoder,
        label_set.names,
        pooling=options.pooling or ("pooled" if options.encoder in OWN_POOLING else "mean"),
        hidden_units=options.hidden_units,
        dropout=options.dropout,
        name="classifier",
    )


def make_batches(options, data, features, label_set):
    """Batches to train on, and batches of the dev texts or None."""

    def batches(texts, **more):
        pairs = zip(texts.labels, texts.places, strict=True)
        ids = [label_set.ids([label], *place)[0] for label, place in pairs]
        more |= {"vectors": texts.vectors, "vector_numbers": texts.numbers} if texts.vectors else {}
        more |= {"max_length": options.max_length}
        return SequenceBatches(texts.tokens, ids, features, options.batch_tokens, **more)

    order = {"max_rows": options.batch_rows, "shuffle": True, "seed": options.seed}
    train = data["train"]
    if options.balance:
        counts = class_counts(train.labels)
        each = len(train.labels) / len(counts)
        order["sentence_weights"] = [each / counts[label] for label in train.labels]
    if data["test"]:  # a new label shows before training starts, not after
        batches(data["test"])
    return batches(train, **order), batches(data["dev"]) if data["dev"] else None


def measure(trained, data):
    """Figures of the dev and the test texts; the threshold is the one that is best on dev."""
    results, threshold = {}, None
    for part in ("dev", "test"):
        texts = data[part]
        if texts is None:
            continue
        more = {"vectors": texts.vectors, "vector_numbers": texts.numbers} if texts.vectors else {}
        results[part] = evaluate_classifier(trained, texts.tokens, texts.labels, threshold, **more)
        threshold = results[part].get("threshold")
    return results


def draw(run, results, names):
    """Pictures of the run, in its folder and in TensorBoard; without matplotlib, none."""
    run.pictures_path.mkdir(exist_ok=True)
    last = results.get("test") or results.get("dev")
    try:
        history = run.logs_path / "history.jsonl"
        pictures = [plots.learning_curves(history, run.pictures_path / "learning_curves.png")]
        if last:
            path = run.pictures_path / "confusion.png"
            pictures.append(plots.confusion_matrix(last["confusion"], names, path))
    except ValueError as error:
        print(f"No pictures: {error}")
        return
    plots.show_in_tensorboard(run.logs_path, pictures)


def say_start(run, model, batches):
    cut = f" ({batches.num_cut:,} texts were cut)" if batches.num_cut else ""
    print(
        f"Training {model.count_params():,} parameters in {run.path} on "
        f"{batches.num_sentences:,} texts, {batches.num_tokens:,} tokens{cut}: "
        f"{batches.num_batches():,} steps an epoch.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )


def say_end(run, results):
    for part in ("dev", "test"):
        if part in results:
            auc = f", AUC {results[part]['auc']:.4f}" if "auc" in results[part] else ""
            print(f"\n{part}: accuracy {results[part]['accuracy']:.4f}{auc}")
            print(format_report(results[part]))
    print(
        f"\nWrote {run.model_path}, {run.results_path} and {run.pictures_path}.\n"
        f"Next: tfreps classify {run.path} FILE, tfreps evaluate {run.path} --data FILES, "
        f"tfreps export {run.path} DIR/1."
    )


if __name__ == "__main__":
    raise SystemExit(main())
