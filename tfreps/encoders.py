"""make_encoder: an encoder from a program's flat options."""

from tfreps.models import (
    BiLSTMEncoder,
    SLSTMEncoder,
    TextCNN,
    TokenEmbedder,
    WindowEncoder,
)
from tfreps.program_options import Option

NAMES = "embeddings", "bilstm", "slstm", "cnn", "window"

OPTIONS = {
    "encoder": Option(
        str, "bilstm", "what reads the token vectors; embeddings: nothing, window: a linear CRF's "
        "features instead of vectors (bilstm)", choices=NAMES,
    ),
    "units": Option(int, 200, "width of the encoder, of each direction of a bilstm (200)"),
    "num_layers": Option(int, 1, "LSTMs of the bilstm, one above the other (1)"),
    "num_steps": Option(int, 9, "exchange steps of the slstm (9)"),
    "window": Option(int, 1, "neighbours on each side that a word of the slstm sees (1)"),
    "num_sentence_nodes": Option(int, 1, "of the slstm (1)"),
    "filters": Option(int, 100, "of each width of the cnn (100)"),
    "widths": Option(int, [3, 4, 5], "of the cnn's filters, in tokens (3 4 5)", many=True),
    "embedding_dim": Option(int, 100, "width of word vectors, if --vectors brings none (100)"),
    "no_words": Option(bool, False, "no word vectors: characters, ELMo or stored vectors alone"),
    "frozen_embeddings": Option(bool, False, "word vectors stay as --vectors has them"),
    "characters": Option(
        str, None, "character features of each word beside its vector", choices=["cnn", "bilstm"]
    ),
    "dropout": Option(float, 0.5, "on token vectors and on the encoder's output (0.5)"),
}  # fmt: skip


def make_encoder(options, vocabulary_size, embedding_dim=None, elmo=None, stored=(0, 0), units=1):
    """Assembles what `OPTIONS` ask for.

    Args:
        options: dict, or namespace, with what `OPTIONS` names.
        vocabulary_size: int. Tokens of the vocabulary.
        embedding_dim: int. Width of word vectors; None for that of the options.
        elmo: `Elmo` whose vectors each token gains; None for none.
        stored: `(layers, width)` of vectors that `tfreps embed` computed; `(0, 0)` for none.
        units: int. Width of a window's output: the number of tags.

    Returns:
        An encoder: a Keras model that reads the dict of `tfreps.text.TokenFeatures`.

    Raises:
        ValueError: for parts that cannot be put together.

    Example:
    >>> options = {name: option.default for name, option in OPTIONS.items()}
    >>> make_encoder({**options, "encoder": "slstm", "units": 8}, vocabulary_size=9).output_dim
    8
    """
    options = options if isinstance(options, dict) else vars(options)
    if options["encoder"] == "window":
        return WindowEncoder(vocabulary_size, units, name="encoder")
    dropout = {"dropout": options["dropout"]}
    embedder = TokenEmbedder(
        vocabulary_size=None if options["no_words"] else vocabulary_size,
        embedding_dim=embedding_dim or options["embedding_dim"],
        trainable_embeddings=not options["frozen_embeddings"],
        characters=options["characters"],
        elmo=elmo,
        vector_layers=stored[0],
        vector_dim=stored[1],
        name="embedder",
        **dropout,
    )
    match options["encoder"]:
        case "embeddings":
            return embedder
        case "bilstm":
            layers = {"num_layers": options["num_layers"]}
            return BiLSTMEncoder(embedder, options["units"], name="encoder", **layers, **dropout)
        case "slstm":
            names = "num_steps", "window", "num_sentence_nodes"
            steps = {name: options[name] for name in names}
            return SLSTMEncoder(embedder, options["units"], name="encoder", **steps)
        case "cnn":
            return TextCNN(embedder, options["filters"], options["widths"], name="encoder")
    raise ValueError(f"`encoder` must be one of {', '.join(NAMES)}; got {options['encoder']!r}.")
