"""Flags that name a trained model or a published biLM, and their names in `tfreps.load`."""

import contextlib

# Option of `tfreps.load` -> the flag that programs have for it.
FLAGS = {
    "weights_file": "--weights",
    "vocabulary": "--vocabulary",
    "initial_state": "--state",
    "scheme": "--scheme",
}


def add_bilm_flags(parser) -> None:
    """Adds --options, --weights, --vocabulary and --state, beside a positional MODEL.

    Args:
        parser: `argparse.ArgumentParser`.
    """
    add = parser.add_argument
    add("--options", metavar="FILE.json", help="published biLM instead of MODEL")
    add("--weights", metavar="FILE.hdf5", help="its weights")
    add("--vocabulary", metavar="FILE", help="its vocabulary, if it reads words, not characters")
    about = "what sentences start from: zeros, or the state after one fixed sentence (zero)"
    add("--state", choices=["zero", "warm"], help=about)


def chosen_model(options) -> tuple[str, dict]:
    """The path, and the options of `tfreps.load`, that the flags name.

    Args:
        options: namespace with `model` and what `add_bilm_flags` adds.

    Raises:
        ValueError: neither MODEL nor published files, or both, or one file without the other.

    Example:
    >>> import argparse
    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("model", nargs="?")
    >>> add_bilm_flags(parser)
    >>> chosen_model(parser.parse_args(["runs/elmo", "--state", "warm"]))
    ('runs/elmo', {'initial_state': 'warm'})
    """
    files = options.options, options.weights
    if (None in files) if options.model is None else any(files):
        raise ValueError(
            "Expected either a run folder, or both --options FILE.json and --weights FILE.hdf5; "
            f"got run folder {options.model}, --options {options.options}, --weights "
            f"{options.weights}."
        )
    given = {
        "weights_file": options.weights,
        "vocabulary": options.vocabulary,
        "initial_state": options.state,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return options.model or options.options, given


def open_bilm(path, how: dict):
    """Loads the biLM that `chosen_model` named, and nothing else.

    Returns:
        `tfreps.inference.TextBiLM`.

    Raises:
        ValueError: what `tfreps.load` raises, or it is no biLM.
    """
    from tfreps.inference.load import load_as  # here, for it imports TensorFlow
    from tfreps.inference.text_bilm import TextBiLM

    with naming_flags():
        return load_as(TextBiLM, path, **how)


@contextlib.contextmanager
def naming_flags():
    """Has a ValueError that is raised inside speak of flags in place of `tfreps.load`'s options.

    Example:
    >>> with naming_flags():
    ...     raise ValueError("`initial_state` is about a biLM.")
    Traceback (most recent call last):
    ValueError: --state is about a biLM.
    """
    try:
        yield
    except ValueError as error:
        message = str(error)
        for name, flag in FLAGS.items():
            message = message.replace(f"`{name}`", flag)
        raise ValueError(message) from error
