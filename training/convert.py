"""Converts between published ELMo weights and run folders.

    tfreps convert --options options.json --weights weights.hdf5 --to-run runs/elmo
    tfreps convert --checkpoint bilm_tf_run --vocabulary vocabulary.txt --to-run runs/elmo
    tfreps convert runs/elmo --to-bilm-tf published

The first two make a run folder: of `options.json` and HDF5 weights as bilm-tf and AllenNLP have
them, which hold no softmax, or of a training folder of bilm-tf (TF 1), softmax included. The last
writes what bilm-tf and AllenNLP read: `options.json`, `weights.hdf5`, `vocabulary.txt`.
"""

import argparse
import os
import pathlib
import shutil

from tfreps.continuation import boundary_options, continue_checkpoint
from tfreps.models import BiLM
from tfreps.pretrained import load_bilm
from tfreps.run_folder import RunFolder, parse_options
from tfreps.text import Vocabulary

PROGRAM = "convert"
# What may be given together; a vocabulary is needed for a checkpoint and for token ids.
WAYS = (
    {"model", "to_bilm_tf"},
    {"options", "weights", "to_run"},
    {"options", "weights", "to_run", "vocabulary"},
    {"checkpoint", "to_run", "vocabulary"},
)


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check(options)
    if options.to_bilm_tf:
        published(options)
    elif options.checkpoint:
        run_from_checkpoint(options)
    else:
        run_from_weights(options)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=__doc__.split("\n")[0])
    add = parser.add_argument_group("from").add_argument
    add("model", metavar="RUN", nargs="?", help="run folder of a biLM")
    add("--options", metavar="FILE.json", help="of bilm-tf or AllenNLP, with")
    add("--weights", metavar="FILE.hdf5", help="their weights")
    add("--checkpoint", metavar="FOLDER", help="training folder of bilm-tf")
    add("--vocabulary", metavar="FILE", help="the one of --checkpoint or of --weights")
    add = parser.add_argument_group("to").add_argument
    add("--to-run", metavar="RUN", help="new run folder")
    add("--to-bilm-tf", metavar="FOLDER", help="new folder of files for bilm-tf and AllenNLP")
    return parser


def check(options):
    given = {name for name, value in vars(options).items() if value}
    if given not in WAYS:
        raise ValueError(
            "Expected RUN --to-bilm-tf FOLDER, or --options FILE.json --weights FILE.hdf5 --to-run "
            "RUN, or --checkpoint FOLDER --vocabulary FILE --to-run RUN; got "
            + (", ".join(sorted(name.replace("_", "-") for name in given)) or "nothing")
            + "."
        )
    target = pathlib.Path(options.to_run or options.to_bilm_tf)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ValueError(f"{target} exists already and is not an empty folder: choose another.")


def published(options):
    """A run folder's biLM as the files that bilm-tf and AllenNLP read."""
    found, target = load_bilm(options.model), options.to_bilm_tf

    def write(folder):
        folder.mkdir()
        found.bilm.to_bilm_tf(folder / "options.json", folder / "weights.hdf5")
        if found.vocabulary is not None:
            found.vocabulary.write(folder / "vocabulary.txt")

    write_whole(target, write)
    files = ", ".join(sorted(path.name for path in pathlib.Path(target).iterdir()))
    print(
        f"Wrote {target}: {files}. The format has no place for a softmax.\n"
        f'Next, in AllenNLP: Elmo("{target}/options.json", "{target}/weights.hdf5", 1)'
    )


def run_from_weights(options):
    """A run folder of a `BiLM`, from HDF5 weights."""
    vocabulary = Vocabulary.read(options.vocabulary) if options.vocabulary else None
    boundaries = boundary_options(vocabulary) if vocabulary else {}
    bilm = BiLM.from_bilm_tf(options.options, options.weights, **boundaries)
    if bilm.vocabulary_size not in (None, len(vocabulary or ())):
        raise ValueError(
            f"{options.weights} reads {bilm.vocabulary_size} token ids: give the file of these "
            f"tokens as --vocabulary; got {vocabulary and f'one of {len(vocabulary)}'}."
        )
    write_run(options, bilm, vocabulary)
    run = options.to_run
    print(
        f"Wrote {run}: {bilm.count_params():,} parameters, without softmax.\n"
        f"Next: tfreps embed {run}, tfreps export {run}, or tfreps pretrain-elmo --init {run}, "
        "which trains it on your own text."
    )


def run_from_checkpoint(options):
    """A run folder of a `BiLMPretrainer`, from a training folder of bilm-tf."""
    vocabulary = Vocabulary.read(options.vocabulary)
    model, _ = continue_checkpoint(options.checkpoint, vocabulary)
    write_run(options, model, vocabulary)
    run = options.to_run
    print(
        f"Wrote {run}: {model.count_params():,} parameters, softmax over {len(vocabulary):,} "
        f"tokens included.\nNext: tfreps evaluate-lm {run} --text FILES, tfreps embed {run}, "
        f"tfreps export {run}. To go on training with\nAdagrad's accumulators too, which stay "
        f"there: tfreps pretrain-elmo --init {options.checkpoint}."
    )


def write_run(options, model, vocabulary):
    def write(folder):
        run = RunFolder.create(folder, PROGRAM, vars(options))
        if vocabulary is not None:
            vocabulary.write(run.vocabulary_path)
        run.save_model(model)

    write_whole(options.to_run, write)


def write_whole(folder, write):
    """Lets `write` fill a folder, which gets its name once it is complete."""
    folder = pathlib.Path(folder).absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    try:
        write(temporary)
        if folder.exists():
            folder.rmdir()
        os.replace(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(main())
