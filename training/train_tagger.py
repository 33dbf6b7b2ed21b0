"""Trains a tagger: a label for every token, from CoNLL columns or JSON lines.

    tfreps train-tagger --train train.conll --dev dev.conll --test test.conll --scheme bio \
        --encoder bilstm --characters cnn --run runs/ner

Named entities in any scheme, or with --scheme none parts of speech. Killed? The same command with
--resume goes on where the last checkpoint stands. Then: tfreps evaluate, tfreps tag, tfreps export.
"""

import argparse

import keras
import numpy as np

from tfreps import encoders, fitting, inputs, plots
from tfreps.data import SequenceBatches, read_tagged
from tfreps.evaluation import check_names, evaluate_tagger
from tfreps.models import Tagger
from tfreps.program_options import Option, add_flags, parse_options
from tfreps.reports import format_report
from tfreps.run_folder import RunFolder
from tfreps.text import TagSet
from tfreps.text.tokenizers import TOKENIZERS
from tfreps.text_model import TextModel

PROGRAM = "train-tagger"
PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
SCHEMES = "bio", "iob1", "bioes", "bilou", "bmes", "none"

DATA = {
    "train": Option(str, None, "files or globs", many=True),
    "dev": Option(str, None, "held-out data, for the best weights", many=True),
    "test": Option(str, None, "data for the final figures", many=True),
    "format": Option(str, "conll", "columns, or JSON lines (conll)", ["conll", "json"]),
    "token_column": Option(int, 0, "counted from 0, from the end if negative (0)"),
    "tag_column": Option(int, -1, "(-1, the last)"),
    "scheme": Option(str, None, "of the tags; none: they are no spans", SCHEMES),
    "tokens": Option(str, "spaces", "how `tfreps tag` and exports cut text (spaces)", TOKENIZERS),
}
HEAD = {
    "softmax": Option(bool, False, "no CRF: every token for itself"),
    "constrain": Option(str, "both", "where the scheme rules (both)", ["both", "decode", "none"]),
    "transition_learning_rate": Option(float, 1.0, "factor for the CRF's scores (1)"),
    "precision": Option(str, "float32", "of products (float32)", sorted(PRECISIONS)),
}
MAY_CHANGE = {"minutes", "epochs", "checkpoint_every", "test"}


def main(argv=None):
    options = parse_options(make_parser(), argv)
    scheme = None if options.scheme == "none" else options.scheme
    run = RunFolder.begin(options.run, PROGRAM, vars(options), MAY_CHANGE)
    keras.config.set_dtype_policy(PRECISIONS[options.precision])
    keras.utils.set_random_seed(options.seed)

    data = {part: read(options, part) for part in ("train", "dev", "test")}
    tag_set = TagSet.from_sequences([s.tags for s in data["train"]], scheme, "the training data")
    check_names(tag_set.names, data["dev"] + data["test"])
    elmo = inputs.read_elmo(options)
    features = inputs.make_features(options, [s.tokens for s in data["train"]], elmo)
    model = make_model(options, features, tag_set, elmo)
    batches, dev = make_batches(options, data, features, tag_set)
    model.compile(fitting.make_optimizer(options, model, batches.num_batches()), jit_compile=False)

    run = run or RunFolder.create(options.run, PROGRAM, vars(options), options.overwrite)
    features.vocabulary.write(run.vocabulary_path)
    tag_set.write(run.tags_path)
    say_start(run, model, batches, tag_set)
    figure = "span_f1" if scheme else "accuracy"
    best = fitting.fit_epochs(
        model, batches, dev, run, options.epochs, figure,
        patience=options.patience, minutes=options.minutes, resume=options.resume,
        checkpoint_every=options.checkpoint_every,
    )  # fmt: skip

    trained = TextModel.open(run.path)
    results = {"best": best}
    for part in ("dev", "test"):
        if data[part]:
            results[part] = evaluate_tagger(trained, data[part])
    run.write_results({**run.results(), **results})
    draw(run, trained)
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
    add_flags(parser.add_argument_group("tags"), HEAD)
    add_flags(parser.add_argument_group("training"), fitting.OPTIONS)
    return parser


def read(options, part):
    """The sentences of one part of the data; none where it was not given."""
    files = getattr(options, part)
    if not files:
        if part == "train":
            raise ValueError("--train is missing: give files of tagged sentences.")
        return []
    if options.format == "json":
        return read_tagged(files, "json")
    columns = {"token_column": options.token_column, "tag_column": options.tag_column}
    return read_tagged(files, **columns)


def make_model(options, features, tag_set, elmo):
    vectors = inputs.read_vectors(options, features)
    width = None if vectors is None else vectors.matrix.shape[1]
    encoder = encoders.make_encoder(
        options, features.vocabulary_size, width, elmo, units=len(tag_set)
    )
    if vectors is not None:
        getattr(encoder, "embedder", encoder).set_word_vectors(vectors.matrix)
    return Tagger(
        encoder,
        tag_set.names,
        tag_set.scheme,
        use_crf=not options.softmax,
        constrain=options.constrain,
        dropout=0.0 if options.encoder == "window" else options.dropout,
        transition_learning_rate=options.transition_learning_rate,
        use_projection=options.encoder != "window",
        name="tagger",
    )


def make_batches(options, data, features, tag_set):
    """Batches to train on, and batches of the dev data or None."""

    def batches(part, **more):
        sentences = data[part]
        ids = [tag_set.ids(s.tags, s.file, s.line) for s in sentences]
        tokens = [s.tokens for s in sentences]
        return SequenceBatches(tokens, ids, features, options.batch_tokens, **more)

    order = {"max_rows": options.batch_rows, "shuffle": True, "seed": options.seed}
    train = batches("train", **order, length_multiple=8)
    return train, batches("dev") if data["dev"] else None


def draw(run, trained):
    """Pictures of the run, in its folder and in TensorBoard; without matplotlib, none."""
    run.pictures_path.mkdir(exist_ok=True)
    names, crf = trained.names, trained.model.crf
    try:
        pictures = [
            plots.learning_curves(
                run.logs_path / "history.jsonl", run.pictures_path / "learning_curves.png"
            ),
            plots.matrix(
                np.asarray(crf.transitions), names, names, run.pictures_path / "transitions.png",
                x="to", y="from", title="transition scores",
            ),
        ]  # fmt: skip
    except ValueError as error:
        print(f"No pictures: {error}")
        return
    plots.show_in_tensorboard(run.logs_path, pictures)


def say_start(run, model, batches, tag_set):
    print(
        f"Training {model.count_params():,} parameters in {run.path} on "
        f"{batches.num_sentences:,} sentences, {batches.num_tokens:,} tokens, {len(tag_set)} tags: "
        f"{batches.num_batches():,} steps an epoch.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )


def say_end(run, results):
    for part in ("dev", "test"):
        if part in results:
            print(f"\n{part}: accuracy {results[part]['accuracy']:.4f}")
            if "spans" in results[part]:
                print(format_report(results[part]["spans"]))
    print(
        f"\nWrote {run.model_path}, {run.results_path} and {run.pictures_path}.\n"
        f"Next: tfreps tag {run.path} FILE, tfreps evaluate {run.path} --data FILES, "
        f"tfreps export {run.path} DIR/1."
    )


if __name__ == "__main__":
    raise SystemExit(main())
