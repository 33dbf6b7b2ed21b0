"""Pre-trains the bidirectional language model of ELMo on your own text.

    tfreps build-vocabulary corpus/train*.txt --output vocabulary.txt
    tfreps pretrain-elmo --preset elmo_small --train 'corpus/train*.txt' \
        --validation corpus/validation.txt --vocabulary vocabulary.txt --run runs/elmo

Killed? The same command with --resume goes on where the last checkpoint stands. On a laptop:
--preset elmo_tiny --minutes 3.
"""

import argparse
import json
import pathlib
import warnings

import keras
import tensorflow as tf

from tfreps.callbacks import BestModel, Checkpoints, TrainingLog
from tfreps.convert import bilm_tf_checkpoint
from tfreps.data import LMBatches, sentence_batches
from tfreps.models import BiLM, BiLMPretrainer
from tfreps.models.presets import ELMO
from tfreps.optimizers import TF1Adagrad
from tfreps.run_folder import RunFolder, parse_options
from tfreps.text import Vocabulary

PROGRAM = "pretrain-elmo"
# Options of BiLM that have a flag of their own, with the type of the flag.
MODEL_FLAGS = {
    "filters": json.loads,
    "character_dim": int,
    "num_highways": int,
    "activation": str,
    "max_characters": int,
    "units": int,
    "projection_dim": int,
    "num_layers": int,
    "cell_clip": float,
    "projection_clip": float,
    "dropout": float,
}
PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
# Every 8th batch of sentences, up to 40: the training text whose full-softmax perplexity is logged.
SAMPLE_EVERY, SAMPLE_BATCHES = 8, 40


def main(argv=None):
    options = parse_options(make_parser(), argv)
    # Keras says so of every data set whose length it does not know.
    warnings.filterwarnings("ignore", message="Your input ran out of data")
    run = open_run(options)
    keras.utils.set_random_seed(options.seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()
    vocabulary = Vocabulary.read(run.vocabulary_path)
    batches = make_batches(options, vocabulary)
    check_text(options, vocabulary, batches)

    model, accumulators = make_model(options, vocabulary)
    steps_per_epoch, total_steps = count_steps(options, batches)
    model.compile(optimizer=make_optimizer(options, total_steps), jit_compile=False)
    restore_accumulators(model, accumulators)
    callbacks = make_callbacks(options, run, batches, total_steps, vocabulary)
    checkpoints = callbacks[-1]
    position = checkpoints.restore(model) if options.resume else None
    say_start(options, run, model, batches, checkpoints.step, total_steps)

    validation = None
    if options.validation:
        validation = sentences(options, options.validation, vocabulary)
    model.stop_training = False
    while checkpoints.step < total_steps and not model.stop_training:
        epoch = checkpoints.step // steps_per_epoch
        end = min((epoch + 1) * steps_per_epoch, total_steps)
        model.fit(
            batches.dataset(position),
            initial_epoch=epoch,
            epochs=epoch + 1,
            steps_per_epoch=end - checkpoints.step,
            validation_data=validation,
            callbacks=callbacks,
            shuffle=False,
            verbose=0,
        )
        position = batches.state(checkpoints.step)
    say_end(run, model, checkpoints)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=__doc__.split("\n")[0])
    add = parser.add_argument_group("text").add_argument
    add("--train", nargs="+", required=True, help="files or globs, one tokenised sentence a line")
    add("--validation", nargs="+", help="held-out text, for perplexity and the best weights")
    add("--vocabulary", help="file of tfreps build-vocabulary; with --init RUN its own by default")
    add("--run", required=True, help="folder to make: model, checkpoints, logs")
    add("--resume", action="store_true", help="go on with the killed run in that folder")
    add("--overwrite", action="store_true", help="replace an earlier run in that folder")
    add = parser.add_argument_group("model").add_argument
    add("--preset", choices=sorted(ELMO), default="elmo_small", help="sizes (elmo_small)")
    for name, kind in MODEL_FLAGS.items():
        add(f"--{name.replace('_', '-')}", type=kind, help=f"{name} of BiLM, instead of preset's")
    add("--no-skip-connections", action="store_true")
    add("--forward-only", action="store_true", help="one direction instead of two")
    add("--word-input", action="store_true", help="read token ids instead of characters")
    add("--tied", action="store_true", help="with --word-input: embedding and softmax are one")
    add("--init", help="go on from HDF5 weights, a bilm-tf checkpoint folder or a run folder")
    add("--init-options", help="options.json of --init, if it does not lie beside it")
    add = parser.add_argument_group("training").add_argument
    add("--batch-size", type=int, default=128, help="rows (128)")
    add("--unroll-steps", type=int, default=20, help="tokens of a row in a batch (20)")
    add("--epochs", type=float, default=10, help="passes over the text (10)")
    add("--steps", type=int, help="updates, instead of --epochs")
    add("--minutes", type=float, help="stop after this time")
    add("--num-sampled", type=int, default=8192, help="negatives; 0: full softmax (8192)")
    add("--any-order", action="store_true", help="sample although the vocabulary is not sorted")
    add("--optimizer", choices=["adagrad", "adam"], default="adagrad", help="(adagrad)")
    add("--learning-rate", type=float, help="(0.2 for adagrad, 0.001 for adam)")
    add("--schedule", choices=["constant", "cosine"], default="constant", help="(constant)")
    add("--warmup-steps", type=int, default=0, help="of the cosine schedule (0)")
    add("--clip-norm", type=float, default=10.0, help="of the whole gradient; 0: none (10)")
    add("--precision", choices=sorted(PRECISIONS), default="float32", help="of products (float32)")
    add("--seed", type=int, default=0, help="of weights, shuffling, dropout, negatives (0)")
    add("--deterministic", action="store_true", help="same numbers in every run; slower on GPUs")
    add = parser.add_argument_group("figures").add_argument
    add("--log-every", type=int, default=100, help="steps (100)")
    add("--checkpoint-every", type=int, default=1000, help="steps (1000)")
    add("--evaluate-every", type=int, help="steps between measurements (one pass)")
    add("--histograms", action="store_true", help="of all weights, in TensorBoard")
    return parser


def open_run(options):
    """The run folder: a new one with its vocabulary, or the one to resume."""
    given = {name: value for name, value in vars(options).items() if name != "resume"}
    if options.resume and pathlib.Path(options.run, "options.json").exists():
        run = RunFolder.open(options.run, PROGRAM)
        changed = sorted(name for name in given if run.options.get(name) != given[name])
        free = {"run", "minutes", "overwrite", "epochs", "steps", "validation"}
        if set(changed) - free:
            raise ValueError(
                f"{options.run} was begun with other options: {', '.join(changed)}. Resume with "
                "the options of before, or begin a new run with --init."
            )
        return run
    path = options.vocabulary
    if path is None and options.init and pathlib.Path(options.init, "vocabulary.txt").exists():
        path = pathlib.Path(options.init, "vocabulary.txt")
    if path is None:
        raise ValueError("--vocabulary is missing: make one with tfreps build-vocabulary.")
    vocabulary = Vocabulary.read(path)
    run = RunFolder.create(options.run, PROGRAM, given, overwrite=options.overwrite)
    vocabulary.write(run.vocabulary_path)
    return run


def make_batches(options, vocabulary):
    return LMBatches(
        options.train,
        vocabulary,
        options.batch_size,
        options.unroll_steps,
        bidirectional=not options.forward_only,
        characters=None if options.word_input else "table",
        max_characters=options.max_characters or 50,
        shuffle=True,
        seed=options.seed,
        skip_blank=True,
    )


def sentences(options, files, vocabulary):
    """Whole sentences, for measuring from the fixed state."""
    return sentence_batches(
        files,
        vocabulary,
        options.batch_size,
        bidirectional=not options.forward_only,
        characters=None if options.word_input else "table",
        max_characters=options.max_characters or 50,
    )


def check_text(options, vocabulary, batches):
    """Fails before the training does: unreadable text, or a vocabulary in the wrong order."""
    counts = batches.count()
    print(
        f"Training text: {counts.tokens:,} tokens in {counts.sentences:,} sentences, "
        f"{counts.unknown_tokens / counts.tokens:.2%} outside the vocabulary of "
        f"{len(vocabulary):,}."
    )
    if options.num_sampled and not options.any_order:
        vocabulary.check_order(counts.token_counts)


def make_model(options, vocabulary):
    """A fresh pretrainer, or one that goes on from --init; and Adagrad's accumulators by path."""
    given = {name: getattr(options, name) for name in MODEL_FLAGS}
    given = {name: value for name, value in given.items() if value is not None}
    dtype = PRECISIONS[options.precision]
    head = {
        "num_sampled": options.num_sampled or None,
        "batch_size": options.batch_size,
        "clip_norm": options.clip_norm or None,
        "tied": options.tied,
        "seed": options.seed,
        "dtype": dtype,
    }
    if options.init:
        fixed = sorted(set(given) - {"dropout"})
        if fixed:
            raise ValueError(f"--init brings its own {', '.join(fixed)}: leave the flags out.")
        changes = {"dropout": given.get("dropout", 0.1), "dtype": dtype}
        model, accumulators = continue_from(options, vocabulary, changes, head)
    else:
        sizes = {"dropout": 0.1, **ELMO[options.preset], **given}
        sizes["use_skip_connections"] = not options.no_skip_connections
        sizes["bidirectional"] = not options.forward_only
        if options.word_input:
            sizes["vocabulary_size"] = len(vocabulary)
            sizes["sentence_start_id"] = vocabulary.start_id + 1
            sizes["sentence_end_id"] = vocabulary.end_id + 1
        model, accumulators = (
            BiLMPretrainer(BiLM(**sizes, dtype=dtype), len(vocabulary), **head),
            {},
        )
    if model.character_table is not None:
        model.set_character_table(vocabulary.character_table(model.bilm.max_characters))
    return model, accumulators


def continue_from(options, vocabulary, changes, head):
    """The pretrainer that --init names, with a new softmax unless its vocabulary is the same."""
    path = pathlib.Path(options.init)
    if path.is_file():
        file = options.init_options or path.with_name("options.json")
        bilm = BiLM.from_bilm_tf(file, path, **changes)
        return BiLMPretrainer(bilm, len(vocabulary), **head), {}
    if not (path / "model.keras").exists():
        restored = bilm_tf_checkpoint.read(path, changes, **head)
        if restored.model.vocabulary_size != len(vocabulary):
            raise ValueError(
                f"{path} was trained with {restored.model.vocabulary_size} tokens, the vocabulary "
                f"has {len(vocabulary)}: give the one of that run."
            )
        return restored
    earlier = RunFolder.open(path, PROGRAM)
    source = earlier.load_model()
    bilm = BiLM.from_config({**source.bilm.get_config(), **changes})
    model = BiLMPretrainer(bilm, len(vocabulary), **head)
    pairs = [(bilm, source.bilm)]
    if earlier.vocabulary().tokens == vocabulary.tokens:
        pairs.append((model.softmax, source.softmax))
    for ours, theirs in pairs:
        for weight, value in zip(ours.trainable_weights, theirs.trainable_weights, strict=True):
            weight.assign(value)
    return model, {}


def restore_accumulators(model, accumulators):
    """Hands accumulators of a bilm-tf checkpoint to the optimiser."""
    if accumulators and isinstance(model.optimizer, TF1Adagrad):
        model.optimizer.build(model.trainable_variables)
        named = zip(model.trainable_variables, model.optimizer.accumulators, strict=True)
        paths = {id(w): path for path, w in bilm_tf_checkpoint.weights_of(model).items()}
        for weight, accumulator in named:
            accumulator.assign(accumulators[paths[id(weight)]])


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
    return TF1Adagrad(rate) if options.optimizer == "adagrad" else keras.optimizers.Adam(rate)


def count_steps(options, batches):
    """Updates between two measurements, and of the whole run."""
    positions, per_step = batches.count().positions, options.batch_size * options.unroll_steps
    total = options.steps or max(1, int(options.epochs * positions / per_step))
    return options.evaluate_every or -(-positions // per_step), total


def make_callbacks(options, run, batches, total_steps, vocabulary):
    best = {}
    checkpoints = Checkpoints(
        run.checkpoints_path, batches.state, options.checkpoint_every, extra=best
    )
    sample = None
    if options.num_sampled and options.validation:
        sample = sentences(options, options.train, vocabulary)
        sample = sample.shard(SAMPLE_EVERY, 0).take(SAMPLE_BATCHES)
    log = TrainingLog(
        run.logs_path,
        options.batch_size * options.unroll_steps,
        total_steps,
        checkpoints,
        every=options.log_every,
        minutes=options.minutes,
        train_sample=sample,
        histograms=options.histograms,
    )
    return [log, BestModel(run.save_model, best, checkpoints), checkpoints]


def say_start(options, run, model, batches, step, total_steps):
    millions = model.count_params() / 1e6
    print(
        f"{'Resuming' if step else 'Training'} {millions:.1f} million parameters in {run.path}: "
        f"step {step:,} of {total_steps:,}, {batches.batches_per_pass:,} a pass.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )


def say_end(run, model, checkpoints):
    best = checkpoints.extra
    run.write_results({"steps": checkpoints.step, "best_validation": best})
    if best:
        print(f"Best validation perplexity {best['perplexity']:.2f} at step {best['step']:,}.")
    print(
        f"Wrote {run.model_path}.\nNext: tfreps evaluate-lm {run.path} --text FILES, "
        f"tfreps embed, tfreps export."
    )


if __name__ == "__main__":
    raise SystemExit(main())
