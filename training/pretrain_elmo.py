"""Pre-trains the bidirectional language model of ELMo on your own text.

tfreps build-vocabulary creates the vocabulary. --resume continues an interrupted run from its last
checkpoint. For a first try on a laptop, use --size elmo_tiny --time-limit-minutes 3.
"""

import contextlib
import math
import os
import shlex
import sys
import types

from tfreps import data, text
from tfreps._src.cli.bilm_options import reading_options
from tfreps._src.cli.command import Command
from tfreps.training.options.elmo_options import GROUPS, SIZES

SIZE = "elmo_small"
NUM_SAMPLED = 8192  # the default of bilm-tf
SAMPLE_BATCHES = 40  # number of training batches whose full-softmax perplexity is logged
COMMAND = Command(
    "pretrain-elmo",
    __doc__,
    {},
    GROUPS,
    (
        "tfreps pretrain-elmo --size elmo_small --train 'corpus/train*.txt' \\\n"
        "    --validation corpus/validation.txt --vocabulary vocabulary.txt --run runs/elmo",
        "tfreps pretrain-elmo --run runs/elmo --resume",
        "tfreps pretrain-elmo --size elmo_tiny --time-limit-minutes 3 --train train.txt \\\n"
        "    --vocabulary vocabulary.txt --run runs/tiny",
    ),
    either=("epochs", "steps"),
)


def main(argv=None):
    from tfreps.training.options.training_command import training_run

    with training_run(COMMAND, argv, may_change=["histograms"]) as (options, earlier):
        if options is not None:
            pretrain_elmo(options, earlier)


def pretrain_elmo(options, earlier):
    """Pre-trains a biLM, and prints the results.

    If `earlier`, the run to resume, is not `None`, its training is continued.
    """
    from tfreps._src.models.sizes import ELMO
    from tfreps._src.runs.bilm_loading import restore_accumulators
    from tfreps.optimizers import build_optimizer
    from tfreps.training.loop import precision
    from tfreps.training.loop.epoch_loop import FitPlan, fit_epochs
    from tfreps.training.loop.training import make_reproducible
    from tfreps.training.options.training_command import begin_run
    from tfreps.training.workers.data_share import data_share
    from tfreps.training.workers.strategies import check_rows, open_strategy

    if options.resume and not earlier:
        print(f"There is no run in {options.run} to resume; starting a new run.", file=sys.stderr)
    vocabulary = read_vocabulary(options, earlier)
    width = options.units or (None if options.init else ELMO[options.size or SIZE]["units"])
    precision.decide(options, earlier, "elmo", options.batch_size, width, float16=True)
    make_reproducible(options)
    strategy = open_strategy(options.distribute)
    check_rows("batch_size", options.batch_size, strategy)

    with strategy.scope():
        model, accumulators = make_model(options, vocabulary)
    share = data_share(options)
    batches, counts = make_batches(options, model, vocabulary, share)
    validation, sample = make_held_out(options, model, vocabulary, counts, share)
    positions, step = counts["positions"], options.batch_size * options.unroll_steps
    per_pass = math.ceil(positions / step)
    total = options.steps or max(1, int((options.epochs or 10) * positions / step))
    epochs = data.LMEpochs(batches, options.evaluate_every or per_pass, total)
    with strategy.scope():
        model.compile(optimizer=make_optimizer(options, total), jit_compile=False)
        build_optimizer(model)
        restore_accumulators(model, accumulators)

    run = begin_run(COMMAND, options, earlier)
    run.write_asset(run.vocabulary_path, vocabulary.write)
    plan = FitPlan(
        epochs.num_epochs,
        "val_perplexity",
        time_limit_minutes=options.time_limit_minutes,
        evaluate_at_time_limit=True,
        checkpoint_every=options.checkpoint_every,
        resume=options.resume,
    )
    log = make_log(options, run, total, sample)

    about = f": {total:,} steps, {per_pass:,} per pass"
    best = fit_epochs(model, share.batches(epochs), validation, run, plan, [log], about)
    say_end(run, best)


def read_vocabulary(options, earlier):
    """Returns the `Vocabulary` of the resumed run or, for a new run, of --vocabulary or --init."""
    from tfreps._src.presets.sources import local_copy

    if earlier and earlier.vocabulary_path.exists():
        return earlier.vocabulary()
    if options.vocabulary is not None:
        return text.Vocabulary.read(options.vocabulary)
    with local_copy(options.init) if options.init else contextlib.nullcontext() as init:
        if init is not None and (init / "vocabulary.txt").exists():
            return text.Vocabulary.read(init / "vocabulary.txt")
    raise ValueError("--vocabulary is missing. Create the file with tfreps build-vocabulary.")


def make_model(options, vocabulary):
    """Returns a `BiLMPretrainer`, new or loaded from --init, and Adagrad's accumulators.

    The accumulators are a dict from paths of variables to arrays, which is empty for a new model.
    """
    from tfreps._src.models.precision import POLICIES
    from tfreps._src.models.sizes import ELMO
    from tfreps._src.runs.bilm_loading import continue_pretraining
    from tfreps._src.runs.bilm_parts import set_vocabulary, word_options
    from tfreps.models import BiLM, BiLMPretrainer

    sizes = {name: getattr(options, name) for name in SIZES if name != "dropout"}
    sizes = {name: value for name, value in sizes.items() if value is not None}
    # The name is fixed, because Keras would number default names, and names of optimizer variables
    # contain it.
    changes = {"dtype": POLICIES[options.precision], "name": "bilm"}
    if options.dropout is not None:
        changes["dropout"] = options.dropout
    default = NUM_SAMPLED if len(vocabulary) > NUM_SAMPLED else 0
    head = {
        "num_sampled": (default if options.num_sampled is None else options.num_sampled) or None,
        "batch_size": options.batch_size,
        "clip_norm": options.clip_norm or None,
        "seed": options.seed,
        "reset_probability": options.reset_probability,
        "dtype": changes["dtype"],
        "name": "pretrainer",
    }
    if options.init:
        return continue_pretraining(options.init, vocabulary, options.init_config, changes, **head)
    sizes = {"dropout": 0.1, **ELMO[options.size or SIZE], **sizes, **changes}
    sizes["use_skip_connections"] = options.use_skip_connections
    sizes["bidirectional"] = options.bidirectional
    if options.word_input:
        sizes |= word_options(vocabulary)
    model = BiLMPretrainer(
        BiLM(**sizes), len(vocabulary), tie_embeddings=options.tie_embeddings, **head
    )
    set_vocabulary(model, vocabulary)
    return model, {}


def make_batches(options, model, vocabulary, share):
    """Returns the training batches of this worker, and a dict of the counts of the whole text.

    `share` is the `DataShare` of this worker: its files, its rows of a batch and its seed. The text
    is read once, so that errors in it are raised before training starts.
    """
    files = share.files(data.find_files(options.train))
    rows = share.part("batch_size", options.batch_size)
    order = {"shuffle": True, "seed": share.seed(options.seed), "skip_blank": True}
    shape = rows, options.unroll_steps
    with share.workers.together():
        batches = data.LMBatches(files, vocabulary, *shape, **order, **reading_options(model.bilm))
        counts = batches.count()._asdict()
    counts = share.total(counts)
    print(
        f"Training text: {counts['tokens']:,} tokens in {counts['sentences']:,} sentences, "
        f"{counts['unknown_tokens'] / counts['tokens']:.2%} outside the vocabulary of "
        f"{len(vocabulary):,} tokens."
    )
    if model.num_sampled and not options.allow_unsorted_vocabulary:
        vocabulary.check_order(counts["token_counts"])
    return batches, counts


def make_held_out(options, model, vocabulary, counts, share):
    """Returns the batches of --validation, and a sample of the training batches for comparison.

    `counts` are the counts of the training text, and `share` is the `DataShare` of this worker.
    Both results are `None` without --validation. The sample is also `None` without a sampled
    softmax. If each worker reads its own files, the sample is drawn from the first file only.
    """
    if not options.validation:
        return None, None
    reading = {"batch_size": options.batch_size, **reading_options(model.bilm)}
    data.count_corpus(options.validation, vocabulary, skip_blank=True)
    held_out = data.sentence_batches(options.validation, vocabulary, **reading)
    validation = types.SimpleNamespace(dataset=lambda: held_out)
    if not model.num_sampled:
        return validation, None
    files = data.find_files(options.train)
    used = files[:1] if share.divided else files
    of_text = sum(map(os.path.getsize, used)) / sum(map(os.path.getsize, files))
    num_batches = int(counts["sentences"] * of_text) // options.batch_size
    sample = data.sentence_batches(used, vocabulary, **reading)
    return validation, sample.shard(max(1, num_batches // SAMPLE_BATCHES), 0)


def make_optimizer(options, total_steps):
    """Returns bilm-tf's Adagrad, or Adam. The model, not the optimizer, clips the gradients."""
    import keras

    from tfreps.optimizers import FusedAdam, TF1Adagrad

    rate = options.learning_rate or {"adagrad": 0.2, "adam": 1e-3}[options.optimizer]
    if options.schedule == "cosine":
        rate = keras.optimizers.schedules.CosineDecay(
            0.0 if options.warmup_steps else rate,
            max(1, total_steps - options.warmup_steps),
            warmup_target=rate if options.warmup_steps else None,
            warmup_steps=options.warmup_steps,
        )
    return TF1Adagrad(rate) if options.optimizer == "adagrad" else FusedAdam(rate)


def make_log(options, run, total_steps, sample):
    from tfreps._src.cli.progress import say_progress
    from tfreps.callbacks import TrainingLog

    return TrainingLog(
        run.logs_path,
        options.batch_size * options.unroll_steps,
        total_steps,
        update_freq=options.log_every,
        time_limit_minutes=options.time_limit_minutes,
        train_sample=sample,
        histograms=options.histograms,
        print_fn=say_progress,
    )


def say_end(run, best):
    if not run.model_path.exists():
        raise ValueError(
            f"No model was saved in {run.path}: the disk was full, or the validation perplexity "
            "was never finite. In the latter case, lower --learning-rate."
        )
    steps = best.pop("steps")
    run.write_results({**run.results(), "steps": steps, "best_validation": best})
    if best:
        print(f"Best validation perplexity: {best['perplexity']:.2f} at step {best['step']:,}.")
    folder = shlex.quote(str(run.path))
    print(
        f"Wrote {run.model_path}.\nNext: tfreps evaluate-lm {folder} --text FILE, tfreps embed "
        f"{folder} FILE --output FILE.hdf5, or tfreps export {folder} --output DIR."
    )
