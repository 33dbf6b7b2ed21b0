"""Trains a tagger, which assigns a tag to every token.

The data are CoNLL columns, CoNLL-U, JSON lines or Python dict literals. The tags mark spans in one
of the schemes or, with --scheme none, single tokens, as parts of speech do. --resume continues an
interrupted run from its last checkpoint. tfreps evaluate, tag and export read the run folder.
"""

import pathlib

from tfreps.cli import (
    distribute_options,
    fit_options,
    input_options,
    labelling,
    training_program,
)
from tfreps.cli.encoder_kinds import ENCODERS, TAGGER
from tfreps.cli.encoder_options import make_encoder, make_linear
from tfreps.cli.messages import say_start
from tfreps.cli.options import Option, first_line
from tfreps.cli.tagged_files import OPTIONS, read_tagged_files, say_illegal
from tfreps.data import SequenceBatches
from tfreps.inference.load import load
from tfreps.models import Tagger
from tfreps.reports.evaluation import check_names, evaluate_tagger
from tfreps.text import TagSet
from tfreps.text.tokenizers import TOKENIZERS

PROGRAM = "train-tagger"
RECIPES = pathlib.Path(__file__).with_name("recipes") / PROGRAM
SCHEMES = "bio", "iob1", "bioes", "bilou", "bmes", "none"
EXAMPLES = (
    "tfreps train-tagger --train train.conll --dev dev.conll --test test.conll --scheme bio \\\n"
    "    --encoder bilstm --characters cnn --run runs/ner",
    "tfreps train-tagger --train train.conll --dev dev.conll --scheme bio --encoder bert \\\n"
    "    --bert hf://google-bert/bert-base-chinese --layer-decay 0.9 --run runs/ner",
    "tfreps train-tagger --run runs/ner --resume",
)

DATA = {
    "train": Option(
        str, None, "Files with tagged sentences, or glob patterns.", many=True, required=True
    ),
    "dev": Option(
        str, None, "Files with held-out tagged sentences, or glob patterns. The sentences are "
        "used to select the best weights.", many=True,
    ),
    "test": Option(
        str, None, "Files with tagged test sentences, or glob patterns. The final metrics are "
        "measured on them.", many=True,
    ),
    **OPTIONS,
    "scheme": Option(
        str, None, "Tag scheme that marks the spans; none for tags such as parts of speech.",
        SCHEMES, required=True,
    ),
    "tokens": Option(
        str, "spaces", "How to split raw text into tokens in 'tfreps tag' and in exported models: "
        "at white space (spaces), into characters (characters), into words and punctuation marks "
        "(words), or with the tokenizer of --bert (bert).", [*TOKENIZERS, "bert"],
        needs="encoder=bert if tokens=bert",
    ),
}  # fmt: skip
HEAD = {
    "use_crf": Option(
        bool, True, "Score the tags of a sentence jointly with a CRF instead of one by one."
    ),
    "constrain": Option(
        str, "both", "Where to exclude transitions that the scheme forbids: in the loss and in "
        "decoding (both), in decoding only (decode), or nowhere (none).",
        ["both", "decode", "none"],
    ),
    "transition_learning_rate": Option(
        float, 1.0, "Factor that multiplies the learning rate of the CRF's transitions.", above=0,
        excludes="no_use_crf",
    ),
}  # fmt: skip


def main(argv=None):
    return training_program.run_program(
        PROGRAM, make_parser(), tables(), train, argv, RECIPES, free=labelling.MAY_CHANGE
    )


def tables():
    return labelling.option_tables(TAGGER, DATA, {"tags": HEAD})


def make_parser():
    return training_program.make_parser(
        PROGRAM, first_line(__doc__), tables(), labelling.GROUPS, EXAMPLES
    )


def train(options, earlier):
    """Trains a new run or resumes the earlier one, evaluates it, and prints the results."""
    labelling.prepare(options, earlier)

    scheme = None if options.scheme == "none" else options.scheme
    data = {part: read(options, part) for part in labelling.PARTS}
    check_tags(data, scheme, options.constrain)
    tag_set = TagSet.from_sequences([s.tags for s in data["train"]], scheme, "--train")
    check_names(tag_set.names, data["dev"] + data["test"])

    with distribute_options.scope(options):
        bert = input_options.read_bert(options)
    tokens = [sentence.tokens for sentence in data["train"]]
    with distribute_options.scope(options):
        inputs = labelling.read_inputs(options, tokens, len(tag_set), bert)
    input_options.check_sentences(data, bert)
    batches = {part: make_batches(options, data, part, inputs.indexer, tag_set) for part in data}
    inputs = inputs._replace(stored=batches["train"].vector_shape)
    with distribute_options.scope(options):
        model = make_model(options, inputs, tag_set)

    run = training_program.begin_run(PROGRAM, options, earlier, tables())
    input_options.keep(run, inputs.indexer)
    run.keep(run.tags_path, tag_set.write)
    say_start(run, model, about(batches["train"], tag_set))
    monitor = "val_span_f1" if scheme else "val_accuracy"
    best = fit_options.fit(model, batches["train"], batches["dev"], run, monitor, options)

    trained = load(run.path)
    measured = {
        part: evaluate_tagger(trained, data[part], vectors=getattr(options, f"{part}_vectors"))
        for part in ("dev", "test")
        if data[part]
    }
    labelling.finish(run, trained.model, best, measured, asking="tag")
    return 0


def read(options, part):
    """Returns the sentences of one part of the data, or `[]` if it is not given."""
    files = getattr(options, part)
    return read_tagged_files(options, files) if files else []


def check_tags(data, scheme, constrain):
    """Checks that all tags are valid in the scheme; warns about transitions that it forbids."""
    for part, sentences in data.items():
        is_illegal = say_illegal(part, sentences, scheme)
        if is_illegal and part == "train" and constrain == "both":
            print("The loss treats them as impossible. Correct them, or use --constrain decode.")


def make_batches(options, data, part, indexer, tag_set):
    """Returns the batches of one part of the data, or `None` if there is no data."""
    if not data[part]:
        return None
    order = {"vectors": getattr(options, f"{part}_vectors")}
    if part == "train":
        order |= {"shuffle": True, "seed": options.seed}
        order |= {"batch_rows": options.batch_rows, "length_multiple": 8}
    tokens = [s.tokens for s in data[part]]
    ids = [tag_set.ids(s.tags, s.file, s.line) for s in data[part]]
    return SequenceBatches(tokens, ids, indexer, options.batch_tokens, **order)


def make_model(options, inputs, tag_set):
    """Returns the tagger, without a projection for encoders that output scores."""
    gives_scores = ENCODERS[options.encoder].gives_scores
    linear = make_linear(options, inputs)  # before the encoder: the order determines the seeds
    return Tagger(
        make_encoder(options, inputs),
        tag_set.names,
        tag_set.scheme,
        use_crf=options.use_crf,
        constrain=options.constrain,
        dropout=0.0 if gives_scores else options.dropout,
        transition_learning_rate=options.transition_learning_rate,
        use_projection=not gives_scores,
        linear=linear,
        name="tagger",
    )


def about(batches, tag_set):
    return (
        f" on {batches.num_sentences:,} sentences, {batches.num_tokens:,} tokens, {len(tag_set)} "
        f"tags: {batches.num_batches():,} steps per epoch"
    )


if __name__ == "__main__":
    raise SystemExit(main())
