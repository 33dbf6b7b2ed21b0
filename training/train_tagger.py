"""Trains a tagger, which assigns a tag to every token.

The data are CoNLL columns, CoNLL-U, JSON lines or Python dict literals. The tags mark spans in one
of the schemes or, with --scheme none, single tokens, as parts of speech do. --resume continues an
interrupted run from its last checkpoint. tfreps evaluate, tag and export read the run folder. With
--seeds, one run per random seed is trained, and the mean and spread of the metrics are reported.
"""

import pathlib

from tfreps import data, tags
from tfreps._src.cli import bilm_options, tagged_files
from tfreps._src.cli.command import Command, DefaultRecipe, Group
from tfreps._src.cli.options import Option
from tfreps._src.text.tags.tag_set import possible_names
from tfreps._src.text.tokenizers import TOKENIZERS
from tfreps.training.options import encoder_options

DATA = {
    **tagged_files.OPTIONS,
    "tokens": Option(
        str, "spaces", "How to split raw text into tokens in 'tfreps tag' and in exported models: "
        "at white space (spaces), into characters without white space (characters) or with it "
        "(all_characters), into words and punctuation marks (words), as the Penn Treebank and "
        "CoNLL-2003 do (treebank), or with the tokenizer of --bert (bert).", [*TOKENIZERS, "bert"],
        needs="encoder=bert if tokens=bert", unused_with="init",
    ),
    "partial_tags": Option(
        bool, False, "The sentences of --train are partly tagged: a tag such as B-PER|B-ORG means "
        "that the token has one of these tags, and _ that its tag is unknown.",
    ),
}  # fmt: skip
HEAD = {
    "use_crf": Option(
        bool, True, "Score the tags of a sentence jointly with a CRF instead of one by one."
    ),
    "constrain": Option(
        str, "both", "Where to exclude transitions between tags that the scheme forbids: in the "
        "loss and in decoding (both), in decoding only (decode), or nowhere (none).",
        ["both", "decode", "none"],
    ),
    "transition_learning_rate_factor": Option(
        float, 1.0, "Factor that multiplies the learning rate of the CRF's transition scores.",
        above=0, excludes="no_use_crf",
    ),
}  # fmt: skip


def takes_recipe(options):
    """Returns True for a BiLSTM or BiGRU that learns its word vectors from random values."""
    return not options.init and encoder_options.learns_word_vectors(options, "bilstm", "bigru")


COMMAND = Command(
    "train-tagger",
    __doc__,
    {},
    encoder_options.labeling_groups(
        encoder_options.TAGGER, DATA, Group("tags", "Output layer that scores tags.", HEAD)
    ),
    (
        "tfreps train-tagger --train train.conll --validation validation.conll \\\n"
        "    --test test.conll --scheme bio --encoder bilstm --characters cnn --run runs/ner",
        "tfreps train-tagger --train train.conll --validation validation.conll --scheme bio \\\n"
        "    --encoder bert --bert hf://google-bert/bert-base-chinese --run runs/ner",
        "tfreps train-tagger --run runs/ner --resume",
    ),
    recipes=pathlib.Path(__file__).with_name("recipes") / "train-tagger",
    default_recipe=DefaultRecipe(
        "bilstm", takes_recipe, "bilstm and bigru without pre-trained vectors"
    ),
    flags=bilm_options.FLAGS,
)


def main(argv=None):
    from tfreps.training.options.seeds import train_seeds

    train_seeds(COMMAND, train_tagger, argv, set_defaults, encoder_options.MAY_CHANGE)


def set_defaults(options):
    encoder_options.set_defaults(options, encoder_options.TAGGER)


def train_tagger(options, earlier):
    """Trains a tagger, evaluates it, and prints the results.

    If `earlier`, the run to resume, is not `None`, its training is continued.
    """
    from tfreps import load
    from tfreps._src.reports.evaluation import check_known_names, evaluate_tagger
    from tfreps.training.inputs import bert_inputs
    from tfreps.training.inputs import read_inputs as reading
    from tfreps.training.loop import training
    from tfreps.training.options import labeling
    from tfreps.training.options.training_command import begin_run
    from tfreps.training.workers.strategies import open_strategy

    labeling.prepare(options, earlier)
    scheme = None if options.scheme == "none" else options.scheme
    parts = tagged_files.read_parts(options)
    loss_forbids = options.use_crf and options.constrain == "both"
    names = [s.tags for s in parts["train"]]
    fully_tagged = parts
    if options.partial_tags:
        names = [[n for tag in sentence for n in possible_names(tag)] for sentence in names]
        whole = [s for s, found in zip(parts["train"], names, strict=True) if found == s.tags]
        fully_tagged = {**parts, "train": whole}
    tagged_files.check_tags(fully_tagged, scheme, loss_forbids)
    tag_set = tags.TagSet.from_sequences(names, scheme, "--train")
    check_known_names(tag_set.names, parts["validation"] + parts["test"])

    strategy = open_strategy(options.distribute)
    with strategy.scope():
        tokens = [sentence.tokens for sentence in parts["train"]]
        if options.init:
            inputs = reading.read_initial(options, len(tag_set))
        else:
            bert = bert_inputs.read_bert(options, print)
            inputs = reading.read_inputs(options, tokens, len(tag_set), print, bert)
    bert_inputs.check_sentences(parts, inputs.bert)
    tagged_files.check_tokens(tokens, options.tokens, inputs.bert, options.init)
    batches = {part: make_batches(options, parts, part, inputs.indexer, tag_set) for part in parts}
    inputs = inputs._replace(stored=batches["train"].vector_shape)
    with strategy.scope():
        model = make_model(options, inputs, tag_set)
    inputs = inputs._replace(vectors=None)  # frees the vectors, because the model has a copy

    run = begin_run(COMMAND, options, earlier)
    reading.keep(run, inputs.indexer)
    run.write_asset(run.tags_path, tag_set.write)
    what = about(batches["train"], tag_set)
    monitor = "val_span_f1" if scheme else "val_accuracy"
    best = training.fit(model, batches["train"], batches["validation"], run, monitor, options, what)

    trained = load(run.path)
    measured = {
        part: evaluate_tagger(trained, parts[part], vectors=getattr(options, f"{part}_vectors"))
        for part in ("validation", "test")
        if parts[part]
    }
    labeling.finish(run, trained.model, best, measured, "tag")


def make_batches(options, parts, part, indexer, tag_set):
    """Returns the `SequenceBatches` of one part of the data, or `None` if this part is empty."""
    if not parts[part]:
        return None
    order = {"vectors": getattr(options, f"{part}_vectors")}
    if part == "train":
        order |= {"shuffle": True, "seed": options.seed}
        order |= {"batch_size": options.batch_size, "length_multiple": 8}
    tokens = [s.tokens for s in parts[part]]
    is_partial = part == "train" and options.partial_tags
    encode = tag_set.encode_partial if is_partial else tag_set.encode
    ids = [encode(s.tags, s.file, s.line) for s in parts[part]]
    return data.SequenceBatches(tokens, ids, indexer, options.batch_tokens, **order)


def make_model(options, inputs, tag_set):
    """Returns a new `Tagger` on the encoder that the options describe or name.

    If the outputs of the encoder are already the scores of tags, the tagger has no projection.
    """
    from tfreps.models import Tagger
    from tfreps.training.inputs.encoders import make_encoder, make_linear

    gives_scores = not options.init and encoder_options.ENCODERS[options.encoder].gives_scores
    # Built before the encoder, because the order determines the seeds.
    linear = make_linear(options, inputs)
    return Tagger(
        make_encoder(options, inputs),
        tag_set.names,
        tag_set.scheme,
        use_crf=options.use_crf,
        constrain=options.constrain,
        dropout=0.0 if gives_scores else options.dropout,
        transition_learning_rate_factor=options.transition_learning_rate_factor,
        use_projection=not gives_scores,
        linear=linear,
        name="tagger",
    )


def about(batches, tag_set):
    return (
        f" on {batches.num_sentences:,} sentences, {batches.num_tokens:,} tokens, {len(tag_set)} "
        f"tags: {batches.num_batches():,} steps per epoch"
    )
