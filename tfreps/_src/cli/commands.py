"""The `tfreps` command: runs a command by name and reports its errors on one line."""

import difflib
import importlib
import os
import sys
import types
from collections.abc import Callable

from tfreps import __version__
from tfreps._src.addresses import DOCUMENTATION
from tfreps._src.cli import standard_streams
from tfreps._src.files.tensorflow_errors import essence

# Task -> command -> module in `tfreps`, description.
TASKS = {
    "prepare text": {
        "tokenize": ("training.tokenize_text", "tokenizes raw texts, one text per line"),
        "build-vocabulary": ("training.build_vocabulary", "builds a vocabulary from text files"),
        "demo-corpus": ("training.demo_corpus", "builds a corpus from Python's documentation"),
        "demo-tags": ("training.demo_tags", "builds a tagged corpus from Python docstrings"),
    },
    "train": {
        "pretrain-elmo": ("training.pretrain_elmo", "pre-trains the biLM of ELMo on text files"),
        "pretrain-bert": ("training.pretrain_bert", "pre-trains BERT on text files"),
        "train-tagger": ("training.train_tagger", "trains a tagger on tagged sentences"),
        "train-classifier": ("training.train_classifier", "trains a classifier on labeled texts"),
        "train-hmm": ("training.train_hmm", "trains a hidden Markov model on tagged sentences"),
        "launch": ("training.launch", "starts a training command as several worker processes"),
    },
    "evaluate": {
        "evaluate-lm": ("training.evaluate_lm", "measures the perplexity of a biLM"),
        "evaluate": ("training.evaluate", "evaluates a tagger or classifier on held-out data"),
        "compare": ("training.compare", "compares runs on the same data, with significance tests"),
        "neighbors": ("training.neighbors", "prints the nearest neighbors of a word in context"),
        "plot": ("training.plot", "draws attention, positions, learning curves or confusions"),
    },
    "apply": {
        "tag": ("training.tag", "tags the tokens of raw text"),
        "classify": ("training.classify", "classifies raw texts"),
        "embed": ("training.embed", "writes contextual vectors of sentences to HDF5"),
        "search": ("training.search", "finds the texts that are most similar to a text"),
        "annotate": ("serving.annotate", "annotates a corpus of any size, on Apache Beam"),
    },
    "publish": {
        "presets": ("training.presets", "prints the published weights that can be used by name"),
        "publish": ("training.publish", "uploads a trained model, or writes it into a folder"),
        "convert": ("training.convert", "converts published weights to run folders and back"),
        "export": ("serving.export", "exports a run as a SavedModel that takes raw strings"),
        "export-decoder": ("serving.export_decoder", "exports a decoder of the scores of tags"),
        "predict": ("serving.predict", "prints the outputs of an exported SavedModel"),
        "serve": ("serving.serve", "serves SavedModels over gRPC and REST"),
        "query": ("serving.query", "queries a served model and prints its outputs"),
    },
}
COMMANDS = {name: row for commands in TASKS.values() for name, row in commands.items()}
# Errors of TensorFlow for invalid input and for exhausted memory.
TENSORFLOW_ERRORS = {"InvalidArgumentError", "ResourceExhaustedError"}
OUT_OF_MEMORY = {"ResourceExhaustedError", "MemoryError"}


def main(argv: list[str] | None = None) -> int:
    """Runs `tfreps COMMAND ...` or `tfreps help COMMAND`; returns the exit code.

    Errors that the user can correct (ValueError, OSError, OverflowError, MemoryError, and errors of
    TensorFlow for invalid arguments and exhausted memory) are printed on one line, with exit code
    2. If the environment variable TFREPS_DEBUG is set to 1, the traceback is shown instead.

    Example:
    >>> main(["--version"])
    tfreps ...
    0
    """
    name, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name == "help" and rest:
        name, rest = rest[0], [*rest[1:], "--help"]
    standard_streams.prepare()
    try:
        if name in COMMANDS:
            return run(f"tfreps {name}", lambda: import_command(COMMANDS[name][0]).main(rest))
        return run("tfreps", lambda: run_alone(name))
    finally:  # also runs after help, which raises SystemExit
        standard_streams.drop_unwritable()


def run_alone(word: str) -> None:
    """Prints the help or the version for `tfreps --help` or `tfreps --version`.

    `word` is the argument of `tfreps`. Raises a ValueError for any other word.
    """
    if word in ("-h", "--help", "--help-all", "help"):
        print(overview())
    elif word == "--version":
        print("tfreps", __version__)
    else:
        raise ValueError(unknown_command(word))


def overview() -> str:
    """Returns the text of `tfreps --help`: the commands by task, and the documentation's URL."""
    width, lines = max(map(len, COMMANDS)), ["usage: tfreps COMMAND [options]"]
    for task, commands in TASKS.items():
        lines += ["", f"{task}:"]
        lines += [f"  {name:{width}}  {about}" for name, (_, about) in commands.items()]
    return "\n".join([
        *lines,
        "",
        "tfreps COMMAND --help  shows examples and the common options of a command",
        "tfreps --version       prints the version",
        f"Documentation: {DOCUMENTATION}",
    ])  # fmt: skip


def unknown_command(name: str) -> str:
    """Returns the error message for a command that does not exist."""
    close = difflib.get_close_matches(name, COMMANDS, n=1)
    hint = f"did you mean `tfreps {close[0]}`?" if close else "`tfreps --help` lists the commands."
    return f"there is no command {name!r}; {hint}"


def run(command: str, main: Callable[[], int | None]) -> int:
    """Calls the function `main` of a command, and returns the exit code.

    An error that the user can correct is printed on one line, after the name `command`; all other
    errors are raised.
    """
    debug = os.environ.get("TFREPS_DEBUG", "") not in ("", "0")
    try:
        code = main() or 0
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as error:  # or its subclass `Stopped`, whose message has a hint
        if debug:
            raise
        standard_streams.say(f"\n{command}: {str(error) or 'interrupted'}")
        return getattr(error, "code", 130)
    except BrokenPipeError:  # the program that reads the output has ended
        return 1
    except Exception as error:
        if debug or not is_for_the_user(error):
            raise
        message, dropped = one_line(error), standard_streams.drop_unwritable()
        if dropped and isinstance(error, OSError) and error.filename is None:
            message = f"{dropped[0]}: {message}"
        standard_streams.say(f"{command}: error: {message}")
        return 2


def is_for_the_user(error: Exception) -> bool:
    """Returns True if the user can correct an error. TensorFlow's errors are recognized by name."""
    kinds = ValueError, OSError, OverflowError, MemoryError
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, kinds) or bool(names & TENSORFLOW_ERRORS)


def import_command(module: str) -> types.ModuleType:
    """Imports the module of a command, such as `training.embed`."""
    return importlib.import_module(f"tfreps.{module}")


def one_line(error: Exception) -> str:
    """Returns the message of an error as one line; file errors begin with the file name."""
    name = type(error).__name__
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{printable(str(error.filename))}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = printable(str(error)) or name
    if name in TENSORFLOW_ERRORS:
        text = printable(essence(str(error))[:500]) or name
    if isinstance(error, UnicodeEncodeError) and error.encoding == sys.stdout.encoding:
        text += f". Standard output is in {error.encoding}: set PYTHONIOENCODING=utf-8."
    if name in OUT_OF_MEMORY:
        text += ". There was not enough memory. Use smaller batches or a smaller model."
    return text


def printable(text: str, longest: int = 800) -> str:
    """Returns a text as one line of limited length, with unprintable characters escaped."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))
    if len(text) <= longest:
        return text
    return f"{text[: longest - 200]} ... {text[-195:]}"
