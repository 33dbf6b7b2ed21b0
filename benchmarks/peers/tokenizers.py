"""Times the library tokenizers for benchmarks/bert.py."""

import os


def prepare(vocabulary, texts):
    """Returns a function that splits texts into WordPieces, in batches of 64, with one thread."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import BertWordPieceTokenizer

    ids = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = BertWordPieceTokenizer(ids, lowercase=True)
    batches = [texts[n : n + 64] for n in range(0, len(texts), 64)]

    def split():
        return [
            len(found.ids)
            for batch in batches
            for found in tokenizer.encode_batch(batch, add_special_tokens=False)
        ]

    return split
