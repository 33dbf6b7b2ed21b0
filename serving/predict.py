"""Prints the outputs of an exported SavedModel for raw sentences.

DIR is a version, such as exports/elmo/1, or a folder of versions, such as exports/elmo,
of which the newest is used.

The command prints one JSON object per sentence, which contains the sentence as `text`. For a biLM,
BERT model or text embedder, the object also contains the number of tokens (for BERT, the pieces and
their number), the shapes of all outputs and the first numbers of `default` or, for a text embedder,
`vectors` (with --full, all numbers of all outputs). For a tagger, it contains the tokens, tags,
confidences and, with a tag scheme, spans. For a classifier, it contains the number of tokens, the
label and its probability (with --full, the probabilities of all labels). Sentences are read from
the command line, from --file, or from standard input, one per line (UTF-8).

Load only exports that you trust: a SavedModel is a program, and this command does not check it (see
SECURITY.md).
"""

import json
import logging
import pathlib

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.text_streams import FILE, SENTENCES, read_sentences
from tfreps._src.files.version_folders import version_folder, versions_of

BATCH = 32
FIRST = 5  # maximum number of values of an output that are printed without --full
COMMAND = Command(
    "predict",
    "Prints the outputs of an exported SavedModel as JSON lines. Load only exports that you trust: "
    "a SavedModel is a program (see SECURITY.md).",
    {
        "folder": Option(
            str, None, "Folder written by 'tfreps export'.", required=True, metavar="DIR"
        ),
        "sentences": SENTENCES,
    },
    [
        Group("input", "Sentences to read.", {
            "file": FILE,
        }),
        Group("output", "Outputs to print.", {
            "signature": Option(
                str, "default", "Signature to call: default, which reads raw text, or tokens, "
                "which reads tokens that are split at white space.", metavar="NAME",
            ),
            "full": Option(
                bool, False, "Print all numbers in the outputs of a biLM, a BERT model or a text "
                "embedder, and the probabilities of all labels of a classifier. By default, these "
                "outputs are abbreviated.",
            ),
        }),
    ],
    (
        'tfreps predict exports/ner "Ada lived in London ." "Another sentence"',
        "tfreps predict exports/elmo/1 --file sentences.txt --full",
        "tfreps predict exports/reviews --file reviews.txt --signature tokens",
    ),
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(predict, argv)


def predict(options):
    batches = read_sentences(options, BATCH)
    signature = load_signature(saved_model_folder(options.folder), options.signature)
    for batch in batches:
        for output in described(signature, batch, options.full):
            print(json.dumps(output, ensure_ascii=False), flush=True)


def saved_model_folder(folder):
    """Returns the path of `folder` if it is a SavedModel, otherwise of the newest version in it.

    Raises a ValueError if neither exists.
    """
    versions = [version_folder(folder, number) for number in reversed(versions_of(folder))]
    for found in (pathlib.Path(folder), *versions):
        if (found / "saved_model.pb").is_file():
            return found
    raise ValueError(
        f"{folder} is not a SavedModel: it contains neither a saved_model.pb nor a numbered "
        "version with one. Expected a folder written by `tfreps export`."
    )


def load_signature(folder, name):
    # Imported here, because it imports TensorFlow.
    from tfreps._src.files.saved_models import load_saved_model

    # Hides warnings about gradients that the export lacks.
    logging.getLogger("absl").setLevel(logging.ERROR)
    try:
        signatures = load_saved_model(str(folder)).signatures
    except Exception as error:  # damaged protobufs and missing files raise errors of many types
        raise ValueError(
            f"{folder} cannot be loaded as a SavedModel; expected a folder written by `tfreps "
            f"export`. The error of TensorFlow is: {error}"
        ) from error
    if name not in signatures:
        known = ", ".join(signatures) or "none"
        raise ValueError(
            f"--signature must name a signature of {folder}, which has {known}; got {name!r}."
        )
    signature = signatures[name]
    takes = set(signature.structured_input_signature[1])
    if takes not in ({"text"}, {"tokens", "sequence_len"}):
        raise ValueError(
            f"--signature must name a signature that takes sentences; {name!r} takes the "
            f"inputs {', '.join(sorted(takes))}. Use default or tokens."
        )
    names = set(signature.structured_outputs)
    if "sequence_len" not in names or not names & set(DESCRIBED_BY):
        raise ValueError(
            f"{folder} is not an export written by tfreps: the signature {name!r} must have "
            f"the output sequence_len and one of the outputs {', '.join(DESCRIBED_BY)}; got "
            f"{', '.join(sorted(names))}. Export the model again with `tfreps export`."
        )
    return signature


def described(signature, sentences, full):
    """Yields a dict for each sentence, with its text and its outputs, without padding.

    If `full` is `True`, the dicts also contain the outputs that are left out by default.
    """
    from tfreps._src.inference.export_outputs import call_signature, output_names, signature_rows

    reads_text = "text" in signature.structured_input_signature[1]
    texts = sentences if reads_text else [sentence.split() for sentence in sentences]
    outputs = call_signature(signature, texts)
    shapes = {name: spec.shape for name, spec in sorted(signature.structured_outputs.items())}
    rows = signature_rows(outputs, output_names(shapes), sentences)
    lengths = outputs["sequence_len"].tolist()
    describe = next(DESCRIBED_BY[name] for name in DESCRIBED_BY if name in outputs)
    for sentence, length, row in zip(sentences, lengths, rows, strict=True):
        yield {"text": sentence, **describe(row, length, full)}


def of_vectors(row, length, full):
    """Returns a dict with the number of tokens, the shapes of all outputs, and their values.

    `row` is a dict of the outputs for one sentence. If `full` is `False`, only the first values of
    `default` or `vectors` are included. For a BERT model, the dict also contains the pieces.
    """
    output = {"tokens": length}
    if "tokens" in row:  # only BERT models have this output, because they split words into pieces
        output["pieces"] = row.pop("tokens")
    output["shapes"] = {name: list(value.shape) for name, value in row.items()}
    if full:
        return {**output, **{name: numbers(value) for name, value in row.items()}}
    name = "default" if "default" in row else "vectors"
    return {**output, name: numbers(row[name][:FIRST])}


def of_tags(row, length, full):
    """Returns a dict with the tokens, tags, confidences and, with a tag scheme, spans.

    `length` and `full` are ignored.
    """
    output = {"tokens": row["tokens"], "tags": row["tags"]}
    output["confidences"] = [round(float(share), 4) for share in row["confidences"]]
    if "spans" in row:
        names = "type", "start", "end", "start_char", "end_char", "text"
        output["spans"] = [
            {**{name: span[name] for name in names}, "confidence": round(span["confidence"], 4)}
            for span in row["spans"]
        ]
    return output


def of_label(row, length, full):
    """Returns a dict with the number of tokens, the label and its probability.

    If `full` is `True`, the dict also has the probabilities of all labels.
    """
    output = {"tokens": length, "label": row["label"]}
    output["probability"] = round(row["probability"], 4)
    if full:
        shares = numbers(row["probabilities"])
        output["probabilities"] = dict(zip(row["labels"], shares, strict=True))
    return output


# Output that identifies the kind of model -> function that describes its outputs.
DESCRIBED_BY = {"default": of_vectors, "tags": of_tags, "label": of_label, "vectors": of_vectors}


def numbers(array):
    """Returns an array as nested lists of numbers, with the precision of float32."""
    if array.ndim:
        return [numbers(part) for part in array]
    return float(f"{array:.9g}")
