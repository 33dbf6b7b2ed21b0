"""Trains a tagger: a label for every token, from CoNLL columns or JSON lines.

    tfreps train-tagger --train train.conll --dev dev.conll --test test.conll --scheme bio \
        --encoder bilstm --characters cnn --run runs/ner
    tfreps train-tagger --train train.conll --dev dev.conll --scheme bio --encoder bert \
        --bert bert-base-chinese --layer-decay 0.9 --learning-rate 5e-5 --run runs/ner

Named entities in any scheme, or with --scheme none parts of speech. Killed? tfreps train-tagger
--run runs/ner --resume goes on where the last checkpoint stands. Then: tfreps evaluate, tfreps tag,
tfreps export.
"""

import argparse
import pathlib

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
from tfreps.data import SequenceBatches, read_tagged
from tfreps.inference.load import load
from tfreps.models import Tagger
from tfreps.reports import format_report
from tfreps.reports.evaluation import check_names, evaluate_tagger
from tfreps.runs.run_folder import RunFolder
from tfreps.text import TagSet, tags
from tfreps.text.tokenizers import TOKENIZERS

PROGRAM = "train-tagger"
RECIPES = pathlib.Path(__file__).with_name("recipes") / PROGRAM
SCHEMES = "bio", "iob1", "bioes", "bilou", "bmes", "none"

DATA = {
    "train": Option(str, None, "files or globs of tagged sentences", many=True, required=True),
    "dev": Option(str, None, "held-out data, for the best weights", many=True),
    "test": Option(str, None, "data for the final figures", many=True),
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
        [*TOKENIZERS, "bert"],
    ),
}  # fmt: skip
HEAD = {
    "softmax": Option(bool, False, "no CRF: every token for itself"),
    "constrain": Option(str, "both", "where the scheme rules (both)", ["both", "decode", "none"]),
    "transition_learning_rate": Option(float, 1.0, "factor for the CRF's scores (1)", above=0),
}
TABLES = {
    "data": DATA,
    "words": input_options.OPTIONS,
    "encoder": encoder_options.OPTIONS_OF_TAGGERS,
    "tags": HEAD,
    "training": fit_options.OPTIONS,
}


def main(argv=None):
    options = parse_options(make_parser(), argv, RECIPES)
    check_options(options, *TABLES.values())
    input_options.check(options)
    encoder_options.check(options)
    optimizer_options.check(options)
    if options.softmax and options.transition_learning_rate != 1.0:
        raise ValueError("--transition-learning-rate is for a CRF: leave --softmax out.")
    if options.tokens == "bert" and options.encoder != "bert":
        raise ValueError("--tokens bert cuts text as a BERT does: give --encoder bert.")
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

    scheme = None if options.scheme == "none" else options.scheme
    data = {part: read(options, part) for part in ("train", "dev", "test")}
    check_tags(data, scheme, options.constrain)
    tag_set = TagSet.from_sequences([s.tags for s in data["train"]], scheme, "--train")
    check_names(tag_set.names, data["dev"] + data["test"])
    elmo, bert = input_options.read_elmo(options), input_options.read_bert(options)
    indexer = input_options.make_indexer(options, [s.tokens for s in data["train"]], elmo, bert)
    input_options.check_sentences(data, bert)
    batches = {part: make_batches(options, data, part, indexer, tag_set) for part in data}
    model = make_model(options, indexer, tag_set, elmo, batches["train"].vector_shape, bert)

    run = earlier or RunFolder.create(options.run, PROGRAM, vars(options), options.overwrite)
    go_on_with(run.resume_command())
    input_options.keep(run, indexer)
    run.keep(run.tags_path, tag_set.write)
    say_start(run, model, batches["train"], tag_set)
    figure = "span_f1" if scheme else "accuracy"
    best = fit_options.fit(model, batches["train"], batches["dev"], run, figure, options)

    trained = load(run.path)
    measured = {
        part: evaluate_tagger(trained, data[part], vectors=getattr(options, f"{part}_vectors"))
        for part in ("dev", "test")
        if data[part]
    }
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
        order |= {"max_rows": options.batch_rows, "length_multiple": 8}
    tokens = [s.tokens for s in data[part]]
    ids = [tag_set.ids(s.tags, s.file, s.line) for s in data[part]]
    return SequenceBatches(tokens, ids, indexer, options.batch_tokens, **order)


def make_model(options, indexer, tag_set, elmo, stored, bert):
    vectors = input_options.read_vectors(options, indexer)
    is_linear = options.encoder == "linear"  # its output has a score for each tag already
    linear = encoder_options.make_linear(options, indexer, len(tag_set))
    units = len(tag_set)
    return Tagger(
        encoder_options.make_encoder(options, indexer, vectors, elmo, stored, units, bert),
        tag_set.names,
        tag_set.scheme,
        use_crf=not options.softmax,
        constrain=options.constrain,
        dropout=0.0 if is_linear else options.dropout,
        transition_learning_rate=options.transition_learning_rate,
        use_projection=not is_linear,
        linear=linear,
        name="tagger",
    )


def say_start(run, model, batches, tag_set):
    print(
        f"Training {model.count_params():,} parameters in {run.path} on "
        f"{batches.num_sentences:,} sentences, {batches.num_tokens:,} tokens, {len(tag_set)} tags: "
        f"{batches.num_batches():,} steps an epoch.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )


def say_end(run, measured):
    for part, results in measured.items():
        print(f"\n{part}: accuracy {results['accuracy']:.4f}")
        if "spans" in results:
            print(format_report(results["spans"]))
    print(
        f"\nWrote {run.model_path}, {run.results_path} and {run.pictures_path}.\n"
        f"Next: tfreps tag {run.path} FILE, tfreps evaluate {run.path} --data FILES, "
        f"tfreps export {run.path} --to DIR."
    )


if __name__ == "__main__":
    raise SystemExit(main())
