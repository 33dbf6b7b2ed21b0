"""Trains a classifier, which assigns a label to every text.

Without --validation, a share of the training texts of each label is held out (--validation-split,
by default a tenth). --resume continues an interrupted run from its last checkpoint. tfreps
evaluate, classify and export read the run folder. With --seeds, one run per random seed is trained,
and the mean and spread of the metrics are reported.
"""

import pathlib

from tfreps import data, tags
from tfreps._src.cli import bilm_options
from tfreps._src.cli.command import Command, DefaultRecipe, Group
from tfreps._src.cli.options import Option
from tfreps._src.text.bert.piece_tokenizer import TOO_LONG
from tfreps._src.text.tokenizers import TOKENIZERS
from tfreps.training.options import encoder_options, labeled_texts

DATA = {
    "train": Option(
        str, None, "Files with labeled texts, or glob patterns. With --format folders, folders of "
        "labeled texts.", many=True, required=True, metavar="FILE",
    ),
    "validation": Option(
        str, None, "Files with labeled validation texts, or glob patterns. The texts are used to "
        "select the best weights.", many=True, metavar="FILE",
    ),
    "validation_split": Option(
        float, 0.1, "Share of the training texts, from 0 to 1, that is used for validation if "
        "--validation is not given. With 0, there is no validation.", at_least=0, below=1,
        unused_with="validation",
    ),
    "test": Option(
        str, None, "Files with labeled test texts, or glob patterns. The final metrics are "
        "measured on these texts.", many=True, metavar="FILE",
    ),
    **labeled_texts.OPTIONS,
    "tokens": Option(
        str, None, "How to split the texts into tokens: at white space (spaces), into characters "
        "without white space (characters) or with it (all_characters), into words and punctuation "
        "marks (words), or as the Penn Treebank does, which suits English (treebank). Defaults to "
        "characters for text in Chinese and other scripts without spaces between words, and "
        "otherwise to words. Cannot be used with --encoder bert, which has its own tokenizer.",
        TOKENIZERS, excludes="encoder=bert",
    ),
    "max_length": Option(
        int, None, "Maximum number of tokens in a text or, with --encoder bert, of pieces "
        "including special tokens. With --encoder bert, it defaults to the limit of the BERT model "
        "and its tokenizer; with other encoders, there is no limit by default.", at_least=1,
    ),
    "too_long": Option(
        str, None, "How to handle texts longer than --max-length: truncate them (truncate), or "
        "stop with an error (error). Defaults to truncate.", TOO_LONG,
    ),
    "truncation_rate": Option(
        float, 0.0, "Share of the training texts, from 0 to 1, that are shortened by removing the "
        "part before or after a random punctuation mark. The texts and marks are drawn again in "
        "every epoch.", at_least=0, below=1, excludes="train_vectors",
    ),
}  # fmt: skip
HEAD = {
    "pooling": Option(
        str, None, "How to combine the output vectors of the encoder into one vector per text: "
        "their mean (mean), their maximum (max), both (mean_max), their sum divided by the square "
        "root of their number (mean_sqrt), their mean weighted by learned attention (attention), "
        "the first vector (first), or the pooled output of the encoder (pooled_output). Defaults "
        "to pooled_output for slstm and cnn, and to mean for the other encoders.",
        ["mean", "max", "mean_max", "mean_sqrt", "attention", "first", "pooled_output"],
    ),
    "hidden_units": Option(
        int, None, "Width of a hidden layer between the pooling and the output layer. By default, "
        "there is no such layer.", at_least=1,
    ),
    "balance": Option(
        bool, False, "Multiply the loss of each text by the inverse frequency of its label, so "
        "that rare labels count more.",
    ),
    "monitor": Option(
        str, "val_accuracy", "Validation metric by which the best weights are chosen; val_auc "
        "requires exactly two labels.", ["val_accuracy", "val_auc", "val_loss"],
    ),
}  # fmt: skip


def takes_recipe(options):
    """Returns True for a TextCNN that learns its word vectors from random values."""
    return encoder_options.learns_word_vectors(options, "cnn")


COMMAND = Command(
    "train-classifier",
    __doc__,
    {},
    encoder_options.labeling_groups(
        encoder_options.CLASSIFIER, DATA, Group("labels", "Output layer that scores labels.", HEAD)
    ),
    (
        "tfreps train-classifier --train train.tsv --test test.tsv --tokens words --lowercase \\\n"
        "    --encoder cnn --run runs/reviews",
        "tfreps train-classifier --train train.tsv --encoder bert --bert runs/bert --num-layers 3 "
        "\\\n    --pooling mean_max --bert-learning-rate 1e-4 --run runs/reviews",
        "tfreps train-classifier --run runs/reviews --resume",
    ),
    recipes=pathlib.Path(__file__).with_name("recipes") / "train-classifier",
    default_recipe=DefaultRecipe("cnn", takes_recipe, "cnn without pre-trained vectors"),
    flags=bilm_options.FLAGS,
)


def main(argv=None):
    from tfreps.training.options.seeds import train_seeds

    train_seeds(COMMAND, train_classifier, argv, set_defaults, encoder_options.MAY_CHANGE)


def set_defaults(options):
    encoder_options.set_defaults(options, encoder_options.CLASSIFIER)


def train_classifier(options, earlier):
    """Trains a classifier, evaluates it, and prints the results.

    If `earlier`, the run to resume, is not `None`, its training is continued.
    """
    from tfreps import load
    from tfreps._src.reports.evaluation import check_known_names
    from tfreps.training.inputs import bert_inputs
    from tfreps.training.inputs import read_inputs as reading
    from tfreps.training.loop import training
    from tfreps.training.options import labeling
    from tfreps.training.options.labeled_texts import check_labels, read_parts
    from tfreps.training.options.training_command import begin_run
    from tfreps.training.workers.strategies import open_strategy

    labeling.prepare(options, earlier)
    strategy = open_strategy(options.distribute)
    with strategy.scope():
        bert = bert_inputs.read_bert(options, print, pooler=options.pooling == "pooled_output")
    parts = read_parts(options, bert)
    labels = parts["train"].labels
    label_set = tags.TagSet.from_sequences([labels], source="--train", word="label")
    for part in parts.values():
        check_known_names(label_set.names, part.texts)
    check_labels(label_set, parts, options.monitor)
    print(data.describe_labels(labels))

    with strategy.scope():
        tokens = parts["train"].tokens
        inputs = reading.read_inputs(options, tokens, len(label_set), print, bert, words=False)
    batches = {
        name: make_batches(options, name, part, inputs.indexer, label_set)
        for name, part in parts.items()
    }
    inputs = inputs._replace(stored=batches["train"].vector_shape)
    with strategy.scope():
        model = make_model(options, inputs, label_set)
    inputs = inputs._replace(vectors=None)  # frees the vectors, because the model has a copy

    run = begin_run(COMMAND, options, earlier)
    reading.keep(run, inputs.indexer)
    run.write_asset(run.labels_path, label_set.write)
    what = about(batches["train"], parts["train"].num_truncated)
    held_out = batches.get("validation")
    best = training.fit(model, batches["train"], held_out, run, options.monitor, options, what)

    trained = load(run.path)
    labeling.finish(run, trained.model, best, measure(trained, parts), "classify")


def make_batches(options, name, part, indexer, label_set):
    """Returns the `SequenceBatches` of a part of the data.

    `name` is the name of the part. The batches of the part `"train"` are shuffled.
    """
    labels, tokens, order = part.labels, part.tokens, {}
    if name == "train":
        order = {"shuffle": True, "seed": options.seed, "batch_size": options.batch_size}
        if options.balance:
            counts = data.label_counts(labels)
            each = len(labels) / len(counts)
            order["sentence_weights"] = [each / counts[label] for label in labels]
        if options.truncation_rate:
            # The special tokens at both ends of a text for BERT are never removed.
            num_protected = int(encoder_options.ENCODERS[options.encoder].brings_tokens)
            more = options.truncation_rate, options.seed, options.max_length, num_protected
            order["truncation"] = data.RandomTruncation(tokens, *more)
    order |= {"max_length": options.max_length, **part.stored}
    ids = label_set.encode(labels)
    return data.SequenceBatches(tokens, ids, indexer, options.batch_tokens, **order)


def make_model(options, inputs, label_set):
    from tfreps.models import Classifier
    from tfreps.training.inputs.encoders import make_encoder, make_linear

    # Built before the encoder, because the order determines the seeds.
    linear = make_linear(options, inputs)
    return Classifier(
        make_encoder(options, inputs),
        label_set.names,
        pooling=options.pooling,
        hidden_units=options.hidden_units,
        dropout=options.dropout,
        linear=linear,
        name="classifier",
    )


def measure(trained, parts):
    """Returns a dict from "validation" and "test" to the metrics on this part of the data.

    For two labels, the metrics of both parts are computed with the threshold that is best on the
    validation data.
    """
    from tfreps._src.reports.evaluation import evaluate_classifier

    measured, threshold = {}, "best" if len(trained.names) == 2 else None
    for part in ("validation", "test"):
        if part in parts:
            texts, tokens, _, stored = parts[part]
            given = (
                threshold
                if part == "validation"
                else measured.get("validation", {}).get("threshold")
            )
            measured[part] = evaluate_classifier(trained, tokens, texts, given, **stored)
    return measured


def about(batches, num_truncated):
    # Texts for a BERT model are truncated before they are batched.
    num_truncated += batches.num_truncated
    cut = f" ({num_truncated:,} texts were truncated)" if num_truncated else ""
    return (
        f" on {batches.num_sentences:,} texts, {batches.num_tokens:,} tokens{cut}: "
        f"{batches.num_batches():,} steps per epoch"
    )
