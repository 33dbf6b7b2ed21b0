"""Writes a SavedModel that takes raw strings and needs TensorFlow alone.

    tfreps export runs/elmo --to exports/elmo
    tfreps export --options options.json --weights weights.hdf5 --to exports/elmo
    tfreps export runs/ner --to exports/ner

Signatures of a biLM: `default` (sentences), `tokens`, `character_ids`, and for a run folder
`score`, the language model itself (see `tfreps.signatures.BiLMSignatures`). Published weights that
read words need --vocabulary FILE. Signatures of taggers and classifiers: `default` (raw text) and
`tokens` (see `tfreps.text_signatures`).
"""

import argparse
import pathlib

from tfreps import text_model
from tfreps.pretrained import load_bilm
from tfreps.run_folder import RunFolder, parse_options
from tfreps.signatures import export_bilm
from tfreps.text_signatures import export_text_model
from tfreps.versions import next_version


def main(argv=None):
    options = parse_options(make_parser(), argv)
    if pathlib.Path(options.to).is_file():
        raise ValueError(f"Expected a folder to write to, but {options.to} is a file.")
    options.output = pathlib.Path(options.to) / str(next_version(options.to))
    if options.model and RunFolder.open(options.model).program in text_model.PROGRAMS:
        names = export_text_model(text_model.TextModel.open(options.model), options.output)
    else:
        names = export_language_model(options)
    say(options, names)
    return 0


def export_language_model(options):
    found = load_bilm(
        options.model, options.options, options.weights, options.state, options.vocabulary
    )
    if hasattr(found.model, "softmax") and found.vocabulary is None:
        raise ValueError(
            f"{options.model} holds a language model but no vocabulary.txt, without which it "
            "cannot score: put the vocabulary back that it was trained with."
        )
    return export_bilm(found.model, options.output, found.vocabulary, options.state)


def say(options, names):
    size = sum(path.stat().st_size for path in pathlib.Path(options.output).rglob("*"))
    print(f"Wrote {options.output} ({size / 1e6:.1f} MB) with the signatures {', '.join(names)}.")
    if "default" in names:
        print("Next, an answer from it, and what it takes and gives:")
        print(f'  tfreps predict {options.to} "The dog sat on the mat ."')
    else:
        print("It reads token ids alone: give --vocabulary FILE for one that reads text.")
        print("Next, what it takes and gives:")
    print(f"  saved_model_cli show --dir {options.output} --tag_set serve --all")


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps export", description="A SavedModel that takes raw strings."
    )
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="run folder of a biLM, tagger or classifier"
    )
    parser.add_argument(
        "--to",
        metavar="DIR",
        required=True,
        help="the model's folder: the export becomes its next version, DIR/1, DIR/2 ...",
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
        default="zero",
        help="what every sentence starts from: zeros, or the state after one fixed sentence (zero)",
    )
    return parser
