"""Prints the messages of the training programs."""

import sys

from tfreps.reports import format_report


def say_progress(text, final=False, progress=False):
    """Prints a line to standard error; on a terminal, replaces the last line if it was not final.

    Args:
        text: str. The line.
        final: bool. Whether the line stays when the next one is printed. Defaults to `False`.
        progress: bool. Whether the line is printed only on a terminal. Defaults to `False`.
    """
    if sys.stderr.isatty():
        end = "\n" if final else ""
        print(f"\r\033[K{text}", end=end, file=sys.stderr, flush=True)
    elif not progress:
        print(text, file=sys.stderr, flush=True)


def say_bert(source, bert):
    """Prints the size of a BERT model, and how many rows of its embedding table have no token."""
    encoder, size = bert.encoder, len(bert.tokenizer.vocabulary)
    spare = encoder.vocabulary_size - size
    rows = f" ({spare:,} rows of its embedding table belong to no token)" if spare else ""
    print(
        f"BERT: {encoder.num_layers} layers of {encoder.hidden_dim} dimensions from {source}, "
        f"{size:,} tokens{rows}."
    )


def say_vectors(source, vectors):
    """Prints how many words of the vocabulary have a vector in a file."""
    print(
        f"Word vectors: {vectors.num_found:,} of {len(vectors.matrix):,} words have a vector in "
        f"{source}."
    )


def say_precision(choice):
    """Prints the precision that was chosen, and the reason.

    Args:
        choice: `tfreps.models.precision.Precision`.
    """
    print(f"Precision: {choice.name} ({choice.reason}).")


def say_slow_bfloat16():
    """Prints that training in bfloat16 is slow on this CPU."""
    print(
        "Warning: this CPU has no bfloat16 products. On a CPU with AVX2 only, --precision bfloat16 "
        "made training 1.45 times and encoding 1.75 times slower than float32."
    )


def say_nothing_held_out():
    """Prints which options have no effect without held-out data."""
    print(
        "No text is held out: the last weights are saved instead of the best ones. --patience and "
        "--plateau-decay have no effect."
    )


def say_start(run, model, what):
    """Prints the number of parameters, the run folder, and the command to watch the run.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        model: Keras model that is trained.
        what: str. End of the first line: the data and the number of steps.
    """
    print(
        f"Training {model.count_params():,} parameters in {run.path}{what}.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )


def say_notes(notes):
    """Prints each note on its own line."""
    for note in notes:
        print(note)


def say_results(measured):
    """Prints the metrics of each part of the data.

    Args:
        measured: dict that maps each part, such as `"test"`, to the result of `evaluate_tagger` or
            `evaluate_classifier`.
    """
    for part, results in measured.items():
        auc = f", AUC {results['auc']:.4f}" if "auc" in results else ""
        print(f"\n{part}: accuracy {results['accuracy']:.4f}{auc}")
        report = results.get("spans") if "sentences" in results else results
        if report:
            print(format_report(report))


def say_written(run, asking):
    """Prints the files of a tagger or classifier run, and the next commands.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        asking: str. Program that applies the model, `"tag"` or `"classify"`.
    """
    print(
        f"\nWrote {run.model_path}, {run.results_path} and {run.pictures_path}.\n"
        f"Next: tfreps {asking} {run.path} FILE, tfreps evaluate {run.path} --data FILES, or "
        f"tfreps export {run.path} --to DIR."
    )
