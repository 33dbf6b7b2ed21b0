"""The `tfreps` command: runs a program by name and reports its errors on one line."""

import difflib
import importlib
import os
import re
import sys

import tfreps
from tfreps.cli import standard_streams
from tfreps.cli.garbage_collection import without_collection
from tfreps.cli.gpu_memory import allow_memory_growth
from tfreps.cli.hidden_packages import KERAS, OF_KERAS, hidden_packages
from tfreps.cli.option_rules import with_flags
from tfreps.cli.options import checked_parser
from tfreps.cli.quiet_import import quiet_tensorflow
from tfreps.cli.stored_help import stored_parser

# Program -> module (inside the installed package, or next to it in a clone) and description.
PROGRAMS = {
    "demo-corpus": ("training.demo_corpus", "builds a corpus from Python's documentation"),
    "demo-tags": ("training.demo_tags", "builds a tagged corpus from Python docstrings"),
    "tokenize": ("training.tokenize_text", "tokenizes raw texts, one text per line"),
    "build-vocabulary": (
        "training.build_vocabulary",
        "builds a vocabulary from text files",
    ),
    "pretrain-elmo": ("training.pretrain_elmo", "pre-trains the biLM of ELMo on text files"),
    "pretrain-bert": ("training.pretrain_bert", "pre-trains BERT on text files"),
    "evaluate-lm": ("training.evaluate_lm", "measures the perplexity of a biLM on held-out text"),
    "embed": ("training.embed", "writes contextual vectors of sentences to HDF5"),
    "neighbours": ("training.neighbours", "prints the nearest neighbours of a word in context"),
    "train-hmm": ("training.train_hmm", "trains a hidden Markov model on tagged sentences"),
    "train-tagger": ("training.train_tagger", "trains a tagger on tagged sentences"),
    "train-classifier": (
        "training.train_classifier",
        "trains a classifier on labelled texts",
    ),
    "launch": ("training.launch", "starts a training program as several worker processes"),
    "evaluate": ("training.evaluate", "evaluates a tagger or classifier on held-out data"),
    "tag": ("training.tag", "tags the tokens of raw text"),
    "classify": ("training.classify", "classifies raw texts"),
    "plot": ("training.plot", "draws attention, positions or learning curves"),
    "convert": ("training.convert", "converts published weights to run folders and back"),
    "presets": ("training.presets", "prints the published weights that can be used by name"),
    "publish": ("training.publish", "uploads a trained model, or writes it into a folder"),
    "export": ("serving.export", "exports a run as a SavedModel that takes raw strings"),
    "annotate": ("serving.annotate", "annotates a corpus of any size, on Apache Beam"),
    "predict": ("serving.predict", "prints the outputs of an exported SavedModel"),
    "serve": ("serving.serve", "serves SavedModels over gRPC and REST"),
    "query": ("serving.query", "queries a served model and prints its answers"),
}
WITHOUT_TENSORFLOW = {"demo-corpus", "demo-tags", "build-vocabulary", "launch"}
WITHOUT_KERAS = {"predict", "serve"}  # programs that need TensorFlow alone
# Errors of TensorFlow for invalid input and for exhausted memory.
TENSORFLOW_ERRORS = {"InvalidArgumentError", "ResourceExhaustedError"}
OUT_OF_MEMORY = {"ResourceExhaustedError", "MemoryError"}


def main(argv=None):
    """Runs `tfreps <program> ...`; returns the exit code.

    Errors that the user can correct (ValueError, OSError, OverflowError, MemoryError, and errors of
    TensorFlow for invalid arguments and exhausted memory) are printed on one line, with exit code
    2. If the environment variable TFREPS_DEBUG is set to 1, the traceback is shown instead.

    Example:
    >>> main(["--version"])
    tfreps ...
    0
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    standard_streams.prepare()
    try:
        if argv and argv[0] in PROGRAMS:
            return run_program(argv[0], argv[1:])
        return answer(argv)
    finally:  # also after help, which raises SystemExit
        standard_streams.drop_unwritable()


def answer(argv):
    """Handles `tfreps` without a program, such as `tfreps --help`; returns the exit code."""
    try:
        if not argv or argv[0] in ("-h", "--help", "help"):
            print(overview())
        elif argv[0] == "--version":
            print("tfreps", tfreps.__version__)
        else:
            standard_streams.say(f"tfreps: error: {unknown_program(argv[0])}")
            return 2
        standard_streams.flush()
    except OSError as error:
        return unwritable("tfreps", error)
    return 0


def overview():
    """Returns the text of `tfreps --help`."""
    width = max(map(len, PROGRAMS))
    lines = [f"  {name:{width}}  {about}" for name, (_, about) in PROGRAMS.items()]
    usage = "usage: tfreps <program> [options]      tfreps <program> --help\n\nprograms:"
    return "\n".join([usage, *lines])


def unknown_program(name):
    """Returns the error message for a program that does not exist."""
    close = difflib.get_close_matches(name, PROGRAMS, n=1)
    hint = f"did you mean `tfreps {close[0]}`?" if close else "`tfreps --help` lists the programs."
    return f"there is no program {name!r}; {hint}"


def run_program(name, argv):
    """Runs the `main` of a program and reports user errors; returns the exit code."""
    debug = os.environ.get("TFREPS_DEBUG", "") not in ("", "0")
    parser = None
    try:
        if parser := quick_parser(name, argv):
            if {"-h", "--help"} & set(argv):
                parser.parse_args(["--help"])  # ends the program
            checked_parser(parser, argv)  # before the seconds that it takes to import TensorFlow
        with quiet_tensorflow(), without_collection():
            if needs_tensorflow(name, argv):
                start_tensorflow(name)
            program = import_program(PROGRAMS[name][0])
        code = program.main(argv) or 0
        standard_streams.flush()
        return code
    except KeyboardInterrupt as error:  # or its subclass `Stopped`, whose message has a hint
        if debug:
            raise
        standard_streams.say(f"\ntfreps {name}: {str(error) or 'interrupted'}")
        return getattr(error, "code", 130)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            if dropped := standard_streams.drop_unwritable():
                return unwritable(f"tfreps {name}", error, *dropped)
        if debug or not is_for_the_user(error):
            raise
        names = [flag.dest for flag in parser._actions if flag.option_strings] if parser else []
        names += [word[2:].partition("=")[0].replace("-", "_") for word in argv if word[:2] == "--"]
        message = with_flags(one_line(error), names)
        standard_streams.say(f"tfreps {name}: error: {message}")
        return 2


def quick_parser(name, argv):
    """Returns the parser of a program that imports TensorFlow, without importing it, or `None`."""
    if name in WITHOUT_KERAS:  # imported on their first use of it
        return import_program(PROGRAMS[name][0]).make_parser()
    return stored_parser([name, *argv])


def unwritable(command, error, stream="standard output", *_):
    """Reports an unwritable stream, unless its reader has closed it; returns the exit code."""
    standard_streams.drop_unwritable()
    if isinstance(error, BrokenPipeError):
        return 1
    standard_streams.say(f"{command}: error: {stream}: {error.strerror}")
    return 2


def needs_tensorflow(name, argv):
    """Returns True if a program imports TensorFlow; `query` does so only for gRPC."""
    return "--grpc" in argv if name == "query" else name not in WITHOUT_TENSORFLOW


def is_for_the_user(error):
    """Returns True if the user can correct an error. TensorFlow's errors are recognized by name."""
    kinds = ValueError, OSError, OverflowError, MemoryError
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, kinds) or bool(names & TENSORFLOW_ERRORS)


def start_tensorflow(name):
    """Imports TensorFlow for a program and lists the GPUs; the caller filters their log lines."""
    allow_memory_growth()  # before TensorFlow uses a GPU
    with hidden_packages(*(KERAS if name in WITHOUT_KERAS else OF_KERAS)):
        tensorflow = importlib.import_module("tensorflow")  # imports Keras if it can
    tensorflow.config.list_physical_devices()


def import_program(module):
    """Imports the module of a program: `tfreps.training.x`, or `training.x` in a clone."""
    installed = f"tfreps.{module}"
    try:
        return importlib.import_module(installed)
    except ModuleNotFoundError as error:
        if error.name not in (installed, installed.rpartition(".")[0]):
            raise  # the program exists, but a module that it imports does not
    except TypeError as error:
        if sys.flags.optimize < 2:
            raise
        raise ValueError(
            "A package that the program needs cannot be imported without docstrings "
            f"({error}). Use PYTHONOPTIMIZE=1 instead of 2 (python -O instead of -OO)."
        ) from error
    return importlib.import_module(module)


def one_line(error):
    """Returns the message of an error as one line; file errors begin with the file name."""
    name = type(error).__name__
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{printable(str(error.filename))}: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = printable(str(error)) or name
    if name in TENSORFLOW_ERRORS:
        text = printable(essence(str(error))) or name
    if isinstance(error, UnicodeEncodeError) and error.encoding == sys.stdout.encoding:
        text += f". Standard output is in {error.encoding}: set PYTHONIOENCODING=utf-8."
    if name in OUT_OF_MEMORY:
        text += ". There was not enough memory. Use smaller batches or a smaller model."
    return text


def printable(text, longest=800):
    """Returns a text as one line of limited length, with unprintable characters escaped."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))
    if len(text) <= longest:
        return text
    return f"{text[: longest - 200]} ... {text[-195:]}"


def essence(message):
    """Returns the message of a TensorFlow error without its code locations."""
    noise = " ", "\t", "Graph execution error", "Detected at", "Stack trace", "<stack", "Hint:"
    noise += "Exception encountered when calling", "Arguments received by"  # of a Keras layer
    message = re.sub(r"\x1b\[\d*m", "", message)  # colors
    lines = [line for line in message.splitlines() if line and not line.startswith(noise)]
    text = re.sub(r"\{\{.*?\}\}|\[Op:.*?\]|\[\[.*?\]\]", "", " ".join(lines))
    return " ".join(text.split())[:500]


if __name__ == "__main__":
    sys.exit(main())
