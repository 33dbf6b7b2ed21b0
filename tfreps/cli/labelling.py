"""Runs the steps that train-tagger and train-classifier share."""

from tfreps import plots
from tfreps.cli import fit_options, input_options
from tfreps.cli.encoder_options import ENCODERS
from tfreps.cli.encoders import EncoderInputs
from tfreps.reports import format_report


def prepare(options, earlier):
    """Sets the precision for the encoder, the seed and determinism, before weights are created."""
    name = ENCODERS[options.encoder].width
    width = getattr(options, name) if name else None
    fit_options.prepare(options, earlier, options.encoder, options.batch_rows, width)


def read_inputs(options, sentences, num_classes, bert=None, words=True):
    """Reads the inputs of an encoder: vocabulary, word vectors and ELMo.

    `sentences` are the tokens of the training data: words, or pieces of the BERT model.
    """
    elmo = input_options.read_elmo(options)
    indexer = input_options.make_indexer(options, sentences, elmo, bert, words)
    vectors = input_options.read_vectors(options, indexer)
    return EncoderInputs(indexer, num_classes, vectors, elmo, bert)


def finish(run, model, best, measured, program):
    """Writes the results and the pictures of a run, and prints a summary.

    `measured` maps each part of the data, such as `"test"`, to its metrics. `program` applies the
    model.
    """
    run.write_results({**run.results(), "best": best, **measured})
    last = measured.get("test") or measured.get("dev") or {}
    for note in plots.draw_run(run, model, last.get("confusion")):
        print(note)
    for part, results in measured.items():
        auc = f", AUC {results['auc']:.4f}" if "auc" in results else ""
        print(f"\n{part}: accuracy {results['accuracy']:.4f}{auc}")
        report = results.get("spans") if "sentences" in results else results
        if report:
            print(format_report(report))
    print(
        f"\nWrote {run.model_path}, {run.results_path} and {run.pictures_path}.\n"
        f"Next: tfreps {program} {run.path} FILE, tfreps evaluate {run.path} --data FILES, or "
        f"tfreps export {run.path} --to DIR."
    )
