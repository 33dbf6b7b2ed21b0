"""Options of pre-training a biLM: its sizes, training and what is logged, in tables by name."""

import json

from tfreps.cli import fit_options
from tfreps.cli.option_rules import brought_by
from tfreps.cli.options import Option
from tfreps.models.presets import ELMO

PRECISIONS = {**fit_options.PRECISIONS, "float16": "mixed_float16"}
CHANGEABLE = "dropout", "precision"  # of a model that training goes on with


def json_or_text(text):
    """What JSON says; text that is no JSON as it is, for `are_filters` to refuse.

    Example:
    >>> json_or_text("[[1, 8]]"), json_or_text("[[1, 8")
    ([[1, 8]], '[[1, 8')
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def are_filters(pairs):
    """Whether a value is a list of pairs of whole numbers.

    Example:
    >>> are_filters([[1, 8], [2, 16]]), are_filters([[1]])
    (True, False)
    """
    is_pair = [
        isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
        for pair in (pairs if isinstance(pairs, list) else [None])
    ]
    return all(is_pair)


TEXT = {
    "train": Option(
        str, None, "files or globs, one tokenised sentence a line", many=True, required=True
    ),
    "validation": Option(
        str, None, "held-out text, for perplexity and the best weights", many=True
    ),
    "vocabulary": Option(
        str, None, "file of tfreps build-vocabulary; with --init RUN its own by default"
    ),
}
# Options of BiLM that have a flag of their own.
SIZES = {
    "filters": Option(
        json_or_text, None, "[width, count] pairs of the character CNN, as JSON",
        must_be=(are_filters, "a list of [width, count] pairs, as in [[1,32],[2,64]]"),
    ),
    "character_dim": Option(int, None, "width of a character's vector", at_least=1),
    "num_highways": Option(int, None, "highway layers", at_least=0),
    "activation": Option(str, None, "of the character CNN"),
    "max_characters": Option(int, None, "bytes of a token, its ends among them", at_least=3),
    "units": Option(int, None, "width of the cells", at_least=1),
    "projection_dim": Option(int, None, "width of the hidden states", at_least=1),
    "num_layers": Option(int, None, "LSTMs of a direction", at_least=1),
    "cell_clip": Option(float, None, "bound on the cell states", above=0),
    "projection_clip": Option(float, None, "bound on the hidden states", above=0),
    "dropout": Option(float, None, "(0.1, or that of --init)", at_least=0, below=1),
}  # fmt: skip
MODEL = {
    "init": Option(
        str, None, "go on from HDF5 weights, a bilm-tf checkpoint folder or a run folder"
    ),
    "init_options": Option(
        str, None, "options.json of --init, if it does not lie beside it", needs="init"
    ),
    "preset": Option(str, None, "sizes (elmo_small), unless these flags say others:", sorted(ELMO)),
    **SIZES,
    "use_skip_connections": Option(bool, True, "an LSTM's input is added to its output"),
    "bidirectional": Option(bool, True, "two directions; or the forward one alone"),
    "word_input": Option(bool, False, "read token ids instead of characters"),
    "tied": Option(bool, False, "with --word-input: embedding and softmax are one"),
    "precision": fit_options.SHARED["precision"]._replace(choices=sorted(PRECISIONS)),
}
TRAINING = {
    "batch_size": Option(int, 128, "rows (128)", at_least=1),
    "unroll_steps": Option(int, 20, "tokens of a row in a batch (20)", at_least=1),
    "epochs": Option(
        float, None, "passes over the text (10)", above=0, at_most=1e6, excludes="steps"
    ),
    "steps": Option(int, None, "updates, instead of --epochs", at_least=1),
    "minutes": fit_options.SHARED["minutes"],
    "num_sampled": Option(
        int, None, "negatives, 0: full softmax (8192, or 0 for fewer tokens)", at_least=0
    ),
    "any_order": Option(bool, False, "sample although the vocabulary is not sorted"),
    "optimizer": Option(str, "adagrad", "(adagrad)", ["adagrad", "adam"]),
    "learning_rate": Option(float, None, "(0.2 for adagrad, 0.001 for adam)", above=0),
    "schedule": Option(str, "constant", "(constant)", ["constant", "cosine"]),
    "warmup_steps": Option(int, 0, "of the cosine schedule (0)", at_least=0),
    "clip_norm": Option(float, 10.0, "of the whole gradient; 0: none (10)", at_least=0),
    "reset_probability": Option(
        float, 0.01, "of carried states; 0: never (0.01)", at_least=0, at_most=1
    ),
    "seed": Option(int, 0, "of weights, shuffling, dropout, negatives (0)", at_least=0),
    "deterministic": fit_options.SHARED["deterministic"],
}
LOGS = {
    "log_every": Option(int, 100, "steps (100)", at_least=1),
    "checkpoint_every": Option(int, 1000, "steps (1000)", at_least=1),
    "evaluate_every": Option(int, None, "steps between measurements (one pass)", at_least=1),
    "histograms": Option(bool, False, "of all weights, in TensorBoard"),
}
TABLES = {
    "text": TEXT,
    "model": brought_by("init", MODEL, ("init_options", *CHANGEABLE)),
    "training": TRAINING,
    "logs": LOGS,
}
