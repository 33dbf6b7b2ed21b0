"""The `tfreps` command: finds a program by name, runs it, and reports its errors in one line."""

import difflib
import importlib
import os
import re
import sys

import tfreps
from tfreps.cli import standard_streams
from tfreps.cli.quiet_import import quiet_tensorflow

# Program: module (its folder is found inside the installed package or beside it), description.
PROGRAMS = {
    "demo-corpus": ("training.demo_corpus", "a corpus from Python's own documentation"),
    "demo-tags": ("training.demo_tags", "tagged sentences from Python's own docstrings"),
    "tokenize": ("training.tokenize_text", "raw text files -> one tokenised text a line"),
    "build-vocabulary": (
        "training.build_vocabulary",
        "text files -> vocabulary, by falling count",
    ),
    "pretrain-elmo": ("training.pretrain_elmo", "text files -> biLM in a run folder"),
    "pretrain-bert": ("training.pretrain_bert", "text files -> BERT in a run folder"),
    "evaluate-lm": ("training.evaluate_lm", "perplexity of a biLM on held-out text"),
    "embed": ("training.embed", "sentences -> contextual vectors in HDF5"),
    "neighbours": ("training.neighbours", "nearest neighbours of a word in its contexts"),
    "train-hmm": ("training.train_hmm", "tagged sentences -> hidden Markov model in a run folder"),
    "train-tagger": ("training.train_tagger", "tagged sentences -> tagger in a run folder"),
    "train-classifier": (
        "training.train_classifier",
        "labelled texts -> classifier in a run folder",
    ),
    "evaluate": ("training.evaluate", "figures of a tagger or classifier on held-out data"),
    "tag": ("training.tag", "raw text -> a tag for every token"),
    "classify": ("training.classify", "raw texts -> a label for each"),
    "plot": ("training.plot", "attention, positions or learning curves as a picture"),
    "convert": ("training.convert", "published weights <-> run folder"),
    "export": ("serving.export", "run folder -> SavedModel that takes raw strings"),
    "predict": ("serving.predict", "answers of an exported SavedModel"),
    "serve": ("serving.serve", "SavedModels over gRPC and REST, as TensorFlow Serving does"),
    "query": ("serving.query", "answers of a served model, over REST or gRPC"),
}
WITHOUT_TENSORFLOW = {"demo-corpus", "demo-tags", "build-vocabulary"}
# What TensorFlow raises for input that does not fit, and for too much of it.
TENSORFLOW_ERRORS = {"InvalidArgumentError", "ResourceExhaustedError"}
OUT_OF_MEMORY = {"ResourceExhaustedError", "MemoryError"}


def main(argv=None):
    """Runs `tfreps <program> ...`; returns the exit code.

    What the program raises as ValueError or OSError is the user's to mend, and so is what does
    not fit into a tensor or into memory: it is told in one line (exit code 2). The environment
    variable TFREPS_DEBUG=1 shows the traceback instead.

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
    finally:  # of help, too, which ends in a SystemExit
        standard_streams.drop_unwritable()


def answer(argv):
    """What `tfreps` itself says, without a program; returns the exit code."""
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
    """What `tfreps --help` prints."""
    width = max(map(len, PROGRAMS))
    lines = [f"  {name:{width}}  {about}" for name, (_, about) in PROGRAMS.items()]
    usage = "usage: tfreps <program> [options]      tfreps <program> --help\n\nprograms:"
    return "\n".join([usage, *lines])


def unknown_program(name):
    """The sentence about a program that does not exist."""
    close = difflib.get_close_matches(name, PROGRAMS, n=1)
    hint = f"did you mean `tfreps {close[0]}`?" if close else "`tfreps --help` lists the programs."
    return f"there is no program {name!r}; {hint}"


def run_program(name, argv):
    """Runs one program's `main`; user errors end in one line on stderr and exit code 2."""
    debug = os.environ.get("TFREPS_DEBUG", "") not in ("", "0")
    try:
        with quiet_tensorflow():
            if needs_tensorflow(name, argv):
                start_tensorflow()
            program = import_program(PROGRAMS[name][0])
        code = program.main(argv) or 0
        standard_streams.flush()
        return code
    except (
        KeyboardInterrupt
    ) as error:  # or `tfreps.callbacks.stop_signals.Stopped`, which says more
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
        standard_streams.say(f"tfreps {name}: error: {one_line(error)}")
        return 2


def unwritable(command, error, stream="standard output", *_):
    """Exit code where nothing can be printed; where the reader (`| head`) has gone, silently."""
    standard_streams.drop_unwritable()
    if isinstance(error, BrokenPipeError):
        return 1
    standard_streams.say(f"{command}: error: {stream}: {error.strerror}")
    return 2


def needs_tensorflow(name, argv):
    """Whether a program is going to import TensorFlow; `query` does for gRPC alone."""
    if {"-h", "--help"} & set(argv):
        return False
    return "--grpc" in argv if name == "query" else name not in WITHOUT_TENSORFLOW


def is_for_the_user(error):
    """Whether an error is told in one line; those of TensorFlow are known by name."""
    kinds = ValueError, OSError, OverflowError, MemoryError
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, kinds) or bool(names & TENSORFLOW_ERRORS)


def start_tensorflow():
    """Imports TensorFlow and has it look for GPUs, of which it writes to stderr."""
    importlib.import_module("tensorflow").config.list_physical_devices()


def import_program(module):
    """The module of a program: `tfreps.training.x` where installed, `training.x` in a clone."""
    installed = f"tfreps.{module}"
    try:
        return importlib.import_module(installed)
    except ModuleNotFoundError as error:
        if error.name not in (installed, installed.rpartition(".")[0]):
            raise  # the program is there, but something that it imports is not
    except TypeError as error:
        if sys.flags.optimize < 2:
            raise
        raise ValueError(
            "a package that the program needs cannot be imported without docstrings "
            f"({error}): use PYTHONOPTIMIZE=1 in place of 2 (python -O in place of -OO)."
        ) from error
    return importlib.import_module(module)


def one_line(error):
    """The message of an error without line breaks; for file errors, the file first."""
    name = type(error).__name__
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{printable(str(error.filename))}: {error.strerror}"
    text = printable(str(error)) or name
    if name in TENSORFLOW_ERRORS:
        text = essence(str(error)) or name
    if isinstance(error, UnicodeEncodeError) and error.encoding == sys.stdout.encoding:
        text += f". Standard output is in {error.encoding}: set PYTHONIOENCODING=utf-8."
    if name in OUT_OF_MEMORY:
        text += ". There was not enough memory: take smaller batches, or a smaller model."
    return text


def printable(text, longest=800):
    """A text in one line of bounded length, without what would confuse a terminal."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))
    if len(text) <= longest:
        return text
    return f"{text[: longest - 200]} ... {text[-195:]}"


def essence(message):
    """What TensorFlow means, without its lists of places in the code."""
    noise = " ", "\t", "Graph execution error", "Detected at", "Stack trace", "<stack", "Hint:"
    lines = [line for line in message.splitlines() if line and not line.startswith(noise)]
    text = re.sub(r"\{\{.*?\}\}|\[Op:.*?\]|\[\[.*?\]\]", "", " ".join(lines))
    return " ".join(text.split())[:500]


if __name__ == "__main__":
    sys.exit(main())
