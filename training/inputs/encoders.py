"""Builds the encoder of a tagger or classifier from the options of a run."""

from tfreps._src.models.bigru_encoder import BiGRUEncoder
from tfreps._src.models.bilstm_encoder import BiLSTMEncoder
from tfreps._src.models.linear_encoder import LinearEncoder
from tfreps._src.models.piece_encoder import PieceEncoder
from tfreps._src.models.slstm_encoder import SLSTMEncoder
from tfreps._src.models.text_cnn import TextCNN
from tfreps._src.models.token_embedder import TokenEmbedder
from tfreps._src.models.transformer_encoder import TransformerEncoder
from tfreps.training.inputs.read_inputs import EncoderInputs


def make_embedder(options, inputs):
    """Returns a `TokenEmbedder` for the kinds of vectors that the options and inputs contain."""
    vectors = inputs.vectors
    embedder = TokenEmbedder(
        vocabulary_size=None if options.no_words else inputs.indexer.vocabulary_size,
        embedding_dim=options.embedding_dim if vectors is None else vectors.matrix.shape[1],
        trainable_embeddings=options.trainable_embeddings,
        num_frozen_words=inputs.num_frozen_words,
        bigram_dim=options.bigram_dim,
        characters=None if options.characters == "none" else options.characters,
        max_characters=inputs.indexer.max_characters or 50,
        elmo=inputs.elmo,
        vector_layers=inputs.stored[0],
        vector_dim=inputs.stored[1],
        dropout=options.dropout,
        word_dropout=options.word_dropout,
        name="embedder",
    )
    if vectors is not None:
        embedder.set_word_vectors(vectors.matrix)
    return embedder


def make_bilstm(options, inputs, cls=BiLSTMEncoder):
    return cls(
        make_embedder(options, inputs),
        options.units,
        num_layers=options.num_layers or 1,
        dropout=options.dropout,
        name="encoder",
    )


def make_bigru(options, inputs):
    return make_bilstm(options, inputs, BiGRUEncoder)


def make_slstm(options, inputs):
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
    return TransformerEncoder(
        make_embedder(options, inputs),
        options.hidden_dim,
        num_layers=options.num_layers or 1,
        num_heads=options.num_heads,
        name="encoder",
    )


def make_cnn(options, inputs):
    embedder = make_embedder(options, inputs)
    return TextCNN(embedder, options.num_filters, options.widths, name="encoder")


def make_linear_encoder(options, inputs):
    sizes = inputs.indexer.vocabulary_size, inputs.num_classes
    return LinearEncoder(*sizes, dropout=options.linear_dropout, name="encoder")


def make_bert(options, inputs):
    """Returns the BERT encoder, wrapped in a `PieceEncoder` if the inputs are words."""
    encoder, tokenizer = inputs.bert
    if inputs.indexer.words:
        return PieceEncoder(encoder, tokenizer.start_id, tokenizer.separator_id, name="words")
    return encoder


# Name of a row of `cli.encoder_options.ENCODERS` -> function that builds the encoder.
BUILDERS = {
    "embeddings": make_embedder,
    "bilstm": make_bilstm,
    "bigru": make_bigru,
    "slstm": make_slstm,
    "transformer": make_transformer,
    "cnn": make_cnn,
    "linear": make_linear_encoder,
    "bert": make_bert,
}


def make_encoder(options, inputs: EncoderInputs):
    """Returns the encoder that the options describe, or that of --init: a Keras model."""
    if inputs.encoder is not None:
        return inputs.encoder
    return BUILDERS[options.encoder](options, inputs)


def make_linear(options, inputs: EncoderInputs):
    """Returns the `LinearEncoder` that the options describe, or `None` if they describe none."""
    ngrams = getattr(options, "ngrams", None)  # taggers do not have this option
    sizes = inputs.indexer.vocabulary_size, inputs.num_classes
    more = {"dropout": options.linear_dropout, "num_frozen_words": inputs.num_frozen_words}
    more["name"] = "linear"
    if ngrams:
        names = "unigram_offsets", "bigram_offsets", "trigram_offsets"
        # The scores are summed over the text, so each n-gram needs only one offset.
        offsets = {name: (0,) if n <= ngrams else () for n, name in enumerate(names, start=1)}
        return LinearEncoder(*sizes, **offsets, **more)
    if options.linear_features:
        return LinearEncoder(*sizes, **more)
    return None
