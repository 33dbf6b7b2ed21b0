"""Trains a classifier: a label for every text.

    tfreps train-classifier --train train.tsv --test test.tsv --tokens words --lowercase \
        --encoder cnn --run runs/reviews
    tfreps train-classifier --train train.tsv --encoder bert --bert runs/bert --num-layers 3 \
        --pooling mean_max --learning-rate 1e-4 --run runs/reviews

Without --dev a tenth of the training texts is held out, label by label. Killed? tfreps
train-classifier --run runs/reviews --resume goes on where the last checkpoint stands. Then: tfreps
evaluate, tfreps classify, tfreps export.
"""

import argparse
import pathlib
import types

from tfreps import plots
from tfreps.callbacks.stop_signals import go_on_with, stopped_by_signals
from tfreps.cli import encoder_options, fit_options, input_options, optimizer_options
from tfreps.cli.options import (
    Option,
    add_flags,
    check_options,
    default_values,
    first_line,
    parse_options,
)
from tfreps.data import (
    SequenceBatches,
    TextCuts,
    class_counts,
    describe_classes,
    read_labelled,
    stratified_split,
)
from tfreps.inference.load import load
from tfreps.models import Classifier
from tfreps.models.classifier import POOLINGS
from tfreps.reports import format_report
from tfreps.reports.evaluation import check_names, evaluate_classifier
from tfreps.runs.run_folder import RunFolder
from tfreps.text import TagSet
from tfreps.text.bert.piece_tokenizer import TOO_LONG
from tfreps.text.tokenizers import TOKENIZERS

PROGRAM = "train-classifier"
RECIPES = pathlib.Path(__file__).with_name("recipes") / PROGRAM
FIGURES = "accuracy", "auc", "loss"
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
    "test": Option(str, None, "texts for the final figures", many=True),
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
        TOKENIZERS,
    ),
    "max_length": Option(
        int, None, "tokens of a text at most (any number, or what a bert has positions for)",
        at_least=1,
    ),
    "too_long": Option(str, None, "what becomes of longer texts (cut)", TOO_LONG),
    "cut_share": Option(
        float, 0.0, "of training texts, in each epoch others, that lose a side at a mark (0)",
        at_least=0, below=1,
    ),
}  # fmt: skip
HEAD = {
    "pooling": Option(str, None, "(the encoder's own, or mean)", POOLINGS),
    "hidden_units": Option(int, None, "of a layer between pooling and labels", at_least=1),
    "balance": Option(bool, False, "weigh labels against their frequency"),
    "best_by": Option(
        str, "accuracy", "dev figure of the best weights; auc: of two labels (accuracy)", FIGURES
    ),
}
TABLES = {
    "data": DATA,
    "words": input_options.OPTIONS,
    "encoder": encoder_options.OPTIONS,
    "labels": HEAD,
    "training": fit_options.OPTIONS,
}
OWN_POOLING = "cnn", "slstm"  # encoders whose `pooled_output` is what classifiers read


def main(argv=None):
    options = parse_options(make_parser(), argv, RECIPES)
    check_options(options, *TABLES.values())
    input_options.check(options)
    encoder_options.check(options)
    optimizer_options.check(options)
    settle(options)
    defaults = default_values(*TABLES.values())
    free = fit_options.may_change(options)
    with (
        RunFolder.begin(options.run, PROGRAM, vars(options), free, defaults) as earlier,
        stopped_by_signals(),
    ):
        return train(options, earlier)


def train(options, earlier):
    """Trains, measures and reports; goes on with the earlier run if there is one."""
    fit_options.prepare(options)

    bert = input_options.read_bert(options, pooler=options.pooling == "pooled")
    data = read_all(options, bert)
    labels = [text.label for text in data["train"].texts]
    label_set = TagSet.from_sequences([labels], source="--train", word="label")
    for part in data.values():
        check_names(label_set.names, part.texts)
    check_labels(options, label_set, data)
    print(describe_classes(labels))
    elmo = input_options.read_elmo(options)
    indexer = input_options.make_indexer(options, data["train"].tokens, elmo, bert, words=False)
    batches = {part: make_batches(options, data, part, indexer, label_set) for part in data}
    model = make_model(options, indexer, label_set, elmo, batches["train"].vector_shape, bert)

    run = earlier or RunFolder.create(options.run, PROGRAM, vars(options), options.overwrite)
    go_on_with(run.resume_command())
    input_options.keep(run, indexer)
    run.keep(run.labels_path, label_set.write)
    say_start(run, model, batches["train"], data["train"].num_cut)
    best = fit_options.fit(
        model, batches["train"], batches.get("dev"), run, options.best_by, options
    )

    trained = load(run.path)
    measured = measure(trained, data)
    run.write_results({**run.results(), "best": best, **measured})
    last = measured.get("test") or measured.get("dev") or {}
    for note in plots.draw_run(run, trained.model, last.get("confusion")):
        print(note)
    say_end(run, measured)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=first_line(__doc__))
    add = parser.add_argument
    add("--run", required=True, help="folder to make: model, checkpoints, logs, results")
    add("--resume", action="store_true", help="go on with the killed run in that folder")
    add("--overwrite", action="store_true", help="replace an earlier run in that folder")
    for title, table in TABLES.items():
        add_flags(parser.add_argument_group(title), table)
    return parser


def check_labels(options, label_set, data):
    """Refuses a single label, and an area under the curve of other than two."""
    if len(label_set) < 2:
        raise ValueError(
            f"All texts of --train have the label {label_set.names[0]!r}: there is nothing to "
            "tell apart."
        )
    if options.best_by != "auc":
        return
    if len(label_set) != 2:
        raise ValueError(f"--best-by auc is for two labels; the texts have {len(label_set)}.")
    of_dev = {text.label for text in data["dev"].texts} if "dev" in data else set()
    if len(of_dev) == 1:
        raise ValueError(
            f"--best-by auc needs texts of both labels to measure on; those held out are all "
            f"{of_dev.pop()!r}."
        )


def settle(options):
    """Fills in how texts are cut, which depends on the encoder."""
    if options.encoder == "bert" and options.tokens is not None:
        raise ValueError("--tokens goes unseen: --encoder bert brings its own along.")
    if options.cut_share and options.train_vectors:
        raise ValueError("--cut-share cuts texts, and --train-vectors are of whole ones.")
    if options.tokens is None and options.encoder != "bert":
        options.tokens = "words"


def read_all(options, bert):
    """Part of the data -> its texts; without --dev, some of the training texts are dev."""
    data = {part: read(options, bert, part) for part in ("train", "dev", "test")}
    if data["dev"] is None and options.dev_share:
        labels = [text.label for text in data["train"].texts]
        places = stratified_split(labels, options.dev_share, options.seed, single="keep")
        data["train"], data["dev"] = (take(data["train"], part) for part in places)
        if not (data["train"].texts and data["dev"].texts):
            raise ValueError(
                f"--dev-share {options.dev_share} of {len(labels)} texts leaves none to train or "
                "to measure on: give more texts, or --dev, or --dev-share 0."
            )
    return {part: texts for part, texts in data.items() if texts is not None}


def read(options, bert, part):
    """The texts of one part, their tokens, and where their vectors are; None where not given."""
    files = getattr(options, part)
    if not files:
        return None
    fields = {"text_field": options.text_field, "label_field": options.label_field}
    texts = read_labelled(
        files, options.format, encoding=options.encoding, empty_texts="keep", **fields
    )
    tokens, num_cut = input_options.cut_texts(options, texts, bert)
    return types.SimpleNamespace(
        texts=texts,
        tokens=tokens,
        num_cut=num_cut,
        stored={
            "vectors": getattr(options, f"{part}_vectors"),
            "vector_numbers": list(range(len(texts))),
        },
    )


def take(part, places):
    """Some of the texts of a part; their vectors keep their numbers."""
    return types.SimpleNamespace(
        texts=[part.texts[i] for i in places],
        tokens=[part.tokens[i] for i in places],
        num_cut=part.num_cut,
        stored={**part.stored, "vector_numbers": places},
    )


def make_batches(options, data, part, indexer, label_set):
    """The batches of one part of the data."""
    labels, order = [text.label for text in data[part].texts], {}
    if part == "train":
        order = {"shuffle": True, "seed": options.seed, "max_rows": options.batch_rows}
        if options.balance:
            counts = class_counts(labels)
            each = len(labels) / len(counts)
            order["sentence_weights"] = [each / counts[label] for label in labels]
        if options.cut_share:
            order["cuts"] = make_cuts(options, data[part].tokens)
    order |= {"max_length": options.max_length, **data[part].stored}  # a BERT's are cut already
    tokens = data[part].tokens
    return SequenceBatches(tokens, label_set.ids(labels), indexer, options.batch_tokens, **order)


def make_cuts(options, tokens):
    """What is left out of training texts; never the start and separator of a BERT."""
    ends = 1 if options.encoder == "bert" else 0
    return TextCuts(tokens, options.cut_share, options.seed, options.max_length, ends)


def make_model(options, indexer, label_set, elmo, stored, bert):
    vectors = input_options.read_vectors(options, indexer)
    linear = encoder_options.make_linear(options, indexer, len(label_set))
    units = len(label_set)
    return Classifier(
        encoder_options.make_encoder(options, indexer, vectors, elmo, stored, units, bert),
        label_set.names,
        pooling=options.pooling or ("pooled" if options.encoder in OWN_POOLING else "mean"),
        hidden_units=options.hidden_units,
        dropout=options.dropout,
        linear=linear,
        name="classifier",
    )


def measure(trained, data):
    """Figures of the dev and the test texts; the threshold is the one that is best on dev."""
    measured, threshold = {}, "best"
    for part in ("dev", "test"):
        if part in data:
            texts, tokens, stored = data[part].texts, data[part].tokens, data[part].stored
            given = threshold if part == "dev" else measured.get("dev", {}).get("threshold")
            measured[part] = evaluate_classifier(trained, tokens, texts, given, **stored)
    return measured


def say_start(run, model, batches, num_cut):
    num_cut += batches.num_cut  # of a BERT's texts, before they were made into batches
    cut = f" ({num_cut:,} texts were cut)" if num_cut else ""
    print(
        f"Training {model.count_params():,} parameters in {run.path} on "
        f"{batches.num_sentences:,} texts, {batches.num_tokens:,} tokens{cut}: "
        f"{batches.num_batches():,} steps an epoch.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )


def say_end(run, measured):
    for part, results in measured.items():
        auc = f", AUC {results['auc']:.4f}" if "auc" in results else ""
        print(f"\n{part}: accuracy {results['accuracy']:.4f}{auc}")
        print(format_report(results))
    print(
        f"\nWrote {run.model_path}, {run.results_path} and {run.pictures_path}.\n"
        f"Next: tfreps classify {run.path} FILE, tfreps evaluate {run.path} --data FILES, "
        f"tfreps export {run.path} --to DIR."
    )


if __name__ == "__main__":
    raise SystemExit(main())
