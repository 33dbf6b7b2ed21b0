"""What training programs say on standard output and on standard error: printing is all it does."""

import sys

from tfreps.reports import format_report


def say_progress(text, final=False, progress=False):
    """A line on standard error, over the one before where that was not final.

    Args:
        text: str.
        final: bool. Whether the line stays.
        progress: bool. Whether the line is for people only who look on.
    """
    if sys.stderr.isatty():
        end = "\n" if final else ""
        print(f"\r\033[K{text}", end=end, file=sys.stderr, flush=True)
    elif not progress:
        print(text, file=sys.stderr, flush=True)


def say_bert(source, bert):
    """What BERT was read, and rows of its table that no token has, as where it is rounded up."""
    encoder, size = bert.encoder, len(bert.tokenizer.vocabulary)
    spare = encoder.vocabulary_size - size
    rows = f" (its table has {spare:,} rows that no token of the vocabulary reads)" if spare else ""
    print(
        f"BERT: {encoder.num_layers} blocks of {encoder.hidden_dim} dimensions from {source}, "
        f"{size:,} tokens{rows}."
    )


def say_vectors(source, vectors):
    """How many words of the vocabulary have a vector in a file."""
    print(
        f"Word vectors: {vectors.num_found:,} of {len(vectors.matrix):,} words have one in "
        f"{source}."
    )


def say_nothing_held_out():
    """What does not happen without held-out data."""
    print(
        "No text is held out: the newest weights are kept. Nothing is measured that would end "
        "training (--patience), cut its rate (--plateau-decay) or choose the best weights."
    )


def say_start(run, model, what):
    """What is trained where, and how to watch it.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        model: the Keras model.
        what: str. The rest of the sentence: on what, in how many steps.
    """
    print(
        f"Training {model.count_params():,} parameters in {run.path}{what}.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )


def say_notes(notes):
    """What else there is to say, a line each."""
    for note in notes:
        print(note)


def say_results(measured):
    """The metrics of each part of the data that was measured.

    Args:
        measured: dict from a part to what `evaluate_tagger` or `evaluate_classifier` returned.
    """
    for part, results in measured.items():
        auc = f", AUC {results['auc']:.4f}" if "auc" in results else ""
        print(f"\n{part}: accuracy {results['accuracy']:.4f}{auc}")
        report = results.get("spans") if "sentences" in results else results
        if report:
            print(format_report(report))


def say_written(run, asking):
    """The files of a run of a tagger or classifier, and what can be done with them.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        asking: str. The program that asks the model: "tag" or "classify".
    """
    print(
        f"\nWrote {run.model_path}, {run.results_path} and {run.pictures_path}.\n"
        f"Next: tfreps {asking} {run.path} FILE, tfreps evaluate {run.path} --data FILES, "
        f"tfreps export {run.path} --to DIR."
    )
