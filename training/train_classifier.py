"""Trains a classifier: a label for every text.

    tfreps train-classifier --train train.tsv --test test.tsv --tokens words --lowercase \
        --encoder cnn --run runs/reviews
    tfreps train-classifier --train train.tsv --encoder bert --bert runs/bert --num-layers 3 \
        --pooling mean_max --learning-rate 1e-4 --run runs/reviews

Without --dev a tenth of the training texts is held out, label by label. Killed? tfreps
train-classifier --run runs/reviews --resume goes on where the last checkpoint stands. Then: tfreps
evaluate, tfreps classify, tfreps export.
"""

import pathlib

from tfreps.cli import fit_options, input_options, labelling, training_program
from tfreps.cli.encoder_kinds import CLASSIFIER, ENCODERS
from tfreps.cli.encoder_options import make_encoder, make_linear
from tfreps.cli.labelled_texts import check_labels, read_parts
from tfreps.cli.messages import say_start
from tfreps.cli.options import Option, first_line
from tfreps.data import (
    SequenceBatches,
    TextCuts,
    class_counts,
    describe_classes,
)
from tfreps.inference.load import load
from tfreps.models import Classifier
from tfreps.models.classifier import POOLINGS
from tfreps.reports.evaluation import check_names, evaluate_classifier
from tfreps.text import TagSet
from tfreps.text.bert.piece_tokenizer import TOO_LONG
from tfreps.text.tokenizers import TOKENIZERS

PROGRAM = "train-classifier"
RECIPES = pathlib.Path(__file__).with_name("recipes") / PROGRAM
MONITORS = "val_accuracy", "val_auc", "val_loss"
FORMATS = "tab", "csv", "tsv", "json", "python", "folders"

DATA = {
    "train": Option(
        str, None, "files or globs of labelled texts (a folder for folders)",
        many=True, required=True,
    ),
    "dev": Option(str, None, "held-out texts, for the best weights", many=True),
    "dev_share": Option(
        float, 0.1, "of the training texts, held out without --dev; 0: none (0.1)",
        at_least=0, below=1,
    ),
    "test": Option(str, None, "texts for the final metrics", many=True),
    "format": Option(
        str, "tab", "label<TAB>text, columns with a header, JSON lines, lines of Python dict "
        "literals, a folder per label (tab)",
        FORMATS,
    ),
    "text_field": Option(str, "text", "column or JSON field of the text (text)"),
    "label_field": Option(str, "label", "that of the label (label)"),
    "encoding": Option(str, "utf-8", "of the files (utf-8)"),
    "tokens": Option(
        str, None, "how texts are cut (words; those of a bert: as when it was pre-trained)",
        TOKENIZERS, excludes="encoder=bert",
    ),
    "max_length": Option(
        int, None, "tokens of a text at most (any number, or what a bert has positions for)",
        at_least=1,
    ),
    "too_long": Option(str, None, "what becomes of longer texts (cut)", TOO_LONG),
    "cut_share": Option(
        float, 0.0, "of training texts, in each epoch others, that lose a side at a mark (0)",
        at_least=0, below=1, excludes="train_vectors",
    ),
}  # fmt: skip
HEAD = {
    "pooling": Option(str, None, "(the encoder's own, or mean)", POOLINGS),
    "hidden_units": Option(int, None, "of a layer between pooling and labels", at_least=1),
    "balance": Option(bool, False, "weigh labels against their frequency"),
    "monitor": Option(
        str,
        "val_accuracy",
        "dev metric of the best weights; val_auc: of two labels (val_accuracy)",
        MONITORS,
    ),
}


def main(argv=None):
    return training_program.run_program(
        PROGRAM, make_parser(), tables(), train, argv, RECIPES, settle, labelling.MAY_CHANGE
    )


def tables():
    return labelling.option_tables(CLASSIFIER, DATA, {"labels": HEAD})


def make_parser():
    return training_program.make_parser(PROGRAM, first_line(__doc__), tables())


def train(options, earlier):
    """Trains, measures and reports; goes on with the earlier run if there is one."""
    fit_options.prepare(options)

    bert = input_options.read_bert(options, pooler=options.pooling == "pooled")
    data = read_parts(options, bert)
    labels = data["train"].labels
    label_set = TagSet.from_sequences([labels], source="--train", word="label")
    for part in data.values():
        check_names(label_set.names, part.texts)
    check_labels(label_set, data, options.monitor)
    print(describe_classes(labels))

    inputs = labelling.read_inputs(options, data["train"].tokens, len(label_set), bert, words=False)
    batches = {part: make_batches(options, data, part, inputs.indexer, label_set) for part in data}
    inputs = inputs._replace(stored=batches["train"].vector_shape)
    model = make_model(options, inputs, label_set)

    run = training_program.begin_run(PROGRAM, options, earlier)
    input_options.keep(run, inputs.indexer)
    run.keep(run.labels_path, label_set.write)
    say_start(run, model, about(batches["train"], data["train"].num_cut))
    held_out = batches.get("dev")
    best = fit_options.fit(model, batches["train"], held_out, run, options.monitor, options)

    trained = load(run.path)
    labelling.finish(run, trained.model, best, measure(trained, data), asking="classify")
    return 0


def settle(options):
    """Fills in how texts are cut, for an encoder that does not bring that along."""
    if options.tokens is None and not ENCODERS[options.encoder].brings_tokens:
        options.tokens = "words"


def make_batches(options, data, part, indexer, label_set):
    """The batches of one part of the data."""
    labels, tokens, order = data[part].labels, data[part].tokens, {}
    if part == "train":
        order = {"shuffle": True, "seed": options.seed, "batch_rows": options.batch_rows}
        if options.balance:
            counts = class_counts(labels)
            each = len(labels) / len(counts)
            order["sentence_weights"] = [each / counts[label] for label in labels]
        if options.cut_share:
            ends = int(ENCODERS[options.encoder].brings_tokens)  # they stay
            more = options.cut_share, options.seed, options.max_length, ends
            order["cuts"] = TextCuts(tokens, *more)
    order |= {"max_length": options.max_length, **data[part].stored}  # a BERT's are cut already
    return SequenceBatches(tokens, label_set.ids(labels), indexer, options.batch_tokens, **order)


def make_model(options, inputs, label_set):
    linear = make_linear(options, inputs)  # before the encoder: the order decides their seeds
    return Classifier(
        make_encoder(options, inputs),
        label_set.names,
        pooling=options.pooling or ENCODERS[options.encoder].pooling,
        hidden_units=options.hidden_units,
        dropout=options.dropout,
        linear=linear,
        name="classifier",
    )


def measure(trained, data):
    """Metrics of the dev and the test texts; the threshold is the one that is best on dev."""
    measured, threshold = {}, "best"
    for part in ("dev", "test"):
        if part in data:
            texts, tokens, stored = data[part].texts, data[part].tokens, data[part].stored
            given = threshold if part == "dev" else measured.get("dev", {}).get("threshold")
            measured[part] = evaluate_classifier(trained, tokens, texts, given, **stored)
    return measured


def about(batches, num_cut):
    num_cut += batches.num_cut  # of a BERT's texts, before they were made into batches
    cut = f" ({num_cut:,} texts were cut)" if num_cut else ""
    return (
        f" on {batches.num_sentences:,} texts, {batches.num_tokens:,} tokens{cut}: "
        f"{batches.num_batches():,} steps an epoch"
    )


if __name__ == "__main__":
    raise SystemExit(main())
