"""Runs the steps that train-tagger and train-classifier share."""

from tfreps import plots
from tfreps.cli import fit_options, input_options
from tfreps.cli.encoder_kinds import ENCODERS, EncoderInputs
from tfreps.cli.encoder_options import encoder_table, with_readers
from tfreps.cli.messages import say_notes, say_results, say_written

PARTS = "train", "dev", "test"
MAY_CHANGE = "test", "test_vectors"  # options that may differ when a run is resumed
GROUPS = {
    "data": "Training and evaluation files, and their format.",
    "words": "Vocabulary, word vectors and vectors of a biLM.",
    "encoder": "Encoder between the token vectors and the output layer.",
    "tags": "Output layer that scores tags.",
    "labels": "Output layer that scores labels.",
    "training": "Length of training, batches and optimizer.",
}


def option_tables(head, data, rest):
    """Returns the tables of options of a program.

    Args:
        head: str. One of `tfreps.cli.encoder_kinds.HEADS`.
        data: dict of name -> `Option`. Options of the data.
        rest: dict of the title of a group -> table. Options of the head.

    Returns:
        dict of the title of a group -> table, in the order in which `--help` shows them.
    """
    words, training = input_options.OPTIONS, fit_options.OPTIONS
    tables = {
        "data": data,
        "words": words,
        "encoder": encoder_table(head, elsewhere={*words, *training}),
        **rest,
        "training": training,
    }
    return {title: with_readers(table, head) for title, table in tables.items()}


def prepare(options, earlier):
    """Sets the precision for the encoder, the seed and determinism, before weights are created.

    Args:
        options: namespace with the options of the program.
        earlier: `tfreps.runs.run_folder.RunFolder` to resume. If `None`, the run is new.
    """
    name = ENCODERS[options.encoder].width
    width = getattr(options, name) if name else None
    fit_options.prepare(options, earlier, options.encoder, options.batch_rows, width)


def read_inputs(options, sentences, num_classes, bert=None, words=True):
    """Reads the inputs of an encoder: vocabulary, word vectors and ELMo.

    Args:
        options: namespace of the options of the program.
        sentences: list of list of str. Tokens of the training data.
        num_classes: int. Number of tags or labels.
        bert: `EncoderAndTokenizer` that `tfreps.cli.input_options.read_bert` returned, or `None`.
        words: bool. Whether the tokens are words instead of pieces of the BERT model. Defaults to
            `True`.

    Returns:
        `EncoderInputs`, without the size of stored vectors.

    Raises:
        ValueError: If `read_elmo`, `make_indexer` or `read_vectors` of `tfreps.cli.input_options`
            raises an error.
    """
    elmo = input_options.read_elmo(options)
    indexer = input_options.make_indexer(options, sentences, elmo, bert, words)
    vectors = input_options.read_vectors(options, indexer)
    return EncoderInputs(indexer, num_classes, vectors, elmo, bert)


def finish(run, model, best, measured, asking):
    """Writes the results and the pictures of a run, and prints a summary.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        model: `Tagger` or `Classifier` with the best weights.
        best: dict that `tfreps.cli.fit_options.fit` returned.
        measured: dict that maps each part of the data, such as `"test"`, to its metrics.
        asking: str. Program that applies the model, `"tag"` or `"classify"`.
    """
    run.write_results({**run.results(), "best": best, **measured})
    last = measured.get("test") or measured.get("dev") or {}
    say_notes(plots.draw_run(run, model, last.get("confusion")))
    say_results(measured)
    say_written(run, asking)
