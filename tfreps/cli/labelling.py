"""What train-tagger and train-classifier share: tables, what encoders read, the end of runs."""

from tfreps import plots
from tfreps.cli import fit_options, input_options
from tfreps.cli.encoder_kinds import EncoderInputs
from tfreps.cli.encoder_options import encoder_table, with_readers
from tfreps.cli.messages import say_notes, say_results, say_written

PARTS = "train", "dev", "test"
MAY_CHANGE = "test", "test_vectors"  # when a run is resumed


def option_tables(head, data, rest):
    """The tables of a program's options.

    Args:
        head: str, of `tfreps.cli.encoder_kinds.HEADS`.
        data: name -> Option, of the data.
        rest: dict from a title to a table, of the head itself.

    Returns:
        dict from the title of a group to a table, in the order of the help.
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


def read_inputs(options, sentences, num_classes, bert=None, words=True):
    """Reads what the encoder stands on: vocabulary, word vectors, ELMo.

    Args:
        options: namespace of the program's options.
        sentences: lists of tokens, those of the training data alone.
        num_classes: int. The number of tags or labels.
        bert: what `tfreps.cli.input_options.read_bert` returned.
        words: bool. Whether sentences are of words; else of a BERT's pieces.

    Returns:
        `EncoderInputs`, without the size of stored vectors.
    """
    elmo = input_options.read_elmo(options)
    indexer = input_options.make_indexer(options, sentences, elmo, bert, words)
    vectors = input_options.read_vectors(options, indexer)
    return EncoderInputs(indexer, num_classes, vectors, elmo, bert)


def finish(run, model, best, measured, asking):
    """Writes the results and the pictures of a run, and says what there is.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        model: the best model, a `Tagger` or `Classifier`.
        best: what `tfreps.cli.fit_options.fit` returned.
        measured: dict from a part of the data to its metrics.
        asking: str. The program that asks such a model.
    """
    run.write_results({**run.results(), "best": best, **measured})
    last = measured.get("test") or measured.get("dev") or {}
    say_notes(plots.draw_run(run, model, last.get("confusion")))
    say_results(measured)
    say_written(run, asking)
