"""Trains a tagger: a label for every token, from CoNLL columns or JSON lines.

    tfreps train-tagger --train train.conll --dev dev.conll --test test.conll --scheme bio \
        --encoder bilstm --characters cnn --run runs/ner
    tfreps train-tagger --train train.conll --dev dev.conll --scheme bio --encoder bert \
        --bert bert-base-chinese --layer-decay 0.9 --learning-rate 5e-5 --run runs/ner

Named entities in any scheme, or with --scheme none parts of speech. Killed? tfreps train-tagger
--run runs/ner --resume goes on where the last checkpoint stands. Then: tfreps evaluate, tfreps tag,
tfreps export.
"""

import pathlib

from tfreps.cli import fit_options, input_options, labelling, training_program
from tfreps.cli.encoder_kinds import ENCODERS, TAGGER
from tfreps.cli.encoder_options import make_encoder, make_linear
from tfreps.cli.messages import say_start
from tfreps.cli.options import Option, first_line
from tfreps.data import SequenceBatches, read_tagged
from tfreps.inference.load import load
from tfreps.models import Tagger
from tfreps.reports.evaluation import check_names, evaluate_tagger
from tfreps.text import TagSet, tags
from tfreps.text.tokenizers import TOKENIZERS

PROGRAM = "train-tagger"
RECIPES = pathlib.Path(__file__).with_name("recipes") / PROGRAM
SCHEMES = "bio", "iob1", "bioes", "bilou", "bmes", "none"

DATA = {
    "train": Option(str, None, "files or globs of tagged sentences", many=True, required=True),
    "dev": Option(str, None, "held-out data, for the best weights", many=True),
    "test": Option(str, None, "data for the final metrics", many=True),
    "format": Option(
        str, "conll", "columns, JSON lines, or lines of Python dict literals (conll)",
        ["conll", "json", "python"],
    ),
    "token_column": Option(int, 0, "of the token, counted from 0; from the end if negative (0)"),
    "tag_column": Option(int, -1, "of its tag (-1, the last)"),
    "scheme": Option(
        str, None, "how the tags write spans; none for tags without, such as parts of speech",
        SCHEMES, required=True,
    ),
    "encoding": Option(str, "utf-8", "of the files (utf-8)"),
    "tokens": Option(
        str, "spaces", "how `tfreps tag` and exports cut text; bert: as the one given (spaces)",
        [*TOKENIZERS, "bert"], needs="encoder=bert if tokens=bert",
    ),
}  # fmt: skip
HEAD = {
    "use_crf": Option(bool, True, "tags of a sentence together; or every token for itself"),
    "constrain": Option(str, "both", "where the scheme rules (both)", ["both", "decode", "none"]),
    "transition_learning_rate": Option(
        float, 1.0, "factor for the CRF's scores (1)", above=0, excludes="no_use_crf"
    ),
}


def main(argv=None):
    return training_program.run_program(
        PROGRAM, make_parser(), tables(), train, argv, RECIPES, free=labelling.MAY_CHANGE
    )


def tables():
    return labelling.option_tables(TAGGER, DATA, {"tags": HEAD})


def make_parser():
    return training_program.make_parser(PROGRAM, first_line(__doc__), tables())


def train(options, earlier):
    """Trains, measures and reports; goes on with the earlier run if there is one."""
    fit_options.prepare(options)

    scheme = None if options.scheme == "none" else options.scheme
    data = {part: read(options, part) for part in labelling.PARTS}
    check_tags(data, scheme, options.constrain)
    tag_set = TagSet.from_sequences([s.tags for s in data["train"]], scheme, "--train")
    check_names(tag_set.names, data["dev"] + data["test"])

    bert = input_options.read_bert(options)
    tokens = [sentence.tokens for sentence in data["train"]]
    inputs = labelling.read_inputs(options, tokens, len(tag_set), bert)
    input_options.check_sentences(data, bert)
    batches = {part: make_batches(options, data, part, inputs.indexer, tag_set) for part in data}
    inputs = inputs._replace(stored=batches["train"].vector_shape)
    model = make_model(options, inputs, tag_set)

    run = training_program.begin_run(PROGRAM, options, earlier)
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
    """The sentences of one part of the data; none where it was not given."""
    files = getattr(options, part)
    if not files:
        return []
    how = {"encoding": options.encoding}
    if options.format == "conll":
        how |= {"token_column": options.token_column, "tag_column": options.tag_column}
    return read_tagged(files, options.format, **how)


def check_tags(data, scheme, constrain):
    """Makes sure that all tags belong to the scheme, and tells where sentences break it."""
    for part, sentences in data.items():
        illegal = [(tags.check(s.tags, scheme, s.file, s.line), s) for s in sentences]
        broken = [(count, s) for count, s in illegal if count]
        if not broken:
            continue
        first = broken[0][1]
        print(
            f"Warning: --{part} has {sum(count for count, _ in broken):,} transitions that are "
            f"illegal in {scheme!r}, in {len(broken):,} of {len(sentences):,} sentences, first in "
            f"that from line {first.line} of {first.file}."
        )
        if part == "train" and constrain == "both":
            print("The loss takes them for impossible: correct them, or use --constrain decode.")


def make_batches(options, data, part, indexer, tag_set):
    """The batches of one part of the data; None without."""
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
    """The tagger; a linear encoder's output has a score for each tag already."""
    gives_scores = ENCODERS[options.encoder].gives_scores
    linear = make_linear(options, inputs)  # before the encoder: the order decides their seeds
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
        f"tags: {batches.num_batches():,} steps an epoch"
    )


if __name__ == "__main__":
    raise SystemExit(main())
