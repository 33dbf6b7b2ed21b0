"""make_encoder: an encoder from a program's flat options."""

from tfreps.cli.options import Option
from tfreps.models import (
    BiLSTMEncoder,
    LinearEncoder,
    PieceEncoder,
    SLSTMEncoder,
    TextCNN,
    TokenEmbedder,
    TransformerEncoder,
)

NAMES = "embeddings", "bilstm", "slstm", "transformer", "cnn", "linear", "bert"

OPTIONS = {
    "encoder": Option(
        str, "bilstm", "what reads the token vectors; embeddings: nothing, linear: a linear CRF's "
        "features instead of vectors, bert: a pre-trained one, words and all (bilstm)",
        choices=NAMES,
    ),
    "units": Option(
        int, 200, "width of an slstm's states, or of each direction of a bilstm (200)", at_least=1
    ),
    "hidden_dim": Option(
        int, 200, "width of the transformer; must be a multiple of --num-heads (200)", at_least=1
    ),
    "num_layers": Option(
        int, None, "LSTMs of the bilstm, blocks of the transformer, one above the other (1); the "
        "first blocks of a bert (all)", at_least=1,
    ),
    "num_heads": Option(int, 4, "of the transformer; must divide --hidden-dim (4)", at_least=1),
    "num_steps": Option(int, 9, "exchange steps of the slstm (9)", at_least=1),
    "window": Option(
        int, 1, "neighbours on each side that a word of the slstm sees (1)", at_least=1
    ),
    "num_sentence_nodes": Option(int, 1, "of the slstm (1)", at_least=0),
    "boundary": Option(
        str, "learned", "what the slstm sees beyond a text's ends (learned)",
        choices=["learned", "fixed", "zeros"],
    ),
    "num_filters": Option(int, 100, "of each width of the cnn (100)", at_least=1),
    "widths": Option(
        int, [3, 4, 5], "of the cnn's filters, in tokens (3 4 5)", many=True, at_least=1
    ),
    "embedding_dim": Option(
        int, 100, "width of word vectors, if --vectors brings none (100)", at_least=1
    ),
    "no_words": Option(bool, False, "no word vectors: characters, ELMo or stored vectors alone"),
    "frozen_embeddings": Option(bool, False, "word vectors stay as --vectors has them"),
    "characters": Option(
        str, None, "character features of each word beside its vector", choices=["cnn", "bilstm"]
    ),
    "linear_features": Option(
        bool, False, "a linear model of tokens and pairs beside the encoder, as --encoder linear is"
    ),
    "ngrams": Option(
        int, None, "a linear model of the text's sequences of up to N tokens, 3 at most, beside "
        "the encoder (none)", at_least=1, below=4,
    ),
    "linear_dropout": Option(
        float, 0.0, "share of a linear model's features that are left out in training (0)",
        at_least=0, below=1,
    ),
    "dropout": Option(
        float, 0.5, "on token vectors and on the encoder's output (0.5)", at_least=0, below=1
    ),
    "bert": Option(
        str, None, "run folder of pretrain-bert, or folder of a published checkpoint of BERT"
    ),
    "bert_dropout": Option(
        float, None, "in its blocks and attention (as when it was pre-trained)", at_least=0, below=1
    ),
    "bert_from_scratch": Option(bool, False, "only its sizes and tokens: all weights are new"),
    "freeze_blocks": Option(
        int, None, "of the bert, from the first, that stay as they are, and its tables (none)",
        at_least=0,
    ),
}  # fmt: skip

# Option -> the encoders that read it; what is not here, all do.
READERS = {
    "units": ("bilstm", "slstm"),
    "hidden_dim": ("transformer",),
    "num_layers": ("bilstm", "transformer", "bert"),
    "num_heads": ("transformer",),
    "num_steps": ("slstm",),
    "window": ("slstm",),
    "num_sentence_nodes": ("slstm",),
    "boundary": ("slstm",),
    "num_filters": ("cnn",),
    "widths": ("cnn",),
    "embedding_dim": ("embeddings", "bilstm", "slstm", "transformer", "cnn"),
}

# What the cnn says at a token is about the tokens behind it alone, and n-grams are those of a whole
# text: nothing to tag by.
_OF_TEXTS = "num_filters", "widths", "ngrams"
OPTIONS_OF_TAGGERS = {name: option for name, option in OPTIONS.items() if name not in _OF_TEXTS}
OPTIONS_OF_TAGGERS["encoder"] = OPTIONS["encoder"]._replace(
    choices=[name for name in NAMES if name != "cnn"]
)


def check(options):
    """Refuses options that the encoder does not read.

    Args:
        options: namespace with what `OPTIONS`, or `OPTIONS_OF_TAGGERS`, names.

    Raises:
        ValueError: names the flag, and the encoders that read it.
    """
    for name, readers in READERS.items():
        value, default = getattr(options, name, None), OPTIONS[name].default
        if value not in (None, default) and options.encoder not in readers:
            raise ValueError(
                f"--{name.replace('_', '-')} goes unseen: --encoder {options.encoder} does not "
                f"read it, but {', '.join(readers)}."
            )


def make_encoder(options, indexer, vectors=None, elmo=None, stored=(0, 0), units=1, bert=None):
    """Assembles what `OPTIONS` ask for.

    Args:
        options: namespace with what `OPTIONS` names.
        indexer: `tfreps.text.TokenIndexer`, what the encoder is to read.
        vectors: `tfreps.text.WordVectors` to start from, in the order of the vocabulary; None
            for random ones.
        elmo: `Elmo` whose vectors each token gains; None for none.
        stored: `(layers, width)` of vectors that `tfreps embed` computed; `(0, 0)` for none.
        units: int. Width of a linear model's output: the number of tags or labels.
        bert: what `tfreps.cli.input_options.read_bert` returned.

    Returns:
        An encoder: a Keras model that reads the dict of `indexer`.

    Raises:
        ValueError: for parts that cannot be put together.

    Example:
    >>> import argparse
    >>> from tfreps.text import TokenIndexer
    >>> options = {name: option.default for name, option in OPTIONS.items()}
    >>> options = argparse.Namespace(**{**options, "encoder": "slstm", "units": 8})
    >>> make_encoder(options, TokenIndexer.from_sentences([["a", "dog"]])).output_dim
    8
    """
    if options.encoder == "linear":
        dropout = options.linear_dropout
        return LinearEncoder(indexer.vocabulary_size, units, dropout=dropout, name="encoder")
    if options.encoder == "bert":
        ends = bert.tokenizer.start_id, bert.tokenizer.separator_id
        return PieceEncoder(bert.encoder, *ends, name="words") if indexer.words else bert.encoder
    embedder = TokenEmbedder(
        vocabulary_size=None if options.no_words else indexer.vocabulary_size,
        embedding_dim=options.embedding_dim if vectors is None else vectors.matrix.shape[1],
        trainable_embeddings=not options.frozen_embeddings,
        characters=options.characters,
        max_characters=indexer.max_characters or 50,
        elmo=elmo,
        vector_layers=stored[0],
        vector_dim=stored[1],
        dropout=options.dropout,
        name="embedder",
    )
    if vectors is not None:
        embedder.set_word_vectors(vectors.matrix)
    match options.encoder:
        case "embeddings":
            return embedder
        case "bilstm":
            more = {"num_layers": options.num_layers or 1, "dropout": options.dropout}
            return BiLSTMEncoder(embedder, options.units, name="encoder", **more)
        case "slstm":
            names = "num_steps", "window", "num_sentence_nodes", "boundary"
            more = {name: getattr(options, name) for name in names}
            return SLSTMEncoder(embedder, options.units, name="encoder", **more)
        case "transformer":
            more = {"num_layers": options.num_layers or 1, "num_heads": options.num_heads}
            return TransformerEncoder(embedder, options.hidden_dim, name="encoder", **more)
        case "cnn":
            return TextCNN(embedder, options.num_filters, options.widths, name="encoder")
    raise ValueError(f"`encoder` must be one of {', '.join(NAMES)}; got {options.encoder!r}.")


def make_linear(options, indexer, units):
    """The linear model beside an encoder, None unless `linear_features` or `ngrams` ask for it.

    Args:
        options, indexer, units: as of `make_encoder`.

    Returns:
        `LinearEncoder`, the `linear` of a `Tagger` or `Classifier`; or None.

    Raises:
        ValueError: more than one such model is asked for.
    """
    ngrams = getattr(options, "ngrams", None)  # which taggers have not
    kinds = options.encoder == "linear", options.linear_features, ngrams
    flags = "--encoder linear", "--linear-features", "--ngrams"
    chosen = [flag for flag, is_chosen in zip(flags, kinds, strict=True) if is_chosen]
    if len(chosen) > 1:
        raise ValueError(f"{' and '.join(chosen)} are linear models of the same: choose one.")
    more = {"dropout": options.linear_dropout, "name": "linear"}
    if ngrams:
        names = "unigram_offsets", "bigram_offsets", "trigram_offsets"
        # In a sum over the text a second offset would be the same n-grams again.
        offsets = {name: (0,) if n <= ngrams else () for n, name in enumerate(names, start=1)}
        return LinearEncoder(indexer.vocabulary_size, units, **offsets, **more)
    if options.linear_features:
        return LinearEncoder(indexer.vocabulary_size, units, **more)
    return None
