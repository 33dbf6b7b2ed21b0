"""Trains a hidden Markov model that tags tokens: counts, smoothed as the dev data like it.

    tfreps train-hmm --train train.conll --dev dev.conll --test test.conll --scheme bmes \
        --run runs/hmm

A floor to hold neural taggers against, trained in seconds. With --unlabelled TEXT it goes on
learning from sentences without tags (Baum-Welch). Then: tfreps evaluate, tfreps tag, tfreps export.
"""

import argparse
import math
import time

import numpy as np

from tfreps.callbacks.stop_signals import held_back, stopped_by_signals
from tfreps.cli.options import Option, add_flags, check_options, first_line, parse_options
from tfreps.data import find_files, read_tagged
from tfreps.data.text_files import read_lines
from tfreps.inference.text_tagger import TextTagger
from tfreps.metrics import WeightedTokenF1
from tfreps.models import HMMTagger
from tfreps.reports.evaluation import check_names, evaluate_tagger
from tfreps.runs.run_folder import RunFolder
from tfreps.text import TagSet, TokenIndexer, tokenize_texts
from tfreps.text.tokenizers import TOKENIZERS

PROGRAM = "train-hmm"
SCHEMES = "bio", "iob1", "bioes", "bilou", "bmes", "none"
GRID = 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0
FIRST = 0.1  # where the search begins
ROUNDS = 2


def smoothing(text):
    return text if text == "tuned" else float(text)


def is_smoothing(value):
    return value == "tuned" or math.isfinite(value) and value >= 0


DATA = {
    "train": Option(str, None, "files or globs of tagged sentences", many=True, required=True),
    "dev": Option(str, None, "held-out sentences, to choose the smoothing on", many=True),
    "test": Option(str, None, "sentences for the final metrics", many=True),
    "format": Option(
        str,
        "conll",
        "columns, JSON lines, or lines of Python dict literals (conll)",
        ["conll", "json", "python"],
    ),
    "token_column": Option(int, 0, "counted from 0, from the end if negative (0)"),
    "tag_column": Option(int, -1, "(-1, the last)"),
    "scheme": Option(str, None, "of the tags; none: they are no spans", SCHEMES, required=True),
    "tokens": Option(str, "spaces", "how raw text is cut into tokens (spaces)", TOKENIZERS),
    "lowercase": Option(bool, False, "look tokens up in lower case"),
    "digits_to_zero": Option(bool, False, "look tokens up with every digit as 0"),
    "min_count": Option(
        int, 1, "tokens that are rarer in the training data are unknown (1)", at_least=1
    ),
}
COUNTS = {
    "smoothing": Option(
        smoothing,
        "tuned",
        "added to every count: a number, or tuned, the best on --dev for each table (tuned)",
        must_be=(is_smoothing, "tuned or a finite number at least 0"),
    ),
    "floor": Option(
        float,
        None,
        "what counts of 0 are replaced with, in place of smoothing",
        above=0,
        excludes="smoothing",
    ),
    "use_end": Option(bool, False, "use the probability that a sentence ends after a tag"),
    "unknown": Option(
        str,
        "hapax",
        "unknown tokens are like those seen once, or say nothing (hapax)",
        ["hapax", "uniform"],
    ),
    "skip_single_tokens": Option(bool, False, "leave sentences of one token out of first tags"),
}
UNLABELLED = {
    "unlabelled": Option(str, None, "text to learn from too, a sentence a line", many=True),
    "baum_welch_steps": Option(
        int, 5, "passes over it at most (5)", at_least=1, needs="unlabelled"
    ),
    "tagged_weight": Option(
        float,
        1.0,
        "weight of a tagged sentence relative to an untagged one (1)",
        at_least=0,
        needs="unlabelled",
    ),
}
TABLES = {"data": DATA, "counts": COUNTS, "sentences without tags": UNLABELLED}


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check_options(options, *TABLES.values())
    check(options)
    new = {**vars(options), "resume": False}
    with RunFolder.begin(options.run, PROGRAM, new), stopped_by_signals():
        return train(options)


def train(options):
    """Counts, measures and reports."""
    begin = time.monotonic()
    data = {part: read(options, part) for part in ("train", "dev", "test")}
    scheme = None if options.scheme == "none" else options.scheme
    tag_set = TagSet.from_sequences([s.tags for s in data["train"]], scheme, "the training data")
    check_names(tag_set.names, data["dev"] + data["test"])
    indexer = TokenIndexer.from_sentences(
        [s.tokens for s in data["train"]],
        options.min_count,
        lowercase=options.lowercase,
        digits_to_zero=options.digits_to_zero,
    )
    unlabelled = read_unlabelled(options)
    model = HMMTagger(
        len(indexer.vocabulary),
        tag_set.names,
        scheme,
        unknown_id=indexer.vocabulary.unknown_id + 1,
        unknown=options.unknown,
        use_end=options.use_end,
        name="hmm",
    )
    score = make_score(model, indexer, tag_set, data["dev"])
    counts = model.fit_counts(
        token_ids(indexer, [s.tokens for s in data["train"]]),
        [tag_set.ids(s.tags, s.file, s.line) for s in data["train"]],
        skip_single_tokens=options.skip_single_tokens,
    )
    results = {"smoothing": smooth(model, counts, options, score)}
    if unlabelled:
        ids = token_ids(indexer, unlabelled)
        results["baum_welch"] = learn_more(model, ids, counts, results["smoothing"], options, score)
    results["seconds"] = round(time.monotonic() - begin, 2)

    trained = TextTagger(model, indexer, options.tokens)
    for part in ("dev", "test"):
        if data[part]:
            results[part] = evaluate_tagger(trained, data[part])
    with held_back():  # all of the run, or nothing
        run = RunFolder.create(options.run, PROGRAM, vars(options), options.overwrite)
        run.keep(run.vocabulary_path, indexer.vocabulary.write)
        run.keep(run.tags_path, tag_set.write)
        run.save_model(model)
        run.write_results(results)
    say(run, data["train"], model, results)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=first_line(__doc__))
    add = parser.add_argument
    add("--run", required=True, help="folder to make: model, vocabulary, tags, results")
    add("--overwrite", action="store_true", help="replace an earlier run in that folder")
    for title, table in TABLES.items():
        add_flags(parser.add_argument_group(title), table)
    return parser


def check(options):
    """Looks for the data that a smoothing that is not given is tuned on."""
    tuned = options.smoothing == "tuned" and options.floor is None
    if tuned and not options.dev:
        raise ValueError(
            "The smoothing is tuned on held-out data: give --dev, or a number such as "
            "--smoothing 0.1."
        )


def read(options, part):
    """The sentences of one part of the data; none where it was not given."""
    files = getattr(options, part)
    if not files:
        return []
    if options.format != "conll":
        return read_tagged(files, options.format)
    columns = {"token_column": options.token_column, "tag_column": options.tag_column}
    return read_tagged(files, **columns)


def read_unlabelled(options):
    """The tokens of each line of the text without tags."""
    if not options.unlabelled:
        return []
    lines = [line for path in find_files(options.unlabelled) for line in read_lines(path)]
    sentences = tokenize_texts(lines, options.tokens)
    if not any(sentences):
        raise ValueError(f"There is no token in {' '.join(options.unlabelled)}.")
    return sentences


def token_ids(indexer, sentences):
    """Token ids of each sentence."""
    lengths = [len(tokens) for tokens in sentences]
    row = indexer([[token for tokens in sentences for token in tokens]])["token_ids"].numpy()[0]
    return np.split(row, np.cumsum(lengths)[:-1])


def make_score(model, indexer, tag_set, sentences):
    """A function that gives the model's token-weighted F1 on the dev data; None without."""
    if not sentences:
        return None
    ids = token_ids(indexer, [s.tokens for s in sentences])
    true = np.concatenate([tag_set.ids(s.tags, s.file, s.line) for s in sentences])
    metric = WeightedTokenF1(len(tag_set))

    def score():
        metric.reset_state()
        metric.update_state(true[None], np.concatenate(model.decode_sentences(ids))[None])
        return float(metric.result())

    return score


def smooth(model, counts, options, score):
    """Sets the probabilities; with "tuned", tries values for one table after the other.

    Returns:
        The smoothing of each table, or the floor.
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
    """Baum-Welch; keeps the step that is best on the dev data, or the last without any."""
    steps, kept = [], (score() if score else None, 0, model.get_weights())

    def progress(step, log_likelihood):
        nonlocal kept
        dev = score() if score else None
        steps.append({"step": step, "log_likelihood": log_likelihood, "dev_token_f1": dev})
        print(f"Baum-Welch, step {step}: log likelihood {log_likelihood:,.1f}", flush=True)
        if dev is None or dev > kept[0]:
            kept = dev, step, model.get_weights()

    first = model.baum_welch(
        ids, options.baum_welch_steps, counts, options.tagged_weight,
        0.0 if "floor" in smoothing else smoothing, progress,
    )[0]  # fmt: skip
    model.set_weights(kept[2])
    how = "the last" if score is None else "the best on dev; step 0 is the counts alone"
    print(f"Kept step {kept[1]} ({how}).")
    return {"log_likelihood_before": first, "steps": steps, "kept_step": kept[1]}


def say(run, train, model, results):
    tokens = sum(len(sentence.tokens) for sentence in train)
    print(
        f"Counted {len(train):,} sentences, {tokens:,} tokens, {model.vocabulary_size:,} in the "
        f"vocabulary, {len(model.tags)} tags, in {results['seconds']} s."
    )
    print("Smoothing: " + ", ".join(f"{k} {v:g}" for k, v in results["smoothing"].items()) + ".")
    for part in ("dev", "test"):
        if part in results:
            print(figures(part, results[part]))
    print(
        f"Wrote {run.model_path} and {run.results_path}.\n"
        f"Next: tfreps tag {run.path} FILE, tfreps evaluate {run.path} --data FILES, "
        f"tfreps export {run.path} --to DIR."
    )


def figures(part, found):
    """One line: the scores of tokens, and of spans where there are any."""

    def three(scores):
        return "{precision:.4f} / {recall:.4f} / {f1:.4f}".format(**scores)

    line = f"{part:4}  precision / recall / F1, token-weighted: {three(found['weighted'])}"
    return line + (f"; entities: {three(found['spans']['micro'])}" if "spans" in found else "")


if __name__ == "__main__":
    raise SystemExit(main())
