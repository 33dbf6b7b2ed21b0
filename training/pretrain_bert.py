"""Pre-trains BERT on your own text: a masked language model, and next sentences.

    tfreps pretrain-bert --train 'corpus/train*.txt' --validation corpus/validation.txt \
        --tokens wordpiece --vocabulary vocab.txt --preset bert_mini --run runs/bert

Text is one sentence a line with blank lines between documents, or records of two sentences
(--format records). Without --vocabulary, --tokens characters counts those of the training text.
Killed? tfreps pretrain-bert --run runs/bert --resume goes on where the last checkpoint stands. To
go on from a run or a published checkpoint: --init FOLDER.
"""

import pathlib
import zlib

import keras

from tfreps.cli import fit_options, training_program
from tfreps.cli.bert_options import OPTIMIZERS, PRESET, SIZES, TABLES
from tfreps.cli.messages import say_progress, say_start
from tfreps.cli.options import first_line
from tfreps.convert.bert_files import open_checkpoint
from tfreps.data import MaskedLMBatches, read_documents, read_sentences
from tfreps.distribute.epoch_loop import fit_epochs, keep_counts
from tfreps.models import BertEncoder, BertPretrainer
from tfreps.models.presets import BERT
from tfreps.optimizers import LinearWarmup, build_optimizer
from tfreps.runs.bert_loading import load_pretrainer
from tfreps.runs.run_folder import RunFolder
from tfreps.text.bert import (
    CharacterTokenizer,
    WordPieceTokenizer,
    read_tokenizer,
    write_tokenizer,
)

PROGRAM = "pretrain-bert"
RECIPES = pathlib.Path(__file__).with_name("recipes") / PROGRAM


def main(argv=None):
    return training_program.run_program(PROGRAM, make_parser(), TABLES, train, argv, RECIPES)


def make_parser():
    return training_program.make_parser(PROGRAM, first_line(__doc__), TABLES)


def train(options, earlier):
    """Trains and reports; goes on with the earlier run if there is one."""
    fit_options.prepare(options)
    model, tokenizer = make_model(options, earlier)
    if options.whole_words and isinstance(tokenizer, CharacterTokenizer):
        raise ValueError("--whole-words has no effect with --tokens characters.")
    check_length(options, model.encoder)
    batches = {"train": make_batches(options, model, tokenizer, "train")}
    if options.validation:
        batches["validation"] = make_batches(options, model, tokenizer, "validation")
    steps = sum(map(batches["train"].num_batches, range(options.epochs)))
    model.compile(make_optimizer(options, steps), jit_compile=False)
    build_optimizer(model)

    run = training_program.begin_run(PROGRAM, options, earlier)
    run.keep(run.tokenizer_path, lambda path: write_tokenizer(tokenizer, path))
    keep_counts(run, counts(model, batches["train"]))
    say_start(run, model, f": {steps:,} steps")
    best = fit_epochs(
        model,
        batches["train"],
        batches.get("validation"),
        run,
        options.epochs,
        "val_masked_perplexity",
        patience=options.patience,
        minutes=options.minutes,
        checkpoint_every=options.checkpoint_every,
        resume=options.resume,
        log_every=options.log_every,
        say=say_progress,
    )
    say_end(run, best)
    return 0


def make_model(options, run):
    """A fresh pretrainer, or one that goes on from --init, and its tokeniser."""
    sizes = {name: getattr(options, name) for name in SIZES}
    sizes = {name: value for name, value in sizes.items() if value is not None}
    next_sentence = options.next_sentence
    if options.init:
        check_labels(options)
        policy = keras.config.dtype_policy()
        return load_pretrainer(options.init, next_sentence, dtype=policy.name, **sizes)
    is_kept = run and run.tokenizer_path.exists()
    tokenizer = read_tokenizer(run.tokenizer_path) if is_kept else make_tokenizer(options)
    encoder = BertEncoder(
        len(tokenizer.vocabulary),
        padding_id=tokenizer.padding_id,
        pooler=next_sentence,
        **{**BERT[options.preset or PRESET], **sizes},
    )
    return BertPretrainer(encoder, next_sentence), tokenizer


def check_labels(options):
    """Refuses the other convention than that of the model which training goes on from."""
    init = pathlib.Path(options.init)
    if not options.next_sentence or not init.exists():
        return
    if (init / "options.json").is_file():
        label = RunFolder.open(init, PROGRAM).options["next_label"]
    else:
        label = open_checkpoint(init).next_label
    if label != options.next_label:
        raise ValueError(
            f"{options.init} learned next sentences with --next-label {label}; go on with the same."
        )


def make_tokenizer(options):
    """The tokeniser that the flags ask for."""
    lower = {"lowercase": not options.cased}
    if options.vocabulary is None:
        if options.tokens == "wordpiece":
            raise ValueError("--vocabulary is missing: --tokens wordpiece needs a file of pieces.")
        sentences = read_sentences(options.train, options.format, options.fields)
        texts = (text for _, text in sentences)
        return CharacterTokenizer.from_texts(texts, options.min_count or 1, **lower)
    if options.tokens == "wordpiece":
        return WordPieceTokenizer.from_vocabulary_file(options.vocabulary, **lower)
    if options.vocabulary.endswith(".json"):
        return CharacterTokenizer.from_dictionary(options.vocabulary, **lower)
    return CharacterTokenizer.from_vocabulary_file(options.vocabulary, **lower)


def check_length(options, encoder):
    if encoder.positions == "learned" and options.max_length > encoder.max_positions:
        raise ValueError(
            f"--max-length must be at most {encoder.max_positions}, for which the model has "
            f"positions; got {options.max_length}."
        )


def make_batches(options, model, tokenizer, part):
    """The batches of one part of the text, and a line about it."""
    documents = read_documents(getattr(options, part), tokenizer, options.format, options.fields)
    batches = MaskedLMBatches(
        documents,
        tokenizer,
        options.batch_tokens,
        max_length=options.max_length,
        batch_rows=options.batch_rows,
        next_sentence=model.next_sentence,
        next_label=options.next_label,
        mask_rate=options.mask_rate,
        whole_words=options.whole_words,
        shuffle=part == "train",
        seed=options.seed,
    )
    say_text(part, documents, batches)
    return batches


def say_text(part, documents, batches):
    print(
        f"{part}: {documents.num_tokens:,} tokens in {documents.num_sentences:,} sentences of "
        f"{documents.num_documents:,} documents, {documents.num_unknown / documents.num_tokens:.2%}"
        f" unknown, make up {batches.num_texts:,} texts."
    )
    if batches.num_cut:
        print(f"{batches.num_cut:,} texts are longer than --max-length and were cut.")
    if batches.num_left_out:
        print(f"{batches.num_left_out:,} documents of one sentence have no pair: left out.")


def make_optimizer(options, total_steps):
    """AdamW or Lamb as in BERT; steps are batches, also where some make up an update."""
    accumulated = options.gradient_accumulation_steps
    if accumulated > total_steps:
        raise ValueError(
            f"--gradient-accumulation-steps {accumulated} makes no update at all: there are "
            f"{total_steps:,} batches."
        )
    warmup = total_steps // 10 if options.warmup_steps is None else options.warmup_steps
    end = total_steps if options.schedule == "linear" else None
    optimizer = OPTIMIZERS[options.optimizer](
        LinearWarmup(options.learning_rate, end, warmup),
        epsilon=1e-6,
        weight_decay=options.weight_decay,
        global_clipnorm=options.clip_norm or None,
        gradient_accumulation_steps=accumulated if accumulated > 1 else None,
    )
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return optimizer


def counts(model, batches):
    """What a resumed run has to have alike."""
    return {
        "texts": batches.num_texts,
        "tokens": batches.num_tokens,
        "parameters": model.count_params(),
        "checksum": zlib.crc32(batches.documents.ids.tobytes()),
    }


def say_end(run, best):
    steps = best.pop("steps")
    run.write_results({**run.results(), "steps": steps, "best_validation": best})
    if "masked_perplexity" in best:
        print(
            f"Best masked-token perplexity on the validation text {best['masked_perplexity']:.2f} "
            f"at step {best['step']:,}."
        )
    print(
        f"Wrote {run.model_path} and {run.tokenizer_path}.\n"
        f"Next: go on with more text by --init {run.path}, or fine-tune its encoder."
    )


if __name__ == "__main__":
    raise SystemExit(main())
