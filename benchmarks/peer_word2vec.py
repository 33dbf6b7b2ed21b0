"""Trains static word vectors with gensim, in the environment of benchmarks/peers/torch.txt.

    .venv-peers/torch/bin/python benchmarks/peer_word2vec.py corpus.txt vectors.txt

The model is skip-gram with negative sampling (Mikolov et al., 2013). The text has one tokenized
sentence per line. The output has the text format of word2vec, which `tfreps train-classifier
--vectors` reads.
"""

import argparse
import os


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text", help="Text with one tokenized sentence per line.")
    parser.add_argument("output", help="File to which to write the vectors.")
    parser.add_argument(
        "--dim", type=int, default=100, help="Dimension of the vectors. Defaults to 100."
    )
    parser.add_argument(
        "--epochs", type=int, default=5, help="Number of passes over the text. Defaults to 5."
    )
    parser.add_argument(
        "--min-count",
        type=int,
        default=3,
        help="Minimum number of occurrences of a word that gets a vector. Defaults to 3.",
    )
    options = parser.parse_args(argv)

    from gensim.models import Word2Vec

    model = Word2Vec(
        corpus_file=options.text,
        vector_size=options.dim,
        window=5,
        min_count=options.min_count,
        sg=1,
        negative=5,
        sample=1e-4,
        workers=2,
        epochs=options.epochs,
        seed=0,
    )
    model.wv.save_word2vec_format(options.output + ".tmp", binary=False)
    os.replace(options.output + ".tmp", options.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
