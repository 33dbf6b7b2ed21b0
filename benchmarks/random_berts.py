"""BERT models of published shapes with random weights, for benchmarks."""

SHAPES = {
    "base": {"vocabulary_size": 30522, "hidden_dim": 768, "num_layers": 12, "num_heads": 12},
    "6x384": {"vocabulary_size": 30522, "hidden_dim": 384, "num_layers": 6, "num_heads": 12},
}


def text_bert(shape, pooler=True):
    """Returns a `TextBert` of one of `SHAPES`."""
    import keras

    from tfreps.inference import TextBert
    from tfreps.models import BertEncoder
    from tfreps.text import WordPieceTokenizer

    keras.utils.set_random_seed(0)
    size, special = SHAPES[shape], WordPieceTokenizer.SPECIAL_TOKENS
    letters = [mark + letter for letter in "abcdefghijklmnopqrstuvwxyz" for mark in ("", "##")]
    num_words = size["vocabulary_size"] - len(special) - len(letters)
    words = [f"word{number}" for number in range(num_words)]
    tokenizer = WordPieceTokenizer([*special, *letters, *words])
    return TextBert(BertEncoder(**size, pooler=pooler), tokenizer)
