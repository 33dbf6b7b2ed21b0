"""Options that name a biLM, and the arguments of `tfreps.load` that they stand for."""

import argparse

from tfreps._src.cli.options import Option, listed


def _state(value):
    """Returns the value of --state. If it is `carry`, raises an error with the reason."""
    if value == "carry":
        raise argparse.ArgumentTypeError(
            "must be zero or warm; with carry, the vectors of a sentence would depend on the "
            "sentences before it and on the batches. For vectors close to those of bilm-tf, which "
            "carries the state, use warm"
        )
    return value


MODEL = Option(
    str, None, "Run folder of a biLM, or published biLM, by path, name ('tfreps presets') or hf:// "
    "address.", metavar="MODEL",
)  # fmt: skip
# A user gives either the argument MODEL, or both --options and --weights.
OPTIONS = {
    "options": Option(
        str, None, "options.json of a published biLM, in place of MODEL. Requires --weights.",
        metavar="FILE.json",
    ),
    "weights": Option(
        str, None, "HDF5 file with the weights of the biLM that --options describes.",
        metavar="FILE.hdf5",
    ),
    "vocabulary": Option(
        str, None, "Vocabulary file of the published biLM. A biLM that reads token ids needs it to "
        "read text.", metavar="FILE",
    ),
    "state": Option(
        _state, None, "LSTM state at the start of each sentence: zeros (zero), or the state after "
        "a fixed sentence (warm). Defaults to zero.", ["zero", "warm"],
    ),
}  # fmt: skip
# Arguments of the library whose flag has another name.
FLAGS = {"weights_file": "--weights", "initial_state": "--state"}


def reading_options(bilm) -> dict:
    """Returns the arguments of the readers in `tfreps.data` that depend on the biLM."""
    return {
        "bidirectional": bilm.bidirectional,
        "characters": "table" if bilm.vocabulary_size is None else None,
        "max_characters": bilm.max_characters,
    }


def chosen_model(options) -> tuple[str, dict]:
    """Returns the path and the keyword arguments of `tfreps.load` for the model of the options."""
    files = {"--options": options.options, "--weights": options.weights}
    if (None in files.values()) if options.model is None else any(files.values()):
        given = [] if options.model is None else [f"run folder {options.model}"]
        given += [f"{flag} {value}" for flag, value in files.items() if value is not None]
        raise ValueError(
            "Expected either a run folder, or both --options FILE.json and --weights FILE.hdf5; "
            f"got {listed(given) or 'neither'}."
        )
    given = {
        "weights_file": options.weights,
        "vocabulary": options.vocabulary,
        "initial_state": options.state,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return options.model or options.options, given
