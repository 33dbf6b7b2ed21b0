"""Trains static word vectors with gensim for benchmarks/pretraining.py."""

import os


def train(text, output, dim, epochs):
    """Trains skip-gram vectors with negative sampling (Mikolov et al., 2013).

    Args:
        text: str. File with one tokenized sentence per line.
        output: str. File to write, in the text format of word2vec.
        dim: int. Dimension of the vectors.
        epochs: int. Number of passes over the text.
    """
    from gensim.models import Word2Vec

    model = Word2Vec(
        corpus_file=text,
        vector_size=dim,
        window=5,
        min_count=3,
        sg=1,
        negative=5,
        sample=1e-4,
        workers=2,
        epochs=epochs,
        seed=0,
    )
    model.wv.save_word2vec_format(output + ".tmp", binary=False)
    os.replace(output + ".tmp", output)
