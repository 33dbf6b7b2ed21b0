"""Trains a hidden Markov model that tags tokens, from smoothed counts of tagged sentences.

Training takes seconds, so the model serves as a baseline for neural taggers. By default, the
smoothing is chosen on the validation data. With --unlabeled TEXT, training continues on sentences
without tags (Baum-Welch). tfreps evaluate, tag and export read the run folder.
"""

import math
import shlex
import time

import numpy as np

from tfreps import data, tags, text
from tfreps._src.cli import tagged_files
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.option_rules import unused_options
from tfreps._src.cli.options import Option
from tfreps._src.data.text_files import read_lines
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.text.tokenizers import TOKENIZERS
from tfreps.training.options.encoder_options import WORDS
from tfreps.training.options.training_options import RUN

GRID = 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0
FIRST = 0.1  # first value of the smoothing that the search tries
ROUNDS = 2


def smoothing(word):
    return word if word == "tuned" else float(word)


def is_smoothing(value):
    return value == "tuned" or math.isfinite(value) and value >= 0


DATA = {
    **tagged_files.OPTIONS,
    "validation": Option(
        str, None, "Files with tagged validation sentences, or glob patterns. The sentences are "
        "used to choose the smoothing and, with --unlabeled, the best Baum-Welch step.", many=True,
        metavar="FILE",
    ),
    "tokens": Option(
        str, "spaces", "How to split raw text into tokens in 'tfreps tag', in exported models and "
        "in --unlabeled: at white space (spaces), into characters without white space (characters) "
        "or with it (all_characters), into words and punctuation marks (words), or as the Penn "
        "Treebank does (treebank).", TOKENIZERS,
    ),
    **{name: WORDS[name] for name in ("lowercase", "digits_to_zero", "min_count")},
}  # fmt: skip
COUNTS = {
    "smoothing": Option(
        smoothing, "tuned", "Number added to every count. With tuned, the number that is best on "
        "--validation is chosen for each table of probabilities.",
        must_be=(is_smoothing, "tuned, or a finite number that is at least 0"), metavar="X",
    ),
    "floor": Option(
        float, None, "Number that replaces counts of 0, instead of adding --smoothing to every "
        "count. By default, no count is replaced.",
        above=0, excludes="smoothing",
    ),
    "use_end": Option(bool, False, "Model the probability that a sentence ends after a tag."),
    "unknown": Option(
        str, "hapax", "Emission probabilities of unknown tokens: estimated from all tokens that "
        "occur once (hapax), or the same for every tag (uniform).", ["hapax", "uniform"],
    ),
    "skip_single_tokens": Option(
        bool, False, "Ignore sentences of one token when counting the tags that start a sentence."
    ),
}  # fmt: skip
UNLABELED = {
    "unlabeled": Option(
        str, None, "Files with additional raw training text, one sentence per line, or glob "
        "patterns.", many=True, metavar="FILE",
    ),
    "baum_welch_steps": Option(
        int, 5, "Number of Baum-Welch steps, each of which is a pass over --unlabeled.",
        at_least=1, needs="unlabeled",
    ),
    "tagged_weight": Option(
        float, 1.0, "Weight of a tagged sentence in the counts, relative to the weight 1 of an "
        "untagged sentence.", at_least=0, needs="unlabeled",
    ),
}  # fmt: skip
COMMAND = Command(
    "train-hmm",
    __doc__,
    {},
    [
        Group("run", "Folder of the run.", {
            "run": RUN["run"]._replace(
                about="Run folder for the model, vocabulary, tags and results."
            ),
            "overwrite": RUN["overwrite"],
        }),
        Group("data", "Training and evaluation files, their format and vocabulary.", DATA),
        Group("counts", "Estimation of probabilities from counts.", COUNTS),
        Group("sentences without tags", "Baum-Welch training on raw text.", UNLABELED),
    ],
    (
        "tfreps train-hmm --train train.conll --validation validation.conll --test test.conll \\\n"
        "    --scheme bmes --run runs/hmm",
        "tfreps train-hmm --train train.conll --scheme none --smoothing 0.1 --run runs/pos",
        "tfreps train-hmm --train train.conll --validation validation.conll --scheme bio \\\n"
        "    --unlabeled more.txt --run runs/hmm",
    ),
)  # fmt: skip


def main(argv=None):
    with COMMAND.started(argv) as options:
        from tfreps._src.callbacks.stop_signals import stopped_by_signals

        check_smoothing(options)
        new = {**vars(options), "resume": False}
        with RunFolder.open_for_training(options.run, COMMAND.name, new), stopped_by_signals():
            train_hmm(options)


def check_smoothing(options):
    if options.smoothing == "tuned" and options.floor is None and not options.validation:
        raise ValueError(
            "--smoothing tuned needs validation data. Give --validation, or a number, as in "
            "--smoothing 0.1."
        )


def train_hmm(options):
    """Trains an HMM tagger, writes its run folder, and prints the results."""
    from tfreps._src.callbacks.stop_signals import held_back
    from tfreps._src.inference.text_tagger import TextTagger
    from tfreps._src.reports.evaluation import check_known_names, evaluate_tagger
    from tfreps.models import HMMTagger
    from tfreps.training.options.training_command import own_options

    begin = time.monotonic()
    parts = tagged_files.read_parts(options)
    scheme = None if options.scheme == "none" else options.scheme
    tagged_files.check_tags(parts, scheme)
    tag_set = tags.TagSet.from_sequences(
        [s.tags for s in parts["train"]], scheme, "the training data"
    )
    check_known_names(tag_set.names, parts["validation"] + parts["test"])
    indexer = text.TokenIndexer.from_sentences(
        [s.tokens for s in parts["train"]],
        options.min_count,
        lowercase=options.lowercase,
        digits_to_zero=options.digits_to_zero,
    )
    unlabeled = read_unlabeled(options)
    model = HMMTagger(
        len(indexer.vocabulary),
        tag_set.names,
        scheme,
        unknown_id=indexer.vocabulary.unknown_id + 1,
        unknown=options.unknown,
        use_end=options.use_end,
        name="hmm",
    )
    score = make_score(model, indexer, tag_set, parts["validation"])
    counts = model.fit_counts(
        token_ids(indexer, [s.tokens for s in parts["train"]]),
        [tag_set.encode(s.tags, s.file, s.line) for s in parts["train"]],
        skip_single_tokens=options.skip_single_tokens,
    )
    results = {"smoothing": smooth(model, counts, options, score)}
    if unlabeled:
        ids = token_ids(indexer, unlabeled)
        results["baum_welch"] = learn_more(model, ids, counts, results["smoothing"], options, score)
    results["seconds"] = round(time.monotonic() - begin, 2)

    trained = TextTagger(model, indexer, options.tokens)
    for part in ("validation", "test"):
        if parts[part]:
            results[part] = evaluate_tagger(trained, parts[part])
    with held_back():  # signals are handled after this block, so that the run folder is complete
        unused = unused_options(options, own_options(COMMAND))
        run = RunFolder.create(options.run, COMMAND.name, vars(options), options.overwrite, unused)
        run.write_asset(run.vocabulary_path, indexer.vocabulary.write)
        run.write_asset(run.tags_path, tag_set.write)
        run.save_model(model)
        run.write_results(results)
    say(run, parts["train"], model, results)


def read_unlabeled(options):
    """Returns a list of the tokens of each line of --unlabeled; `[]` without the option."""
    if not options.unlabeled:
        return []
    files = data.find_files(options.unlabeled)
    lines = [line for path in files for line in read_lines(path, options.encoding)]
    sentences = text.tokenize(lines, options.tokens)
    if not any(sentences):
        raise ValueError(
            f"--unlabeled must contain text; found no tokens in {' '.join(options.unlabeled)}."
        )
    return sentences


def token_ids(indexer, sentences):
    """Returns a list of int arrays `[T]`, the token ids of each sentence."""
    lengths = [len(tokens) for tokens in sentences]
    row = indexer([[token for tokens in sentences for token in tokens]])["token_ids"].numpy()[0]
    return np.split(row, np.cumsum(lengths)[:-1])


def make_score(model, indexer, tag_set, sentences):
    """Returns a function that measures the token-weighted F1 of the model on `sentences`.

    `sentences` is the validation data. If it is empty, returns `None`.
    """
    from tfreps.metrics import WeightedTokenF1

    if not sentences:
        return None
    ids = token_ids(indexer, [s.tokens for s in sentences])
    true = np.concatenate([tag_set.encode(s.tags, s.file, s.line) for s in sentences])
    metric = WeightedTokenF1(len(tag_set))

    def score():
        metric.reset_state()
        metric.update_state(true[None], np.concatenate(model.decode_sentences(ids))[None])
        return float(metric.result())

    return score


def smooth(model, counts, options, score):
    """Sets the probabilities of the model from counts, with the smoothing in the options.

    With `--smoothing tuned`, the smoothing of each table of probabilities is tuned in turn, so that
    `score` is highest.

    Returns:
        dict from the name of each table to its smoothing. With `--floor`, the only key is
        `"floor"`.
    """
    tables = ["emission", "transition", "initial"] + ["end"] * options.use_end
    if options.floor is not None:
        model.set_counts(counts, floor=options.floor)
        return {"floor": options.floor}
    if options.smoothing != "tuned":
        model.set_counts(counts, options.smoothing)
        return dict.fromkeys(tables, options.smoothing)

    def tried(candidate):
        model.set_counts(counts, candidate)
        return score()

    best = dict.fromkeys(tables, FIRST)
    highest = tried(best)
    for table in tables * ROUNDS:
        for value in GRID:
            candidate = {**best, table: value}
            found = tried(candidate) if candidate != best else highest
            if found > highest:
                best, highest = candidate, found
    model.set_counts(counts, best)
    return best


def learn_more(model, ids, counts, smoothing, options, score):
    """Trains the model with Baum-Welch, selects one of the steps, and returns a dict of results.

    The selected step is the one with the best score on the validation data or, without such data,
    the last step. The model gets the weights after this step.
    """
    steps, kept = [], (score() if score else None, 0, model.get_weights())

    def progress(step, log_likelihood):
        nonlocal kept
        found = score() if score else None
        steps.append({"step": step, "log_likelihood": log_likelihood, "validation_token_f1": found})
        print(f"Baum-Welch, step {step}: log likelihood {log_likelihood:,.1f}", flush=True)
        if found is None or found > kept[0]:
            kept = found, step, model.get_weights()

    first = model.baum_welch(
        ids, options.baum_welch_steps, counts, options.tagged_weight,
        0.0 if "floor" in smoothing else smoothing, progress,
    )[0]  # fmt: skip
    model.set_weights(kept[2])
    how = (
        "the last step"
        if score is None
        else "the best on the validation data; step 0 uses only the counts"
    )
    print(f"Selected step {kept[1]} ({how}).")
    return {"log_likelihood_before": first, "steps": steps, "kept_step": kept[1]}


def say(run, train, model, results):
    tokens = sum(len(sentence.tokens) for sentence in train)
    print(
        f"Counted {len(train):,} sentences, {tokens:,} tokens, {model.vocabulary_size:,} in the "
        f"vocabulary, {len(model.tags)} tags, in {results['seconds']} s."
    )
    print("Smoothing: " + ", ".join(f"{k} {v:g}" for k, v in results["smoothing"].items()) + ".")
    for part in ("validation", "test"):
        if part in results:
            print(figures(part, results[part]))
    folder = shlex.quote(str(run.path))
    print(
        f"Wrote {run.model_path} and {run.results_path}.\n"
        f"Next: tfreps tag {folder} FILE, tfreps evaluate {folder} --data FILE, or "
        f"tfreps export {folder} --output DIR."
    )


def figures(part, found):
    """Returns a line with the scores of the tokens and, with a tag scheme, of the entities."""
    from tfreps._src.reports.calibration import format_calibration

    def three(scores):
        return "{precision:.4f} / {recall:.4f} / {f1:.4f}".format(**scores)

    line = f"{part:10}  precision / recall / F1, token-weighted: {three(found['weighted'])}"
    line += f"; entities: {three(found['spans']['micro'])}" if "spans" in found else ""
    return f"{line}; {format_calibration(found)}"
