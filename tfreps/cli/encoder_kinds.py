"""ENCODERS: one entry for each encoder that taggers and classifiers may stand on."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tfreps.cli import input_options, optimizer_options
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

TAGGER, CLASSIFIER = HEADS = "tagger", "classifier"


class EncoderKind(NamedTuple):
    """One encoder of the programs: its choice, its line in the help, its options, its construction.

    An entry in `ENCODERS` is all that a new encoder needs.

    Args:
        name: str. The value of `--encoder`.
        build: function from the program's options and `EncoderInputs` to the encoder.
        options: name -> Option. The options that it reads and that not all encoders read. Encoders
            that share an option have the same row; a row of another table of the program, as of
            `tfreps.cli.input_options`, is shown there.
        heads: those it is for, of `HEADS`.
        help: str. What `--help` says of it.
        pooling: str. How classifiers make a vector of a text, unless `--pooling` says.
        gives_scores: bool. Whether its output has a score for each tag already.
        brings_tokens: bool. Whether it comes with a tokenizer and a vocabulary of its own.
    """

    name: str
    build: Callable[[Any, "EncoderInputs"], Any]
    options: dict[str, Option]
    heads: tuple[str, ...]
    help: str
    pooling: str = "mean"
    gives_scores: bool = False
    brings_tokens: bool = False


class EncoderInputs(NamedTuple):
    """What the program has read for an encoder.

    Args:
        indexer: `tfreps.text.TokenIndexer`, or `PieceIndexer`, what the encoder is to read.
        num_classes: int. The number of tags or labels.
        vectors: `tfreps.text.WordVectors` to start from, in the order of the vocabulary; None
            for random ones.
        elmo: `Elmo` whose vectors are added to each token's, or None.
        bert: what `tfreps.cli.input_options.read_bert` returned.
        stored: `(layers, width)` of vectors that `tfreps embed` computed; `(0, 0)` for none.
    """

    indexer: Any
    num_classes: int = 1
    vectors: Any = None
    elmo: Any = None
    bert: Any = None
    stored: tuple[int, int] = (0, 0)


def make_embedder(options, inputs):
    """The token vectors that most encoders read: of words, characters, ELMo, stored vectors."""
    vectors = inputs.vectors
    embedder = TokenEmbedder(
        vocabulary_size=None if options.no_words else inputs.indexer.vocabulary_size,
        embedding_dim=options.embedding_dim if vectors is None else vectors.matrix.shape[1],
        trainable_embeddings=options.trainable_embeddings,
        characters=options.characters,
        max_characters=inputs.indexer.max_characters or 50,
        elmo=inputs.elmo,
        vector_layers=inputs.stored[0],
        vector_dim=inputs.stored[1],
        dropout=options.dropout,
        name="embedder",
    )
    if vectors is not None:
        embedder.set_word_vectors(vectors.matrix)
    return embedder


def make_bilstm(options, inputs):
    """A `BiLSTMEncoder` over the token vectors."""
    return BiLSTMEncoder(
        make_embedder(options, inputs),
        options.units,
        num_layers=options.num_layers or 1,
        dropout=options.dropout,
        name="encoder",
    )


def make_slstm(options, inputs):
    """An `SLSTMEncoder` over the token vectors."""
    return SLSTMEncoder(
        make_embedder(options, inputs),
        options.units,
        num_steps=options.num_steps,
        window=options.window,
        num_sentence_nodes=options.num_sentence_nodes,
        boundary=options.boundary,
        name="encoder",
    )


def make_transformer(options, inputs):
    """A `TransformerEncoder` over the token vectors."""
    return TransformerEncoder(
        make_embedder(options, inputs),
        options.hidden_dim,
        num_layers=options.num_layers or 1,
        num_heads=options.num_heads,
        name="encoder",
    )


def make_cnn(options, inputs):
    """A `TextCNN` over the token vectors."""
    return TextCNN(
        make_embedder(options, inputs), options.num_filters, options.widths, name="encoder"
    )


def make_linear_encoder(options, inputs):
    """A `LinearEncoder` of the tokens' ids."""
    return LinearEncoder(
        inputs.indexer.vocabulary_size,
        inputs.num_classes,
        dropout=options.linear_dropout,
        name="encoder",
    )


def make_bert(options, inputs):
    """The BERT: a vector of each piece, or of each word that of its first piece."""
    encoder, tokenizer = inputs.bert
    if inputs.indexer.words:
        return PieceEncoder(encoder, tokenizer.start_id, tokenizer.separator_id, name="words")
    return encoder


WORDS = input_options.WORDS
VECTORS = {
    "embedding_dim": Option(
        int, 100, "width of word vectors, if --vectors brings none (100)", at_least=1
    ),
    "no_words": Option(
        bool, False, "no word vectors: characters, ELMo or stored vectors alone",
        needs="characters or elmo or elmo_weights or train_vectors",
    ),
    "trainable_embeddings": Option(
        bool, True, "word vectors are trained; or stay as --vectors has them", needs="vectors"
    ),
    "characters": Option(
        str, None, "character features of each word beside its vector", choices=["cnn", "bilstm"]
    ),
    **input_options.VECTORS,
    **{name: optimizer_options.OPTIONS[name] for name in ("embedding_learning_rate",)},
}  # fmt: skip
UNITS = {
    "units": Option(
        int, 200, "width of an slstm's states, or of each direction of a bilstm (200)", at_least=1
    )
}
NUM_LAYERS = {
    "num_layers": Option(
        int, None, "LSTMs of the bilstm, blocks of the transformer, one above the other (1); the "
        "first blocks of a bert (all)", at_least=1,
    )
}  # fmt: skip
TRANSFORMER = {
    "hidden_dim": Option(
        int, 200, "width of the transformer; must be a multiple of --num-heads (200)", at_least=1
    ),
    "num_heads": Option(int, 4, "of the transformer; must divide --hidden-dim (4)", at_least=1),
}
SLSTM = {
    "num_steps": Option(int, 9, "exchange steps of the slstm (9)", at_least=1),
    "window": Option(
        int, 1, "neighbours on each side that a word of the slstm sees (1)", at_least=1
    ),
    "num_sentence_nodes": Option(int, 1, "of the slstm (1)", at_least=0),
    "boundary": Option(
        str, "learned", "what the slstm sees beyond a text's ends (learned)",
        choices=["learned", "fixed", "zeros"],
    ),
}  # fmt: skip
CNN = {
    "num_filters": Option(int, 100, "of each width of the cnn (100)", at_least=1),
    "widths": Option(
        int, [3, 4, 5], "of the cnn's filters, in tokens (3 4 5)", many=True, at_least=1
    ),
}
BERT = {
    "bert": Option(
        str, None, "run folder of pretrain-bert, or folder of a published checkpoint of BERT",
        required="encoder=bert",
    ),
    "bert_dropout": Option(
        float, None, "in its blocks and attention (as when it was pre-trained)", at_least=0, below=1
    ),
    "bert_from_scratch": Option(bool, False, "only its sizes and tokens: all weights are new"),
    "freeze_blocks": Option(
        int, None, "of the bert, from the first, that stay as they are, and its tables (none)",
        at_least=0, excludes="bert_from_scratch",
    ),
}  # fmt: skip

# What a cnn says at a token is about the tokens after it alone: nothing to tag by.
ENCODERS = {
    kind.name: kind
    for kind in (
        EncoderKind("embeddings", make_embedder, {**WORDS, **VECTORS}, HEADS, "nothing"),
        EncoderKind(
            "bilstm", make_bilstm, {**WORDS, **VECTORS, **UNITS, **NUM_LAYERS}, HEADS,
            "LSTMs in both directions",
        ),
        EncoderKind(
            "slstm", make_slstm, {**WORDS, **VECTORS, **UNITS, **SLSTM}, HEADS,
            "a Sentence-State LSTM", pooling="pooled",
        ),
        EncoderKind(
            "transformer", make_transformer,
            {**WORDS, **VECTORS, **NUM_LAYERS, **TRANSFORMER}, HEADS, "blocks with attention",
        ),
        EncoderKind(
            "cnn", make_cnn, {**WORDS, **VECTORS, **CNN}, (CLASSIFIER,),
            "convolutions of several widths", pooling="pooled",
        ),
        EncoderKind(
            "linear", make_linear_encoder, WORDS, HEADS,
            "a linear CRF's features instead of vectors", gives_scores=True,
        ),
        EncoderKind(
            "bert", make_bert, {**BERT, **NUM_LAYERS}, HEADS,
            "a pre-trained one, words and all", brings_tokens=True,
        ),
    )
}  # fmt: skip
