"""Writes a model as a SavedModel that takes raw strings and needs TensorFlow alone.

    tfreps export runs/elmo --to exports/elmo
    tfreps export runs/ner --to exports/ner --explain --check
    tfreps export --options options.json --weights weights.hdf5 --to exports/elmo
    tfreps export published/bert --to exports/bert
    tfreps export published/bert-ner --scheme bio --to exports/bert-ner

The folder gets the next version, exports/elmo/1 or 2 or ..., with warm-up requests for TensorFlow
Serving (where the package tensorflow-serving-api is installed), and a README.md that tells every
input and output. Signatures of a biLM: `default` (sentences), `tokens`, `character_ids`, and for a
run folder `score`, the language model itself (see `tfreps.export.bilm_signatures`). Published
weights that read words need --vocabulary FILE. Signatures of a BERT, of taggers and of
classifiers: `default` (raw text) and `tokens` (see `tfreps.export.bert_signatures` and
`labelling_signatures`). --explain adds `explain`: k best paths, marginals, attention, surprise.
--wordpiece has TensorFlow Text, which TensorFlow Serving has too, cut a BERT's texts.
"""

import argparse

from tfreps.cli.bilm_options import add_bilm_flags, chosen_model, naming_flags
from tfreps.cli.options import parse_options
from tfreps.export import SENTENCES, open_for_export, weight_changes, write_export
from tfreps.export.notes import check_notes
from tfreps.export.stored_weights import KINDS
from tfreps.text.tags import SCHEMES


def main(argv=None):
    options = parse_options(make_parser(), argv)
    if options.check_python is not None and not options.check:
        raise ValueError("--check-python goes unseen: give --check too.")
    path, how = chosen_model(options)
    if options.scheme is not None:
        how["scheme"] = options.scheme
    check_notes(options.to, options.overwrite)
    with naming_flags():
        signatures = open_for_export(path, options.explain, not options.wordpiece, **how)
    changes = weight_changes(signatures, options.weights_as)
    if options.check:
        print(f"Asking {len(SENTENCES)} sentences, as the model itself answers them:", flush=True)
    check = options.check_python or options.check
    written = write_export(signatures, options.to, check, options.overwrite, say_checked)
    say(options, written, changes)
    return 0


def say_checked(way):
    print(way.line(), flush=True)


def say(options, written, changes):
    size = sum(path.stat().st_size for path in written.folder.rglob("*"))
    names = ", ".join(written.functions)
    print(f"Wrote {written.folder} ({size / 1e6:.1f} MB) with the signatures {names}.")
    if changes:
        print(changes)
    if written.num_warm_up is None:
        print("Without warm-up requests: they need `pip install 'tfreps[serving]'`.")
    if "default" in written.functions:
        print(f"Next, an answer from it; what it takes and gives: {options.to}/README.md")
        print(f'  tfreps predict {options.to} "The dog sat on the mat ."')
    else:
        print("It reads token ids alone: give --vocabulary FILE for one that reads text.")
        print(f"Next, what it takes and gives: {options.to}/README.md")


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps export", description="A SavedModel that takes raw strings."
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?",
        help="run folder of a biLM, BERT, tagger or classifier; or a published BERT",
    )
    parser.add_argument(
        "--to",
        metavar="DIR",
        required=True,
        help="the model's folder: the export becomes its next version, DIR/1, DIR/2 ...",
    )
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="replace a README.md, models.config or batching.config in DIR that tfreps did not "
        "write",
    )
    add_bilm_flags(parser)
    parser.add_argument(
        "--scheme",
        choices=[*SCHEMES[:-1], "none"],
        help="how the tags of a published tagger write spans (no spans)",
    )
    parser.add_argument(
        "--explain", action="store_true", help="a signature more, with what is behind the answers"
    )
    parser.add_argument(
        "--wordpiece",
        action="store_true",
        help="a BERT's pieces by an operation of TensorFlow Text: quicker, but no longer "
        "TensorFlow alone; the README beside the export names it",
    )
    parser.add_argument(
        "--weights-as",
        choices=KINDS,
        default="float32",
        help="how weights are stored: smaller files, slower calls; tells what changes (float32)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="asks it without tfreps, in three ways, and compares with the model",
    )
    parser.add_argument(
        "--check-python", metavar="FILE", help="interpreter that does so (this one)"
    )
    return parser
