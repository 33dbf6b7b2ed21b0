"""Builds an encoder from the options of a program, using the entries of `ENCODERS`."""

from tfreps.cli.encoder_kinds import CLASSIFIER, ENCODERS
from tfreps.cli.options import Option
from tfreps.models import LinearEncoder

DEFAULT = "bilstm"

# Options that apply to all encoders. N-grams describe a whole text, so taggers cannot use them.
BESIDE = {
    "dropout": Option(
        float, 0.5, "Dropout rate of the token vectors, of the inputs of bilstm layers after the "
        "first, and of the encoder's output.", at_least=0, below=1,
    ),
    "linear_features": Option(
        bool, False, "Add the scores of a linear model of tokens and token pairs, as in --encoder "
        "linear.", excludes=("encoder=linear", "ngrams"),
    ),
    "ngrams": Option(
        int, None, "Add the scores of a linear model of n-grams of 1 to N tokens; N is at most 3.",
        at_least=1, below=4, excludes="encoder=linear",
    ),
    "linear_dropout": Option(
        float, 0.0, "Dropout rate of the features of the linear model.",
        at_least=0, below=1, needs="encoder=linear or linear_features or ngrams",
    ),
}  # fmt: skip


def kinds_for(head):
    """Returns a dict of the entries of `ENCODERS` that a head can use."""
    return {name: kind for name, kind in ENCODERS.items() if head in kind.heads}


def encoder_table(head, elsewhere=()):
    """Returns the table of the options of all encoders that a head can use.

    Args:
        head: str. One of `tfreps.cli.encoder_kinds.HEADS`.
        elsewhere: iterable of str. Names of options that are left out because they belong to other
            tables of the program. Defaults to `()`.

    Returns:
        dict of name -> `Option`, with `encoder` first.

    Example:
    >>> list(encoder_table("tagger"))[0], "widths" in encoder_table("tagger")
    ('encoder', False)
    """
    kinds = kinds_for(head)
    about = "; ".join(f"{name}: {kind.help}" for name, kind in kinds.items())
    encoder = Option(str, DEFAULT, f"Encoder of the text. {about}.", list(kinds))
    rows = {name: row for kind in kinds.values() for name, row in kind.options.items()}
    rows = {name: row for name, row in rows.items() if name not in elsewhere}
    beside = {n: row for n, row in BESIDE.items() if n != "ngrams" or head == CLASSIFIER}
    return {"encoder": encoder, **rows, **beside}


def with_readers(table, head):
    """Adds a rule to each option that only some encoders read; the rule names these encoders.

    Args:
        table: dict of name -> `Option`.
        head: str. One of `tfreps.cli.encoder_kinds.HEADS`.

    Returns:
        dict of name -> `Option`, with the same names.

    Example:
    >>> with_readers(encoder_table("tagger"), "tagger")["num_heads"].needs
    ('encoder=transformer',)
    """
    kinds, found = kinds_for(head), {}
    for name, row in table.items():
        readers = [kind.name for kind in kinds.values() if name in kind.options]
        if readers and len(readers) < len(kinds):
            needs = (row.needs,) if isinstance(row.needs, str) else row.needs
            row = row._replace(needs=(f"encoder={'|'.join(readers)}", *needs))
        found[name] = row
    return found


def make_encoder(options, inputs):
    """Builds the encoder that the options describe.

    Args:
        options: namespace with the options of `encoder_table`.
        inputs: `tfreps.cli.encoder_kinds.EncoderInputs`.

    Returns:
        Keras model that reads the dict that `inputs.indexer` returns.

    Raises:
        ValueError: If the encoder is unknown, or it does not support the value of an option.

    Example:
    >>> import argparse
    >>> from tfreps.cli.encoder_kinds import EncoderInputs
    >>> from tfreps.text import TokenIndexer
    >>> options = {name: option.default for name, option in encoder_table("tagger").items()}
    >>> options = argparse.Namespace(**{**options, "encoder": "slstm", "units": 8})
    >>> make_encoder(options, EncoderInputs(TokenIndexer.from_sentences([["a"]]))).output_dim
    8
    """
    if options.encoder not in ENCODERS:
        raise ValueError(
            f"`encoder` must be one of {', '.join(ENCODERS)}; got {options.encoder!r}."
        )
    return ENCODERS[options.encoder].build(options, inputs)


def make_linear(options, inputs):
    """Builds the linear model whose scores are added to those of an encoder.

    Args:
        options: namespace with the options of `encoder_table`.
        inputs: `tfreps.cli.encoder_kinds.EncoderInputs`.

    Returns:
        `LinearEncoder` for the argument `linear` of a `Tagger` or `Classifier`. `None` if neither
        `linear_features` nor `ngrams` is set.
    """
    ngrams = getattr(options, "ngrams", None)  # taggers do not have this option
    sizes = inputs.indexer.vocabulary_size, inputs.num_classes
    more = {"dropout": options.linear_dropout, "name": "linear"}
    if ngrams:
        names = "unigram_offsets", "bigram_offsets", "trigram_offsets"
        # The scores are summed over the text, so a second offset would count n-grams twice.
        offsets = {name: (0,) if n <= ngrams else () for n, name in enumerate(names, start=1)}
        return LinearEncoder(*sizes, **offsets, **more)
    if options.linear_features:
        return LinearEncoder(*sizes, **more)
    return None
