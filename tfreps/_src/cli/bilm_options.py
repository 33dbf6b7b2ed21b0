"""Options that name a biLM, and the arguments of `tfreps.load` that they set."""

import argparse

from tfreps._src.cli.options import Option, listed


def _state(value):
    """Returns a value of --elmo-initial-state unchanged, or raises an error if it is `carry`."""
    if value == "carry":
        raise argparse.ArgumentTypeError(
            "must be zero or warm; got carry, which would make the vectors of a sentence "
            "depend on the sentences before it and on the batches. For vectors close to those "
            "of bilm-tf, which carries the state, use warm"
        )
    return value


MODEL = Option(
    str, None, "Run folder of a biLM, or published biLM, by path, name ('tfreps presets') or hf:// "
    "address.", metavar="MODEL",
)  # fmt: skip
# A user gives either the argument MODEL, or both --elmo-config and --elmo-weights.
OPTIONS = {
    "elmo_config": Option(
        str, None, "options.json file of a biLM from bilm-tf or AllenNLP, used together with "
        "--elmo-weights instead of MODEL.", metavar="FILE",
    ),
    "elmo_weights": Option(
        str, None, "HDF5 file with the weights of the biLM that --elmo-config describes.",
        metavar="FILE",
    ),
    "vocabulary": Option(
        str, None, "Vocabulary file of the published biLM. Required to read text with a biLM that "
        "reads token ids instead of characters.", metavar="FILE",
    ),
    "elmo_initial_state": Option(
        _state, None, "LSTM state at the start of each sentence: zeros (zero), or the state after "
        "a fixed sentence (warm). Defaults to zero.", ["zero", "warm"],
    ),
}  # fmt: skip
# Arguments of the library whose flag has another name.
FLAGS = {"weights_file": "--elmo-weights", "initial_state": "--elmo-initial-state"}


def reading_options(bilm) -> dict:
    """Returns a dict of the arguments of a reader in `tfreps.data` that depend on the biLM.

    These are `bidirectional`, `characters` and `max_characters`.
    """
    return {
        "bidirectional": bilm.bidirectional,
        "characters": "table" if bilm.vocabulary_size is None else None,
        "max_characters": bilm.max_characters,
    }


def chosen_model(options) -> tuple[str, dict]:
    """Returns the arguments of `tfreps.load` that open the biLM which the options name.

    Returns the path, name or address of the model, and a dict of keyword arguments. Raises a
    ValueError unless the options contain either MODEL, or both --elmo-config and --elmo-weights.
    """
    files = {"--elmo-config": options.elmo_config, "--elmo-weights": options.elmo_weights}
    if (None in files.values()) if options.model is None else any(files.values()):
        given = [] if options.model is None else [f"MODEL {options.model}"]
        given += [f"{flag} {value}" for flag, value in files.items() if value is not None]
        raise ValueError(
            "Expected either MODEL, or both --elmo-config FILE and --elmo-weights FILE; got "
            f"{listed(given) or 'neither'}."
        )
    given = {
        "weights_file": options.elmo_weights,
        "vocabulary": options.vocabulary,
        "initial_state": options.elmo_initial_state,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return options.model or options.elmo_config, given
