"""Writes a model as a SavedModel that takes raw strings and needs TensorFlow alone.

    tfreps export runs/elmo --to exports/elmo
    tfreps export runs/ner --to exports/ner --explain --check
    tfreps export --options options.json --weights weights.hdf5 --to exports/elmo
    tfreps export published/bert --to exports/bert

The folder gets the next version, exports/elmo/1 or 2 or ..., with warm-up requests for TensorFlow
Serving (where the package tensorflow-serving-api is installed), and a README.md that tells every
input and output. Signatures of a biLM: `default` (sentences), `tokens`, `character_ids`, and for a
run folder `score`, the language model itself (see `tfreps.export.BiLMSignatures`). Published
weights that read words need --vocabulary FILE. Signatures of a BERT, of taggers and of
classifiers: `default` (raw text) and `tokens` (see `tfreps.export.bert_signatures`,
`tfreps.export`). --explain adds `explain`: k best paths, marginals, attention, surprise.
--wordpiece has TensorFlow Text, which TensorFlow Serving has too, cut a BERT's texts.
"""

import argparse
import functools
import sys
import tempfile

import tensorflow as tf

from tfreps.cli.options import parse_options
from tfreps.convert.bert_files import is_checkpoint
from tfreps.export import SENTENCES, check_export, text_ops, weight_changes, write_export
from tfreps.export.bert_signatures import BertSignatures
from tfreps.export.bilm_signatures import BiLMSignatures
from tfreps.export.labelling_signatures import TextSignatures
from tfreps.export.notes import check_notes
from tfreps.export.stored_weights import KINDS
from tfreps.inference import text_model
from tfreps.runs.bert_loading import load_encoder
from tfreps.runs.bert_publishing import check_headless
from tfreps.runs.bilm_runs import load_bilm
from tfreps.runs.run_folder import RunFolder


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check_notes(options.to, options.overwrite)
    if options.check_python is not None and not options.check:
        raise ValueError("--check-python goes unseen: give --check too.")
    with tempfile.TemporaryDirectory() as assets:
        signatures = open_model(options)(assets=assets, explain=options.explain)
        changes = weight_changes(signatures, options.weights_as)
        checked = functools.partial(check, options, signatures) if options.check else None
        say(options, write_export(signatures, options.to, checked, options.overwrite), changes)
    return 0


def open_model(options):
    """A function from `assets` and `explain` to the signatures of the model that is meant."""
    core_ops = not options.wordpiece
    if options.model and is_checkpoint(options.model):
        program = "pretrain-bert"
        check_headless(options.model)
    else:
        program = RunFolder.open(options.model).program if options.model else None
    if program in (*text_model.PROGRAMS, "pretrain-bert"):
        check_flags(options)
    if program in text_model.PROGRAMS:
        trained = text_model.TextModel.open(options.model)
        return lambda **rest: TextSignatures(trained, core_ops=core_ops, **rest)
    if program == "pretrain-bert":
        bert = load_encoder(options.model)
        return lambda **rest: BertSignatures(*bert, core_ops=core_ops, **rest)
    if options.wordpiece:
        raise ValueError("--wordpiece is for models on a BERT; a biLM reads whole tokens.")
    state = options.state or "zero"
    found = load_bilm(options.model, options.options, options.weights, state, options.vocabulary)
    if hasattr(found.model, "softmax") and found.vocabulary is None:
        raise ValueError(
            f"{options.model} holds a language model but no vocabulary.txt, without which it "
            "cannot score: put the vocabulary back that it was trained with."
        )
    return lambda **rest: BiLMSignatures(found.model, found.vocabulary, state, **rest)


def check_flags(options):
    """Refuses, for a model that is no biLM, what is about one."""
    for name in ("options", "weights", "vocabulary", "state"):
        if getattr(options, name) is not None:
            raise ValueError(f"--{name} is about a biLM, and {options.model} holds none.")


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


def check(options, signatures, folder, functions):
    """Asks the export as others do, before it appears; what fails keeps it from that."""
    if "default" not in functions:
        raise ValueError("--check asks with text, and this export reads token ids alone.")
    print(f"Asked {len(SENTENCES)} sentences, as the model itself answers them:", flush=True)
    expected = {"default": signatures.expected(SENTENCES)}
    if "explain" in functions:
        expected["explain"] = functions["explain"](text=tf.constant(SENTENCES))
    python, failed = options.check_python or sys.executable, 0
    precision, needs_text = signatures.weights.precision, bool(text_ops(functions))
    for way in check_export(folder, expected, python, precision, needs_text):
        print(way.line(), flush=True)
        failed += way.error is not None
    if failed:
        raise ValueError(f"{failed} of the checks failed: {options.to} got no new version.")


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
    parser.add_argument("--options", metavar="FILE.json", help="published model instead of MODEL")
    parser.add_argument("--weights", metavar="FILE.hdf5", help="its weights")
    parser.add_argument(
        "--vocabulary",
        metavar="FILE",
        help="its vocabulary, if it reads words, not characters",
    )
    parser.add_argument(
        "--state",
        choices=["zero", "warm"],
        help="what every sentence starts from: zeros, or the state after one fixed sentence (zero)",
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
