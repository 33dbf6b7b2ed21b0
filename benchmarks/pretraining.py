"""Prepares what benchmarks.tables pre-trains on: texts, static vectors, a biLM and its vectors.

    python -m benchmarks.pretraining fdu_mtl --data PATH/TO/data --runs runs/tables \
        --peer-python peers/bin/python
    python -m benchmarks.pretraining hotel_reviews ... the same, from the texts of the training set

From the unlabelled reviews of fdu_mtl: words and punctuation apart, in lower case; word2vec by
gensim (benchmarks/peers.txt); `tfreps pretrain-elmo`; and `tfreps embed` of the labelled reviews,
cut at 256 tokens. From the training texts of hotel_reviews: characters, word2vec of them, and
`tfreps pretrain-bert` by the recipe of the articles, without second sentences. Everything is
written to RUNS/TABLE-inputs; what is there already is left as it is, and a model that was killed
goes on.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys

from benchmarks.domains import DOMAINS, encoding_of, train_files
from tfreps.data import read_labelled
from tfreps.text.tokenizers import tokenize_texts

PARTS = "train", "test"
WORD2VEC = pathlib.Path(__file__).with_name("peer_word2vec.py")
EPOCHS = 4


def main(argv=None):
    options = make_parser().parse_args(argv)
    folder = pathlib.Path(options.runs, f"{options.table}-inputs")
    folder.mkdir(parents=True, exist_ok=True)
    if options.table == "hotel_reviews":
        hotel_text(options.data, folder)
        word_vectors(folder, options.peer_python)
        bert(folder)
        return 0
    review_texts(options.data, folder)
    word_vectors(folder, options.peer_python, "--dim", "200", "--epochs", "15")
    language_model(folder, options.epochs)
    for domain in DOMAINS:
        for part in PARTS:
            path = pathlib.Path(options.data, "fdu_mtl", f"{domain}.task.{part}")
            contextual_vectors(folder, path, f"{domain}.{part}", encoding_of(domain))
    for part, path in all_domains(options.data, folder).items():
        contextual_vectors(folder, path, f"all.{part}", "utf-8")
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pretraining", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("table", choices=["fdu_mtl", "hotel_reviews"])
    parser.add_argument("--data", required=True, help="folder with the data sets")
    parser.add_argument("--runs", required=True, help="folder for the run folders")
    parser.add_argument("--peer-python", required=True, help="Python that has benchmarks/peers.txt")
    parser.add_argument(
        "--epochs", type=float, default=EPOCHS, help=f"of the language model ({EPOCHS})"
    )
    return parser


def review_texts(data, folder):
    """train.txt and validation.txt, the hundredth part: all unlabelled reviews, mixed."""
    if (folder / "train.txt").exists():
        return
    reviews = []
    for path in sorted(pathlib.Path(data, "fdu_mtl").glob("*.task.unlabel")):
        encoding = encoding_of(path.name.split(".")[0])
        lines = path.read_bytes().decode(encoding).lower().split("\n")
        reviews += [" ".join(tokens) for tokens in tokenize_texts(lines, "words") if tokens]
    random.Random(0).shuffle(reviews)
    cut = len(reviews) // 100
    write_lines(folder / "validation.txt", reviews[:cut])
    write_lines(folder / "train.txt", reviews[cut:])


def hotel_text(data, folder):
    """train.txt: the characters of the training texts; bert.txt: each of them a document."""
    examples = read_labelled(f"{data}/hotel_reviews/train_sentiment.txt", "json")
    texts = [" ".join(example.text.split()) for example in examples]
    if not (folder / "train.txt").exists():
        tokens = tokenize_texts([example.text for example in examples], "characters")
        write_lines(folder / "train.txt", [" ".join(own) for own in tokens])
    if not (folder / "bert.txt").exists():
        write_lines(folder / "bert.txt", [line for text in texts for line in (text, "")])


def write_lines(path, lines):
    path.with_suffix(".tmp").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    os.replace(path.with_suffix(".tmp"), path)


def word_vectors(folder, python, *flags):
    """vectors.txt: word2vec of train.txt."""
    if not (folder / "vectors.txt").exists():
        run(python, str(WORD2VEC), str(folder / "train.txt"), str(folder / "vectors.txt"), *flags)


def language_model(folder, epochs):
    """elmo: a biLM in the sizes of the small published one."""
    vocabulary = folder / "vocabulary.txt"
    if not vocabulary.exists():
        tfreps("build-vocabulary", folder / "train.txt", "--output", vocabulary, "--min-count", 3)
    if not (folder / "elmo" / "model.keras").exists():
        tfreps(
            *("pretrain-elmo", "--preset", "elmo_small", "--train", folder / "train.txt"),
            *("--validation", folder / "validation.txt", "--vocabulary", vocabulary),
            *("--num-sampled", 2048, "--precision", "bfloat16", "--epochs", epochs),
            *("--run", folder / "elmo", "--resume"),
        )


def bert(folder):
    """bert: in the sizes of the articles, with less dropout, for 20 passes and not for a week."""
    if not (folder / "bert" / "model.keras").exists():
        tfreps(
            *("pretrain-bert", "--config", "bert_articles", "--train", folder / "bert.txt"),
            *("--no-next-sentence", "--max-length", 300, "--dropout", 0.1),
            *("--attention-dropout", 0.1, "--epochs", 20, "--precision", "bfloat16"),
            *("--run", folder / "bert", "--resume"),
        )


def all_domains(data, folder):
    """all.train.tsv, all.test.tsv: the labelled reviews of all domains, one after another."""
    tests = {d: pathlib.Path(data, "fdu_mtl", f"{d}.task.test") for d in DOMAINS}
    paths = {}
    for part, files in (("train", train_files(data)), ("test", tests)):
        paths[part] = folder / f"all.{part}.tsv"
        if not paths[part].exists():
            texts = [path.read_bytes().decode(encoding_of(d)) for d, path in files.items()]
            write_lines(paths[part], [x for text in texts for x in text.split("\n") if x.strip()])
    return paths


def contextual_vectors(folder, path, name, encoding):
    """NAME.hdf5: all layers of the biLM for the reviews of a labelled file."""
    text, output = (folder / f"{name}.{ending}" for ending in ("txt", "hdf5"))
    if output.exists():
        return
    tfreps(
        *("tokenize", path, "--format", "tab", "--encoding", encoding, "--lowercase"),
        *("--max-length", 256, "--output", text, "--overwrite"),
    )
    tfreps("embed", folder / "elmo", text, "--output", output, "--dtype", "float16", "--resume")


def tfreps(*words):
    run(sys.executable, "-m", "tfreps", *map(str, words))


def run(*command):
    print(" ".join(command), flush=True)
    subprocess.run(command, check=True)


if __name__ == "__main__":
    raise SystemExit(main())
