"""Pre-trains the bidirectional language model of ELMo on your own text.

    tfreps build-vocabulary corpus/train*.txt --output vocabulary.txt
    tfreps pretrain-elmo --preset elmo_small --train 'corpus/train*.txt' \
        --validation corpus/validation.txt --vocabulary vocabulary.txt --run runs/elmo

Killed? tfreps pretrain-elmo --run runs/elmo --resume goes on where the last checkpoint stands. On a
laptop: --preset elmo_tiny --minutes 3.
"""

import argparse
import pathlib
import sys
import warnings

import keras
import tensorflow as tf

from tfreps.callbacks import BestModel, Checkpoints, TrainingLog
from tfreps.callbacks.stop_signals import go_on_with, held_back, stopped_by_signals
from tfreps.cli import elmo_options
from tfreps.cli.options import add_flags, first_line, parse_options
from tfreps.data import LMBatches, count_corpus, sentence_batches
from tfreps.distribute.epoch_loop import measure_epoch
from tfreps.models import BiLM, BiLMPretrainer
from tfreps.models.presets import ELMO
from tfreps.optimizers import FusedAdam, TF1Adagrad, build_optimizer
from tfreps.runs.bilm_continuation import (
    continue_pretraining,
    restore_accumulators,
    set_vocabulary,
    word_options,
)
from tfreps.runs.run_folder import RunFolder
from tfreps.text import Vocabulary

PROGRAM = "pretrain-elmo"
PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
# Moved text is recognised by its contents.
MAY_CHANGE = {"train", "minutes", "histograms", "checkpoint_every"}
NUM_SAMPLED = 8192  # as in bilm-tf
SAMPLE_BATCHES = 40  # of training sentences of all lengths, whose full-softmax perplexity is logged


def main(argv=None):
    options = parse_options(make_parser(), argv, either=("epochs", "steps"))
    elmo_options.check(options)
    # Keras says so of every data set whose length it does not know.
    warnings.filterwarnings("ignore", message="Your input ran out of data")
    free = MAY_CHANGE | ({"epochs", "steps"} if options.schedule == "constant" else set())
    with (
        RunFolder.begin(options.run, PROGRAM, vars(options), free) as earlier,
        stopped_by_signals(),
    ):
        return train(options, earlier)


def train(options, earlier):
    """Trains and reports; goes on with the earlier run if there is one."""
    if options.resume and not earlier:
        print(f"There is no run in {options.run} to resume: beginning one.", file=sys.stderr)
    vocabulary = read_vocabulary(options, earlier)
    keras.utils.set_random_seed(options.seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()

    model, accumulators = make_model(options, vocabulary)
    batches, validation, sample = make_data(options, model, vocabulary)
    steps_per_epoch, total_steps = count_steps(options, batches)
    model.compile(optimizer=make_optimizer(options, total_steps), jit_compile=False)
    build_optimizer(model)
    restore_accumulators(model, accumulators)

    run = earlier or RunFolder.create(options.run, PROGRAM, vars(options), options.overwrite)
    go_on_with(run.resume_command())
    run.keep(run.vocabulary_path, vocabulary.write)
    callbacks = make_callbacks(options, run, batches, total_steps, sample)
    checkpoints = callbacks[-1]
    position = checkpoints.restore(model) if options.resume else None
    say_start(run, model, batches, checkpoints.step, total_steps)
    model.stop_training = False
    with held_back(), checkpoints.kept_when_stopped():
        if checkpoints.unmeasured is not None:
            measure_epoch(model, validation, callbacks, 0, checkpoints.unmeasured)
        while checkpoints.step < total_steps and not model.stop_training:
            epoch, epochs, steps = next_epochs(checkpoints.step, steps_per_epoch, total_steps)
            model.fit(
                batches.dataset(position),
                initial_epoch=epoch,
                epochs=epochs,
                steps_per_epoch=steps,
                validation_data=validation,
                callbacks=callbacks,
                shuffle=False,
                verbose=0,
            )
            position = batches.state(checkpoints.step)
    say_end(run, checkpoints)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=first_line(__doc__))
    add = parser.add_argument_group("text").add_argument
    add("--train", nargs="+", required=True, help="files or globs, one tokenised sentence a line")
    add("--validation", nargs="+", help="held-out text, for perplexity and the best weights")
    add("--vocabulary", help="file of tfreps build-vocabulary; with --init RUN its own by default")
    add("--run", required=True, help="folder to make: model, checkpoints, logs")
    add("--resume", action="store_true", help="go on with the killed run in that folder")
    add("--overwrite", action="store_true", help="replace an earlier run in that folder")
    model = parser.add_argument_group("model")
    add = model.add_argument
    add("--init", help="go on from HDF5 weights, a bilm-tf checkpoint folder or a run folder")
    add("--init-options", help="options.json of --init, if it does not lie beside it")
    add("--preset", choices=sorted(ELMO), help="sizes (elmo_small), unless these flags say others:")
    add_flags(model, elmo_options.SIZES)
    add("--no-skip-connections", action="store_true")
    add("--forward-only", action="store_true", help="one direction instead of two")
    add("--word-input", action="store_true", help="read token ids instead of characters")
    add("--tied", action="store_true", help="with --word-input: embedding and softmax are one")
    add("--precision", choices=sorted(PRECISIONS), default="float32", help="of products (float32)")
    training = parser.add_argument_group("training")
    add_flags(training, elmo_options.TRAINING)
    add = training.add_argument
    add("--any-order", action="store_true", help="sample although the vocabulary is not sorted")
    add("--optimizer", choices=["adagrad", "adam"], default="adagrad", help="(adagrad)")
    add("--schedule", choices=["constant", "cosine"], default="constant", help="(constant)")
    add("--deterministic", action="store_true", help="same numbers in every run; slower on GPUs")
    figures = parser.add_argument_group("figures")
    add_flags(figures, elmo_options.FIGURES)
    add = figures.add_argument
    add("--histograms", action="store_true", help="of all weights, in TensorBoard")
    return parser


def read_vocabulary(options, earlier):
    """That of the run to resume, else that of the flag, else that of --init."""
    if earlier and earlier.vocabulary_path.exists():
        return earlier.vocabulary()
    inherited = pathlib.Path(options.init or "", "vocabulary.txt")
    if options.vocabulary is None and not (options.init and inherited.exists()):
        raise ValueError("--vocabulary is missing: make one with tfreps build-vocabulary.")
    return Vocabulary.read(options.vocabulary or inherited)


def make_model(options, vocabulary):
    """A fresh pretrainer, or one that goes on from --init; and Adagrad's accumulators by path."""
    sizes = {name: getattr(options, name) for name in elmo_options.SIZES if name != "dropout"}
    sizes = {name: value for name, value in sizes.items() if value is not None}
    switches = "preset", "no_skip_connections", "forward_only", "word_input", "tied"
    # Names that Keras does not count up: those of the optimiser hold them.
    changes = {"dtype": PRECISIONS[options.precision], "name": "bilm"}
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
        fixed = [*sizes, *(name for name in switches if getattr(options, name))]
        if fixed:
            raise ValueError(f"--init brings its own {', '.join(fixed)}: leave the flags out.")
        return continue_pretraining(options.init, vocabulary, options.init_options, changes, **head)
    sizes = {"dropout": 0.1, **ELMO[options.preset or "elmo_small"], **sizes, **changes}
    sizes["use_skip_connections"] = not options.no_skip_connections
    sizes["bidirectional"] = not options.forward_only
    if options.word_input:
        sizes |= word_options(vocabulary)
    model = BiLMPretrainer(BiLM(**sizes), len(vocabulary), tied=options.tied, **head)
    set_vocabulary(model, vocabulary)
    return model, {}


def make_data(options, model, vocabulary):
    """Batches to train on; whole sentences to measure on, held out and of the training text.

    Reads all text once, so that what is wrong with it shows before training starts.
    """
    bilm = model.bilm
    reading = {
        "bidirectional": bilm.bidirectional,
        "characters": "table" if bilm.vocabulary_size is None else None,
        "max_characters": bilm.max_characters,
    }
    shape = options.batch_size, options.unroll_steps
    order = {"shuffle": True, "seed": options.seed}
    batches = LMBatches(options.train, vocabulary, *shape, skip_blank=True, **order, **reading)
    counts = batches.count()
    print(
        f"Training text: {counts.tokens:,} tokens in {counts.sentences:,} sentences, "
        f"{counts.unknown_tokens / counts.tokens:.2%} outside the vocabulary of "
        f"{len(vocabulary):,}."
    )
    if model.num_sampled and not options.any_order:
        vocabulary.check_order(counts.token_counts)
    validation = sample = None
    if options.validation:
        count_corpus(options.validation, vocabulary, skip_blank=True)
        held_out, train = options.validation, options.train
        validation = sentence_batches(held_out, vocabulary, options.batch_size, **reading)
        if model.num_sampled:
            sample = sentence_batches(train, vocabulary, options.batch_size, **reading)
            all_batches = counts.sentences // options.batch_size
            sample = sample.shard(max(1, all_batches // SAMPLE_BATCHES), 0)
    return batches, validation, sample


def make_optimizer(options, total_steps):
    """bilm-tf's Adagrad, or Adam; clipping is the model's, over all directions at once."""
    rate = options.learning_rate or {"adagrad": 0.2, "adam": 1e-3}[options.optimizer]
    if options.schedule == "cosine":
        rate = keras.optimizers.schedules.CosineDecay(
            0.0 if options.warmup_steps else rate,
            max(1, total_steps - options.warmup_steps),
            warmup_target=rate if options.warmup_steps else None,
            warmup_steps=options.warmup_steps,
        )
    return TF1Adagrad(rate) if options.optimizer == "adagrad" else FusedAdam(rate)


def count_steps(options, batches):
    """Updates between two measurements, and of the whole run."""
    positions, per_step = batches.count().positions, options.batch_size * options.unroll_steps
    total = options.steps or max(1, int((options.epochs or 10) * positions / per_step))
    return options.evaluate_every or -(-positions // per_step), total


def next_epochs(step, steps_per_epoch, total_steps):
    """First epoch, last, steps of one `fit`: a torn or short epoch alone, whole ones together."""
    epoch, done = divmod(step, steps_per_epoch)
    whole = total_steps // steps_per_epoch
    if done or epoch == whole:
        return epoch, epoch + 1, min(steps_per_epoch - done, total_steps - step)
    return epoch, whole, steps_per_epoch


def make_callbacks(options, run, batches, total_steps, sample):
    best, tokens_per_step = {}, options.batch_size * options.unroll_steps
    every = options.checkpoint_every
    checkpoints = Checkpoints(run.checkpoints_path, batches.state, every, extra=best)
    figures = {"every": options.log_every, "train_sample": sample, "histograms": options.histograms}
    log = TrainingLog(
        run.logs_path, tokens_per_step, total_steps, checkpoints, minutes=options.minutes, **figures
    )
    return [log, BestModel(run.save_model, best, checkpoints), checkpoints]


def say_start(run, model, batches, step, total_steps):
    print(
        f"{'Resuming' if step else 'Training'} {model.count_params():,} parameters in {run.path}: "
        f"step {step:,} of {total_steps:,}, {batches.batches_per_pass:,} a pass.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )


def say_end(run, checkpoints):
    best = checkpoints.extra
    if not run.model_path.exists():
        raise ValueError(
            f"No model was saved in {run.path}: there was no disk space, or the validation "
            "perplexity was never a number. In the latter case lower --learning-rate."
        )
    run.write_results({**run.results(), "steps": checkpoints.step, "best_validation": best})
    if best:
        print(f"Best validation perplexity {best['perplexity']:.2f} at step {best['step']:,}.")
    print(
        f"Wrote {run.model_path}.\nNext: tfreps evaluate-lm {run.path} --text FILES, "
        f"tfreps embed, tfreps export."
    )


if __name__ == "__main__":
    raise SystemExit(main())
