"""Adds the flags that name a biLM, and maps them to arguments of `tfreps.load`."""

import argparse
import contextlib

from tfreps.cli.option_rules import listed

# Maps arguments of `tfreps.load`, `open_for_export` and `EmbeddingsFile` to flags of the programs.
FLAGS = {
    "weights_file": "--weights",
    "vocabulary": "--vocabulary",
    "initial_state": "--state",
    "scheme": "--scheme",
    "core_ops=False": "--wordpiece",
    "resume=True": "--resume",
    "overwrite=True": "--overwrite",
}


def add_bilm_flags(parser) -> None:
    """Adds the flags --options, --weights, --vocabulary and --state.

    A user gives either the positional argument MODEL, or both --options and --weights.

    Args:
        parser: `argparse.ArgumentParser`, or one of its argument groups.
    """
    add = parser.add_argument
    about = "options.json of a published biLM, in place of MODEL. Requires --weights."
    add("--options", metavar="FILE.json", help=about)
    about = "HDF5 file with the weights of the biLM that --options describes."
    add("--weights", metavar="FILE.hdf5", help=about)
    about = (
        "Vocabulary file of the published biLM. A biLM that reads token ids needs it to read text."
    )
    add("--vocabulary", metavar="FILE", help=about)
    about = (
        "LSTM state at the start of each sentence: zeros (zero), or the state after a fixed "
        "sentence (warm). Defaults to zero."
    )
    add("--state", type=_state, choices=["zero", "warm"], help=about)


def _state(value):
    """Returns the value of --state. If it is `carry`, raises an error with the reason."""
    if value == "carry":
        raise argparse.ArgumentTypeError(
            "must be zero or warm; with carry, the vectors of a sentence would depend on the "
            "sentences before it and on the batches. For vectors close to those of bilm-tf, which "
            "carries the state, use warm"
        )
    return value


def chosen_model(options) -> tuple[str, dict]:
    """Returns the arguments of `tfreps.load` for the model that the options name.

    Args:
        options: namespace with `model` and the flags of `add_bilm_flags`.

    Returns:
        Tuple `(path, how)`. `path` is a str, the path of the run folder or of options.json. `how`
        is a dict of keyword arguments.

    Raises:
        ValueError: If MODEL and the published files are both given or both missing, or if only one
            of the two published files is given.

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
            f"got {listed(given_of(options)) or 'neither'}."
        )
    given = {
        "weights_file": options.weights,
        "vocabulary": options.vocabulary,
        "initial_state": options.state,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return options.model or options.options, given


def given_of(options) -> list[str]:
    """Describes the run folder and the published files that are given, for error messages."""
    files = {"--options": options.options, "--weights": options.weights}
    given = [f"run folder {options.model}"] if options.model is not None else []
    return given + [f"{flag} {value}" for flag, value in files.items() if value is not None]


def open_bilm(path, how: dict):
    """Loads a biLM. Error messages name the flags of the program.

    Args:
        path: str. Path that `chosen_model` returned.
        how: dict. Keyword arguments that `chosen_model` returned.

    Returns:
        `tfreps.inference.TextBiLM`.

    Raises:
        ValueError: If the model cannot be loaded or is not a biLM.
    """
    from tfreps.inference.load import load_as  # imports TensorFlow
    from tfreps.inference.text_bilm import TextBiLM

    with naming_flags():
        return load_as(TextBiLM, path, **how)


@contextlib.contextmanager
def naming_flags():
    """Context manager that replaces names of library arguments with flags in ValueErrors.

    Example:
    >>> with naming_flags():
    ...     raise ValueError("`initial_state` applies to a biLM.")
    Traceback (most recent call last):
    ValueError: --state applies to a biLM.
    """
    try:
        yield
    except ValueError as error:
        message = str(error)
        for name, flag in FLAGS.items():
            message = message.replace(f"`{name}`", flag)
        raise ValueError(message) from error
