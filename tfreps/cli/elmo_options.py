"""Options of pre-training a biLM: its sizes, training and figures, in tables by name."""

import json

from tfreps.cli.options import Option


def json_or_text(text):
    """What JSON says; text that is no JSON as it is, for `check` to refuse.

    Example:
    >>> json_or_text("[[1, 8]]"), json_or_text("[[1, 8")
    ([[1, 8]], '[[1, 8')
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# Options of BiLM that have a flag of their own.
SIZES = {
    "filters": Option(json_or_text, None, "[width, count] pairs of the character CNN, as JSON"),
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
}
TRAINING = {
    "batch_size": Option(int, 128, "rows (128)", at_least=1),
    "unroll_steps": Option(int, 20, "tokens of a row in a batch (20)", at_least=1),
    "epochs": Option(float, None, "passes over the text (10)", above=0, at_most=1e6),
    "steps": Option(int, None, "updates, instead of --epochs", at_least=1),
    "minutes": Option(float, None, "stop after this time", above=0),
    "num_sampled": Option(
        int, None, "negatives, 0: full softmax (8192, or 0 for fewer tokens)", at_least=0
    ),
    "learning_rate": Option(float, None, "(0.2 for adagrad, 0.001 for adam)", above=0),
    "warmup_steps": Option(int, 0, "of the cosine schedule (0)", at_least=0),
    "clip_norm": Option(float, 10.0, "of the whole gradient; 0: none (10)", at_least=0),
    "reset_probability": Option(
        float, 0.01, "of carried states; 0: never (0.01)", at_least=0, at_most=1
    ),
    "seed": Option(int, 0, "of weights, shuffling, dropout, negatives (0)", at_least=0),
}
FIGURES = {
    "log_every": Option(int, 100, "steps (100)", at_least=1),
    "checkpoint_every": Option(int, 1000, "steps (1000)", at_least=1),
    "evaluate_every": Option(int, None, "steps between measurements (one pass)", at_least=1),
}


def check(options):
    """Finds options that make no sense, before anything is read.

    Args:
        options: namespace with what the tables name.

    Raises:
        ValueError: names the flag.
    """
    if options.filters is not None and not _are_filters(options.filters):
        raise ValueError(
            "--filters must be a list of [width, count] pairs, as in [[1,32],[2,64]]; got "
            f"{options.filters!r}."
        )
    if options.epochs and options.steps:
        raise ValueError("Give --epochs or --steps, not both (the file of --config counts).")


def _are_filters(pairs):
    is_pair = [
        isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
        for pair in (pairs if isinstance(pairs, list) else [None])
    ]
    return all(is_pair)
