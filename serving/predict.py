"""Runs an exported SavedModel on raw sentences; imports TensorFlow but not tfreps.

EXPORT_FOLDER is a version, such as exports/elmo/1, or a folder of versions, such as exports/elmo,
of which the newest is used.

The program prints one JSON object per sentence, which contains the sentence as `text`. For a biLM
or BERT model, the object also contains the number of tokens (for BERT, the pieces and their
number), the shapes of all outputs and the first numbers of `default` (with --full, all numbers of
all outputs). For a tagger, it contains the tokens, tags, confidences and, with a tag scheme, spans.
For a classifier, it contains the number of tokens, the label and its probability (with --full, also
those of all labels). Sentences are read from the command line, from --file, or from standard input,
one per line (UTF-8). This file also runs without tfreps:
python serving/predict.py exports/elmo/1 "A sentence ."

Load only exports that you trust: a SavedModel is a program, and this program does not check it (see
SECURITY.md).
"""

import argparse
import codecs
import contextlib
import importlib
import itertools
import json
import logging
import os
import re
import sys
import tempfile

BATCH = 32
FIRST = 5  # numbers shown without --full
EXAMPLES = """\
examples:
  tfreps predict exports/ner "Ada lived in London ." "Another sentence"
  tfreps predict exports/elmo/1 --file sentences.txt --full
  tfreps predict exports/reviews --file reviews.txt --signature tokens
"""


def main(argv=None):
    options = make_parser().parse_intermixed_args(argv)
    options.folder = saved_model_folder(options.folder)
    sentences = read_sentences(options)
    signature = load_signature(options.folder, options.signature)
    while batch := list(itertools.islice(sentences, BATCH)):
        for answer in answers(signature, batch, options.full):
            print(json.dumps(answer, ensure_ascii=False), flush=True)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps predict",
        description="Prints the outputs of an exported SavedModel as JSON lines.\n"
        "Load only exports that you trust: a SavedModel is a program (see SECURITY.md).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    about = "Folder written by 'tfreps export'."
    parser.add_argument("folder", metavar="EXPORT_FOLDER", help=about)
    about = "Raw sentences. Defaults to the lines of --file or of standard input."
    parser.add_argument("sentences", metavar="SENTENCE", nargs="*", help=about)
    add = parser.add_argument_group("general", "Options that every program has.").add_argument
    add("-h", "--help", action="help", help="Show this help and exit.")
    add = parser.add_argument_group("input", "Sentences to read.").add_argument
    add("--file", help="UTF-8 text file with one sentence per line.")
    add = parser.add_argument_group("output", "Outputs to print.").add_argument
    about = (
        "Signature to call: default, which reads raw text, or tokens, which reads tokens that are "
        "split at white space (default: default)."
    )
    add("--signature", default="default", help=about)
    about = (
        "Print all numbers of the outputs of a biLM or BERT model, or the probabilities of all "
        "labels of a classifier."
    )
    add("--full", action="store_true", help=about)
    return parser


def saved_model_folder(folder):
    """Returns the folder itself if it is a SavedModel, else the newest version in it."""
    if os.path.isfile(os.path.join(folder, "saved_model.pb")):
        return folder
    names = os.listdir(folder) if os.path.isdir(folder) else []
    names = [name for name in names if re.fullmatch("[0-9]+", name)]
    names = [n for n in names if os.path.isfile(os.path.join(folder, n, "saved_model.pb"))]
    if not names:
        raise ValueError(
            f"{folder} is not a SavedModel: it has no saved_model.pb and no version that has one. "
            "Expected a folder written by `tfreps export`."
        )
    return os.path.join(folder, max(names, key=int))


def read_sentences(options):
    """Returns an iterator over the sentences of the command line, the file or standard input."""
    if options.file is not None and options.sentences:
        raise ValueError("--file cannot be combined with sentences on the command line.")
    if options.sentences:
        return iter(options.sentences)
    if options.file is None:
        return lines(sys.stdin.buffer, "standard input")
    return lines(open(options.file, "rb"), options.file)


def lines(file, name):
    with file:
        for number, line in enumerate(file, 1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise ValueError(
                    f"{name}, line 1: expected UTF-8 text, but the file looks like UTF-16. "
                    "Convert it first: iconv -f UTF-16 -t UTF-8."
                )
            if b"\0" in line:
                raise ValueError(
                    f"{name}, line {number}: expected UTF-8 text; got a NUL byte. The file "
                    "looks binary."
                )
            if b"\r" in line.removesuffix(b"\n").removesuffix(b"\r"):
                raise ValueError(
                    f"{name}, line {number}: expected lines that end with a line feed; got a "
                    "carriage return without a line feed. If carriage returns end the lines, "
                    "convert the file first: tr '\\r' '\\n' < OLD > NEW."
                )
            try:
                yield line.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{name}, line {number}: expected UTF-8 text; got the byte "
                    f"0x{line[error.start]:02x}. Convert it first, for example from Latin-1: "
                    "iconv -f LATIN1 -t UTF-8."
                ) from None


def load_signature(folder, name):
    # The file also runs without tfreps, whose command sets the variable for all programs.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    with quiet_import():
        import tensorflow as tf

        tf.config.list_physical_devices()
    try:
        with quiet_absl():
            signatures = load(tf, folder).signatures
    except Exception as error:  # damaged protobufs, missing files and others have their own types
        raise ValueError(f"{folder} cannot be loaded as a SavedModel: {error}") from error
    if name not in signatures:
        known = ", ".join(signatures) or "none"
        raise ValueError(
            f"--signature must name a signature of {folder} (it has {known}); got {name!r}."
        )
    signature = signatures[name]
    takes = set(signature.structured_input_signature[1])
    if takes not in ({"text"}, {"tokens", "sequence_len"}):
        raise ValueError(
            f"--signature must name a signature that takes sentences; {name!r} takes "
            f"{', '.join(sorted(takes))}. Use default or tokens."
        )
    names = set(signature.structured_outputs)
    if "sequence_len" not in names or not names & set(DESCRIBED_BY):
        raise ValueError(
            f"{folder} is not an export written by tfreps: the signature {name!r} must have the "
            "output sequence_len and one of the outputs default, tags and label."
        )
    return signature


def load(tf, folder):
    """Loads a SavedModel, and imports TensorFlow Text if the model needs its operations."""
    try:
        return tf.saved_model.load(folder)
    except RuntimeError as error:
        if "Op type not registered" not in str(error):
            raise
        try:
            importlib.import_module("tensorflow_text")  # registers them
        except ImportError as missing:
            raise ValueError(
                f"the model needs operations of TensorFlow Text ({missing}). Run pip install "
                "tensorflow-text."
            ) from error
    return tf.saved_model.load(folder)


@contextlib.contextmanager
def quiet_import():
    """Context manager that hides the messages of TensorFlow on stderr while it is imported.

    They are shown if the import fails, or if the environment variable TF_CPP_MIN_LOG_LEVEL is below
    3.
    """
    level = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if "tensorflow" in sys.modules or level in ("", "0", "1", "2"):
        yield
        return
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(stderr, held.read())
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


@contextlib.contextmanager
def quiet_absl():
    """Context manager that drops warnings about gradients, which this program does not compute."""
    logger = logging.getLogger("absl")

    def wanted(record):
        return "Will likely fail if a gradient is requested" not in record.getMessage()

    logger.addFilter(wanted)
    try:
        yield
    finally:
        logger.removeFilter(wanted)


def answers(signature, sentences, full):
    """Yields a dict with the outputs of each sentence, without padding."""
    outputs = {name: value.numpy() for name, value in ask(signature, sentences).items()}
    lengths = outputs.pop("sequence_len").tolist()
    describe = next(DESCRIBED_BY[name] for name in DESCRIBED_BY if name in outputs)
    for row, (sentence, length) in enumerate(zip(sentences, lengths, strict=True)):
        own = {name: value[row] for name, value in sorted(outputs.items())}
        yield {"text": sentence, **describe(own, length, full, sentence)}


def of_vectors(own, length, full, text):
    """Returns the number of tokens of a sentence, and the shapes and values of its vectors."""
    answer = {"tokens": length}
    if "tokens" in own:  # a BERT model splits words into pieces
        answer["pieces"] = [piece.decode() for piece in own.pop("tokens")[:length]]
    own = {name: value[:length] if value.ndim > 1 else value for name, value in own.items()}
    answer["shapes"] = {name: list(value.shape) for name, value in own.items()}
    if full:
        return {**answer, **{name: numbers(value) for name, value in own.items()}}
    return {**answer, "default": numbers(own["default"][:FIRST])}


def of_tags(own, length, full, text):
    """Returns the tokens, tags and confidences of a tagger and, with a tag scheme, its spans."""
    answer = {name: [value.decode() for value in own[name][:length]] for name in ("tokens", "tags")}
    answer["confidences"] = [round(float(share), 4) for share in own["confidences"][:length]]
    if "num_spans" in own:
        names = "span_types", "span_starts", "span_ends"
        spans = zip(*(own[name][: own["num_spans"]].tolist() for name in names), strict=True)
        answer["spans"] = [
            {
                "type": kind.decode(),
                "start": start,
                "end": end,
                "text": span_text(text, answer["tokens"], start, end),
                "confidence": min(answer["confidences"][start:end]),
            }
            for kind, start, end in spans
        ]
    return answer


def span_text(text, tokens, start, end):
    """Returns the part of the text that a span covers; joins tokens that are not in the text."""
    places = [0]
    for token in tokens[:end]:
        place = text.find(token, places[-1])
        if place < 0:
            return " ".join(tokens[start:end])
        places += place, place + len(token)
    return text[places[2 * start + 1] : places[-1]]


def of_label(own, length, full, text):
    """Returns the number of tokens, and the label with its probability (all, with --full)."""
    answer = {"tokens": length, "label": own["label"].decode()}
    answer["probability"] = round(float(own["probability"]), 4)
    if full:
        names = [name.decode() for name in own["labels"].tolist()]
        answer["probabilities"] = dict(zip(names, numbers(own["probabilities"]), strict=True))
    return answer


# Output that identifies the kind of model -> function that describes its outputs.
DESCRIBED_BY = {"default": of_vectors, "tags": of_tags, "label": of_label}


def ask(signature, sentences):
    import tensorflow as tf

    if "text" in signature.structured_input_signature[1]:
        return signature(text=tf.constant(sentences))
    rows = [sentence.split() for sentence in sentences]
    longest = max(map(len, rows))
    tokens = tf.constant([row + [""] * (longest - len(row)) for row in rows], tf.string)
    tokens = tf.reshape(tokens, [len(rows), longest])
    return signature(tokens=tokens, sequence_len=tf.constant([len(row) for row in rows]))


def numbers(array):
    """Returns an array as nested lists of numbers, with the precision of float32."""
    if array.ndim:
        return [numbers(part) for part in array]
    return float(f"{array:.9g}")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # the reader (`| head`) has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, OSError) as error:
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
