"""Defines the encoders that taggers and classifiers can use."""

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
    """Entry of `ENCODERS`: name, help text, options and constructor of one encoder.

    To add an encoder to the programs, add an entry to `ENCODERS`.

    Args:
        name: str. The value of `--encoder`.
        build: function. Maps the program's options and `EncoderInputs` to the encoder.
        options: dict of name -> `Option`. Options that this encoder reads and at least one other
            encoder does not. Encoders that share an option use the same `Option`. An option that
            belongs to another table of the program, such as one of `tfreps.cli.input_options`, is
            shown in that table.
        heads: tuple of str. Heads that can use the encoder, from `HEADS`.
        help: str. Description in `--help`.
        pooling: str. Pooling of classifiers if `--pooling` is not given. Defaults to `"mean"`.
        gives_scores: bool. Whether the encoder outputs a score for each tag. Defaults to `False`.
        brings_tokens: bool. Whether the encoder has its own tokenizer and vocabulary. Defaults to
            `False`.
        width: str. Name of the option that gives the width of its products. If `None`, the encoder
            has no such option. Defaults to `None`.
    """

    name: str
    build: Callable[[Any, "EncoderInputs"], Any]
    options: dict[str, Option]
    heads: tuple[str, ...]
    help: str
    pooling: str = "mean"
    gives_scores: bool = False
    brings_tokens: bool = False
    width: str | None = None


class EncoderInputs(NamedTuple):
    """Inputs that a program has read for an encoder.

    Args:
        indexer: `tfreps.text.TokenIndexer` or `PieceIndexer`. Maps tokens to ids.
        num_classes: int. Number of tags or labels. Defaults to 1.
        vectors: `tfreps.text.WordVectors`. Initial word vectors, in the order of the vocabulary.
            If `None`, the initial vectors are random.
        elmo: `Elmo`. Its vectors are concatenated with the other vectors of each token. If `None`,
            there is no biLM.
        bert: `EncoderAndTokenizer` that `tfreps.cli.input_options.read_bert` returned. If `None`,
            there is no BERT model.
        stored: pair of ints `(layers, width)`. Number of layers and width of the vectors that
            `tfreps embed` computed. Defaults to `(0, 0)`, which means that there are none.
    """

    indexer: Any
    num_classes: int = 1
    vectors: Any = None
    elmo: Any = None
    bert: Any = None
    stored: tuple[int, int] = (0, 0)


def make_embedder(options, inputs):
    """Returns a `TokenEmbedder` for the word, character, ELMo and stored vectors in use."""
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
    """Returns a `BiLSTMEncoder` over the token vectors."""
    return BiLSTMEncoder(
        make_embedder(options, inputs),
        options.units,
        num_layers=options.num_layers or 1,
        dropout=options.dropout,
        name="encoder",
    )


def make_slstm(options, inputs):
    """Returns an `SLSTMEncoder` over the token vectors."""
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
    """Returns a `TransformerEncoder` over the token vectors."""
    return TransformerEncoder(
        make_embedder(options, inputs),
        options.hidden_dim,
        num_layers=options.num_layers or 1,
        num_heads=options.num_heads,
        name="encoder",
    )


def make_cnn(options, inputs):
    """Returns a `TextCNN` over the token vectors."""
    return TextCNN(
        make_embedder(options, inputs), options.num_filters, options.widths, name="encoder"
    )


def make_linear_encoder(options, inputs):
    """Returns a `LinearEncoder` over the token ids."""
    return LinearEncoder(
        inputs.indexer.vocabulary_size,
        inputs.num_classes,
        dropout=options.linear_dropout,
        name="encoder",
    )


def make_bert(options, inputs):
    """Returns the BERT encoder, wrapped in a `PieceEncoder` if the inputs are words."""
    encoder, tokenizer = inputs.bert
    if inputs.indexer.words:
        return PieceEncoder(encoder, tokenizer.start_id, tokenizer.separator_id, name="words")
    return encoder


WORDS = input_options.WORDS
VECTORS = {
    "embedding_dim": Option(
        int, 100, "Width of the word vectors. Has no effect with --vectors or --no-words.",
        at_least=1, unused_with=("vectors", "no_words"),
    ),
    "no_words": Option(
        bool, False, "Do not use word vectors. Requires character features, vectors from a biLM, "
        "or vectors from a file written by 'tfreps embed'.",
        needs="characters or elmo or elmo_weights or train_vectors",
    ),
    "trainable_embeddings": Option(
        bool, True, "Update the word vectors of --vectors during training.", needs="vectors"
    ),
    "characters": Option(
        str, None, "Encoder of the characters of each word: a CNN (cnn) or a bidirectional LSTM "
        "(bilstm). Its output is concatenated with the word vector.", choices=["cnn", "bilstm"],
    ),
    **input_options.VECTORS,
    **{name: optimizer_options.OPTIONS[name] for name in ("embedding_learning_rate",)},
}  # fmt: skip
UNITS = {
    "units": Option(
        int, 200, "Width of the states of slstm, or of each direction of bilstm.", at_least=1
    )
}
NUM_LAYERS = {
    "num_layers": Option(
        int, None, "Number of encoder layers; bert uses only its first N layers. Defaults to 1 for "
        "bilstm and transformer, and to all layers for bert.", at_least=1,
    )
}  # fmt: skip
TRANSFORMER = {
    "hidden_dim": Option(
        int, 200, "Width of the transformer; must be a multiple of --num-heads.", at_least=1
    ),
    "num_heads": Option(
        int,
        4,
        "Number of attention heads of the transformer; must divide --hidden-dim.",
        at_least=1,
    ),
}
SLSTM = {
    "num_steps": Option(int, 9, "Number of steps in which slstm updates its states.", at_least=1),
    "window": Option(
        int, 1, "Number of neighbours on each side that slstm uses to update the state of a word.",
        at_least=1,
    ),
    "num_sentence_nodes": Option(int, 1, "Number of sentence-level states of slstm.", at_least=0),
    "boundary": Option(
        str, "learned", "States that slstm reads beyond the two ends of a text: those of boundary "
        "tokens with learned inputs (learned), learned states that no step updates (fixed), or "
        "zeros (zeros).",
        choices=["learned", "fixed", "zeros"],
    ),
}  # fmt: skip
CNN = {
    "num_filters": Option(int, 100, "Number of filters of cnn for each width.", at_least=1),
    "widths": Option(
        int, [3, 4, 5], "Widths of the filters of cnn, in tokens.", many=True, at_least=1
    ),
}
BERT = {
    "bert": Option(
        str, None, "Run folder of 'tfreps pretrain-bert' or published BERT model, by path, name "
        "('tfreps presets') or hf:// address.",
        required="encoder=bert",
    ),
    "bert_dropout": Option(
        float, None, "Dropout rate of the hidden vectors and the attention weights of bert. "
        "Defaults to the rates used in pre-training.", at_least=0, below=1,
    ),
    "bert_from_scratch": Option(
        bool, False, "Use only the sizes and the tokenizer of --bert, with random weights."
    ),
    "freeze_blocks": Option(
        int, None, "Freeze the embeddings and the first N layers of bert. Defaults to 0, which "
        "trains all weights.",
        at_least=0, excludes="bert_from_scratch",
    ),
}  # fmt: skip

# The output of cnn at a token depends only on that token and those after it, so taggers cannot
# use it.
ENCODERS = {
    kind.name: kind
    for kind in (
        EncoderKind(
            "embeddings", make_embedder, {**WORDS, **VECTORS}, HEADS, "only the token vectors"
        ),
        EncoderKind(
            "bilstm", make_bilstm, {**WORDS, **VECTORS, **UNITS, **NUM_LAYERS}, HEADS,
            "bidirectional LSTM", width="units",
        ),
        EncoderKind(
            "slstm", make_slstm, {**WORDS, **VECTORS, **UNITS, **SLSTM}, HEADS,
            "Sentence-State LSTM", pooling="pooled", width="units",
        ),
        EncoderKind(
            "transformer", make_transformer,
            {**WORDS, **VECTORS, **NUM_LAYERS, **TRANSFORMER}, HEADS, "Transformer layers",
            width="hidden_dim",
        ),
        EncoderKind(
            "cnn", make_cnn, {**WORDS, **VECTORS, **CNN}, (CLASSIFIER,),
            "convolutions of several widths", pooling="pooled", width="num_filters",
        ),
        EncoderKind(
            "linear", make_linear_encoder, WORDS, HEADS,
            "scores of tokens and token pairs without vectors", gives_scores=True,
        ),
        EncoderKind(
            "bert", make_bert, {**BERT, **NUM_LAYERS}, HEADS,
            "pre-trained BERT model with its own tokenizer", brings_tokens=True,
        ),
    )
}  # fmt: skip
