"""make_encoder: an encoder from a program's flat options, by the entries of `ENCODERS`."""

from tfreps.cli.encoder_kinds import CLASSIFIER, ENCODERS
from tfreps.cli.options import Option
from tfreps.models import LinearEncoder

DEFAULT = "bilstm"

# What all encoders may have, a linear model beside them among it. N-grams are those of a whole
# text: nothing to tag by.
BESIDE = {
    "dropout": Option(
        float, 0.5, "on token vectors and on the encoder's output (0.5)", at_least=0, below=1
    ),
    "linear_features": Option(
        bool, False, "a linear model of tokens and pairs beside the encoder, as --encoder linear "
        "is", excludes=("encoder=linear", "ngrams"),
    ),
    "ngrams": Option(
        int, None, "a linear model of the text's sequences of up to N tokens, 3 at most, beside "
        "the encoder (none)", at_least=1, below=4, excludes="encoder=linear",
    ),
    "linear_dropout": Option(
        float, 0.0, "share of a linear model's features that are left out in training (0)",
        at_least=0, below=1, needs="encoder=linear or linear_features or ngrams",
    ),
}  # fmt: skip


def kinds_for(head):
    """The entries of `ENCODERS` that a head may stand on, by name."""
    return {name: kind for name, kind in ENCODERS.items() if head in kind.heads}


def encoder_table(head, elsewhere=()):
    """The options of all encoders that a head may stand on.

    Args:
        head: str, of `tfreps.cli.encoder_kinds.HEADS`.
        elsewhere: names of options that other tables of the program show.

    Returns:
        dict of name -> Option, `--encoder` first.

    Example:
    >>> list(encoder_table("tagger"))[0], "widths" in encoder_table("tagger")
    ('encoder', False)
    """
    kinds = kinds_for(head)
    about = "; ".join(f"{name}: {kind.help}" for name, kind in kinds.items())
    encoder = Option(
        str, DEFAULT, f"what reads the token vectors ({DEFAULT}). {about}", list(kinds)
    )
    rows = {name: row for kind in kinds.values() for name, row in kind.options.items()}
    rows = {name: row for name, row in rows.items() if name not in elsewhere}
    beside = {n: row for n, row in BESIDE.items() if n != "ngrams" or head == CLASSIFIER}
    return {"encoder": encoder, **rows, **beside}


def with_readers(table, head):
    """A table whose rows say which encoders read them, where that is not all.

    Args:
        table: name -> Option.
        head: str, of `tfreps.cli.encoder_kinds.HEADS`.

    Returns:
        dict, of the same names.

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
    """Assembles the encoder that the options ask for.

    Args:
        options: namespace with what `encoder_table` names.
        inputs: `tfreps.cli.encoder_kinds.EncoderInputs`.

    Returns:
        An encoder: a Keras model that reads the dict of `inputs.indexer`.

    Raises:
        ValueError: for parts that cannot be put together.

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
    """The linear model beside an encoder, None unless `linear_features` or `ngrams` ask for it.

    Args:
        options, inputs: as of `make_encoder`.

    Returns:
        `LinearEncoder`, the `linear` of a `Tagger` or `Classifier`; or None.
    """
    ngrams = getattr(options, "ngrams", None)  # which taggers have not
    sizes = inputs.indexer.vocabulary_size, inputs.num_classes
    more = {"dropout": options.linear_dropout, "name": "linear"}
    if ngrams:
        names = "unigram_offsets", "bigram_offsets", "trigram_offsets"
        # In a sum over the text a second offset would be the same n-grams again.
        offsets = {name: (0,) if n <= ngrams else () for n, name in enumerate(names, start=1)}
        return LinearEncoder(*sizes, **offsets, **more)
    if options.linear_features:
        return LinearEncoder(*sizes, **more)
    return None
