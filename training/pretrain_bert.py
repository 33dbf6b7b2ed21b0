"""Pre-trains BERT on your own text with masked tokens and next-sentence prediction.

The text has one sentence per line and blank lines between documents, or records of two sentences
(--format records). Without --vocabulary, --tokens characters builds the vocabulary from the
training text. --resume continues an interrupted run from its last checkpoint. --init MODEL
continues training from the weights of another run or of a published checkpoint.
"""

import pathlib
import shlex

from tfreps import data
from tfreps._src.cli.command import Command
from tfreps.text import CharacterTokenizer, WordPieceTokenizer, read_tokenizer, write_tokenizer
from tfreps.training.options.bert_options import GROUPS, SIZE, SIZES

COMMAND = Command(
    "pretrain-bert",
    __doc__,
    {},
    GROUPS,
    (
        "tfreps pretrain-bert --train 'corpus/train*.txt' --validation corpus/validation.txt \\\n"
        "    --tokens wordpiece --vocabulary vocab.txt --size bert_mini --run runs/bert",
        "tfreps pretrain-bert --run runs/bert --resume",
        "tfreps pretrain-bert --init runs/bert --train more.txt --epochs 3 --run runs/longer",
    ),
    recipes=pathlib.Path(__file__).with_name("recipes") / "pretrain-bert",
)


def main(argv=None):
    from tfreps.training.options.training_command import training_run

    with training_run(COMMAND, argv) as (options, earlier):
        if options is not None:
            pretrain_bert(options, earlier)


def pretrain_bert(options, earlier):
    """Pre-trains a BERT model, and prints the results.

    If `earlier`, the run to resume, is not `None`, its training is continued.
    """
    from tfreps._src.cli.progress import say_progress
    from tfreps._src.models.sizes import BERT
    from tfreps.callbacks import EpochLog
    from tfreps.optimizers import build_optimizer
    from tfreps.training.loop import training
    from tfreps.training.loop.epoch_loop import FitPlan, fit_epochs
    from tfreps.training.options.training_command import begin_run
    from tfreps.training.workers.strategies import open_strategy

    rows = options.batch_size or max(1, options.batch_tokens // options.max_length)
    width = options.hidden_dim
    if width is None and not options.init:
        width = BERT[options.size or SIZE]["hidden_dim"]
    training.set_precision_and_seed(options, earlier, "bert", rows, width)
    strategy = open_strategy(options.distribute)
    check_accumulation(options.gradient_accumulation_steps, strategy.num_replicas_in_sync)
    with strategy.scope():
        model, tokenizer = make_model(options, earlier)
    if options.whole_words and isinstance(tokenizer, CharacterTokenizer):
        raise ValueError(
            "--whole-words has no effect with --tokens characters or with an --init model that "
            "reads characters. Omit --whole-words."
        )
    check_length(options, model.encoder)
    train_batches, counts = make_train_batches(options, model, tokenizer)
    validation = None
    if options.validation:
        sizes = {name: getattr(options, name) for name in ("batch_tokens", "batch_size", "seed")}
        validation = make_batches(options, model, tokenizer, options.validation, **sizes)
        say_text("validation", count(validation))
    steps = sum(map(train_batches.num_batches, range(options.epochs)))
    with strategy.scope():
        model.compile(make_optimizer(options, steps), jit_compile=False)
        build_optimizer(model)

    run = begin_run(COMMAND, options, earlier)
    run.write_asset(run.tokenizer_path, lambda path: write_tokenizer(tokenizer, path))
    sizes = {"texts": counts["texts"], "tokens": train_batches.num_tokens}
    sizes["parameters"] = model.count_params()
    run.write_results({**run.results(), "training": sizes})
    plan = FitPlan(
        options.epochs,
        "val_masked_perplexity",
        options.patience,
        options.time_limit_minutes,
        checkpoint_every=options.checkpoint_every,
        resume=options.resume,
    )
    length = options.epochs, train_batches.num_tokens, options.time_limit_minutes, options.log_every
    log = EpochLog(run.logs_path, *length, print_fn=say_progress)

    about = f": {steps:,} steps"
    best = fit_epochs(model, train_batches, validation, run, plan, [log], about)
    say_end(run, best)


def make_model(options, run):
    """Returns a `BertPretrainer`, new or loaded from --init, and its tokenizer."""
    import keras

    from tfreps._src.models.sizes import BERT
    from tfreps._src.runs.bert_loading import load_pretrainer
    from tfreps.models import BertEncoder, BertPretrainer

    sizes = {name: getattr(options, name) for name in SIZES}
    sizes = {name: value for name, value in sizes.items() if value is not None}
    next_sentence = options.next_sentence
    if options.init:
        policy = keras.config.dtype_policy()
        label = options.next_label if next_sentence else None
        return load_pretrainer(options.init, next_sentence, label, dtype=policy.name, **sizes)
    is_kept = run and run.tokenizer_path.exists()
    tokenizer = read_tokenizer(run.tokenizer_path) if is_kept else make_tokenizer(options)
    encoder = BertEncoder(
        len(tokenizer.vocabulary),
        padding_id=tokenizer.padding_id,
        pooler=next_sentence,
        **{**BERT[options.size or SIZE], **sizes},
    )
    return BertPretrainer(encoder, next_sentence), tokenizer


def make_tokenizer(options):
    """Returns a tokenizer for --tokens, from --vocabulary or from the training text."""
    lower = {"lowercase": not options.cased}
    if options.vocabulary is None:
        if options.tokens == "wordpiece":
            raise ValueError(
                "--vocabulary is missing; --tokens wordpiece needs a file of pieces. Give a "
                "vocab.txt, or choose other --tokens."
            )
        sentences = data.read_sentences(options.train, options.format, options.fields)
        texts = (text for _, text in sentences)
        return CharacterTokenizer.from_texts(texts, options.min_count or 1, **lower)
    if options.tokens == "wordpiece":
        return WordPieceTokenizer.from_vocabulary_file(options.vocabulary, **lower)
    if options.vocabulary.endswith(".json"):
        return CharacterTokenizer.from_dictionary(options.vocabulary, **lower)
    return CharacterTokenizer.from_vocabulary_file(options.vocabulary, **lower)


def check_accumulation(steps, replicas):
    """Raises ValueError if gradients are accumulated on several replicas, which Keras cannot do."""
    if steps > 1 and replicas > 1:
        raise ValueError(
            f"--gradient-accumulation-steps must be 1 on {replicas} replicas; got {steps}. "
            "Increase --batch-tokens instead: each replica computes only its rows of a batch."
        )


def check_length(options, encoder):
    if encoder.positions == "learned" and options.max_length > encoder.max_sequence_length:
        raise ValueError(
            f"--max-length must be at most {encoder.max_sequence_length}, the number of positions "
            f"of the model; got {options.max_length}."
        )


def make_train_batches(options, model, tokenizer):
    """Returns the training batches of this worker and a dict of counts of the text.

    The counts are also printed.
    """
    from tfreps.training.workers.data_share import data_share

    share = data_share(options)
    files = share.files(data.find_files(options.train))
    tokens = share.part("batch_tokens", options.batch_tokens)
    rows = share.part("batch_size", options.batch_size)
    sizes = {"batch_tokens": tokens, "batch_size": rows, "seed": share.seed(options.seed)}
    with share.workers.together():
        batches = make_batches(options, model, tokenizer, files, shuffle=True, **sizes)
        counts = count(batches)
    counts = share.total(counts)
    say_text("train", counts)
    return share.batches(batches), counts


def make_batches(options, model, tokenizer, files, shuffle=False, **sizes):
    """Returns the `MaskedLMBatches` of text files for the options.

    `sizes` are the arguments `batch_tokens`, `batch_size` and `seed`.
    """
    return data.MaskedLMBatches(
        data.read_documents(files, tokenizer, options.format, options.fields),
        tokenizer,
        max_length=options.max_length,
        next_sentence=model.next_sentence,
        next_label=options.next_label,
        mask_rate=options.mask_rate,
        whole_words=options.whole_words,
        shuffle=shuffle,
        **sizes,
    )


def count(batches):
    """Returns a dict of counts of the text in `batches`, such as the number of its tokens."""
    documents = batches.documents
    return {
        "tokens": documents.num_tokens,
        "sentences": documents.num_sentences,
        "documents": documents.num_documents,
        "unknown": documents.num_unknown,
        "texts": batches.num_texts,
        "cut": batches.num_truncated,
        "left_out": batches.num_left_out,
    }


def say_text(part, counts):
    print(
        f"{part.capitalize()}: {counts['tokens']:,} tokens in {counts['sentences']:,} sentences of "
        f"{counts['documents']:,} documents, {counts['unknown'] / counts['tokens']:.2%} unknown, "
        f"in {counts['texts']:,} texts."
    )
    if counts["cut"]:
        print(f"{counts['cut']:,} texts were truncated to --max-length.")
    if counts["left_out"]:
        print(
            f"{counts['left_out']:,} documents were left out: they have only one sentence and "
            "therefore no pairs."
        )


def make_optimizer(options, total_steps):
    """Returns the optimizer, AdamW or LAMB, with the schedule of its learning rate.

    A step is one batch, even if the gradients of several batches are accumulated.
    """
    import keras

    from tfreps.optimizers import FusedAdam, LinearWarmup

    accumulated = options.gradient_accumulation_steps
    if accumulated > total_steps:
        raise ValueError(
            f"--gradient-accumulation-steps must be at most {total_steps:,}, the number of "
            f"batches; got {accumulated}."
        )
    end = total_steps if options.schedule == "linear" else None
    optimizer = {"adamw": FusedAdam, "lamb": keras.optimizers.Lamb}[options.optimizer](
        LinearWarmup(options.learning_rate, end, options.warmup_steps),
        epsilon=1e-6,
        weight_decay=options.weight_decay,
        global_clipnorm=options.clip_norm or None,
        gradient_accumulation_steps=accumulated if accumulated > 1 else None,
    )
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    return optimizer


def say_end(run, best):
    steps = best.pop("steps")
    run.write_results({**run.results(), "steps": steps, "best_validation": best})
    if "masked_perplexity" in best:
        print(
            f"Best masked-token perplexity on the validation text: {best['masked_perplexity']:.2f} "
            f"at step {best['step']:,}."
        )
    folder = shlex.quote(str(run.path))
    print(
        f"Wrote {run.model_path} and {run.tokenizer_path}.\n"
        f"Next: tfreps train-classifier --encoder bert --bert {folder} ..., or tfreps "
        f"pretrain-bert --init {folder} --train FILE ... to train on more text."
    )
