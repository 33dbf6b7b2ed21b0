"""Creates the inputs of benchmarks.tables: texts, word vectors, a biLM and BERTs.

    python -m benchmarks.pretraining fdu_mtl --data PATH/TO/data --runs runs/tables \\
        --peer-python .venv-peers/torch/bin/python
    python -m benchmarks.pretraining hotel_reviews --data PATH/TO/data --runs runs/tables \\
        --peer-python .venv-peers/torch/bin/python
    python -m benchmarks.pretraining resume_ner --data PATH/TO/data --runs runs/tables

Word vectors are trained with word2vec from gensim, in the environment of
benchmarks/peers/torch.txt. On the unlabeled reviews of fdu_mtl, tokenized into lower-case words and
punctuation, the program also trains a biLM with `tfreps pretrain-elmo`. `tfreps embed` then writes
its vectors of the labeled reviews, truncated to 256 tokens, and of the sentences of mr. On the same
unlabeled reviews, and on the training texts of hotel_reviews and resume_ner, the program trains a
BERT (two for hotel_reviews, with 6 and with 3 layers) with `tfreps pretrain-bert` without
next-sentence prediction. The BERT reads short texts first: on long texts, it would predict tokens
by their frequency for a long time before it learned which positions are adjacent. All files are
written to RUNS/TABLE-inputs. Existing files are not changed, and interrupted training runs are
resumed.
"""

import pathlib
import random
import subprocess
import sys

from benchmarks.domains import DOMAINS, encoding_of, train_files
from benchmarks.runner import call_peer, parse
from benchmarks.trainings import train_once
from tfreps._src.files.atomic_files import write_text
from tfreps._src.text.tokenizers import tokenize
from tfreps.data import read_labeled, read_tagged

PARTS = "train", "test"
EPOCHS = 4.0
# Table -> name of a BERT model -> options of pretrain-bert, and for each stage of training the
# maximum tokens per text, the tokens per batch and the number of epochs.
BERTS = {
    "fdu_mtl": {"bert": ("--size bert_mini --min-count 3", [(32, 1024, 2), (256, 4096, 1)])},
    "hotel_reviews": {
        "bert": ("--config bert_6x384 --warmup-steps 500", [(32, 1024, 6), (300, 4096, 2)]),
        "bert3": (
            "--config bert_6x384 --num-layers 3 --warmup-steps 500",
            [(32, 1024, 20), (300, 4096, 4)],
        ),
    },
    "resume_ner": {"bert": ("--size bert_mini", [(32, 1024, 30), (128, 2048, 10)])},
}


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.pretraining",
        __doc__,
        table={"choices": TABLES, "help": "Table whose inputs to create."},
        data=(..., "Folder of the data sets."),
        runs=(..., "Folder for the run folders. Finished runs in it are not repeated."),
        only=(None, "Kind of input to create. Defaults to all.",
              {"choices": ["vectors", "elmo", "bert"]}),
        peer_python=(None, "Python interpreter with the packages of benchmarks/peers/torch.txt."),
        epochs=(EPOCHS, "Number of passes over the training text of the biLM."),
    )  # fmt: skip
    folder = pathlib.Path(options.runs, f"{options.table}-inputs")
    folder.mkdir(parents=True, exist_ok=True)
    write_texts, models = TABLES[options.table]
    if not (folder / "bert.txt").exists():
        write_texts(options.data, folder)
    for make in models:
        if options.only in (make.__name__, None):
            make(options, folder)
    return 0


def review_texts(data, folder):
    """Writes all unlabeled reviews, shuffled: train.txt, validation.txt (1%) and bert.txt."""
    reviews = []
    for path in sorted(pathlib.Path(data, "fdu_mtl").glob("*.task.unlabel")):
        encoding = encoding_of(path.name.split(".")[0])
        lines = path.read_bytes().decode(encoding).lower().split("\n")
        reviews += [" ".join(tokens) for tokens in tokenize(lines, "words") if tokens]
    random.Random(0).shuffle(reviews)
    cut = len(reviews) // 100
    write_lines(folder / "validation.txt", reviews[:cut])
    write_lines(folder / "train.txt", reviews[cut:])
    write_lines(folder / "bert.txt", documents(reviews[cut:]))


def hotel_texts(data, folder):
    """Writes the training texts, as characters to train.txt and as documents to bert.txt."""
    examples = read_labeled(f"{data}/hotel_reviews/train_sentiment.txt", "python")
    texts = [example.text for example in examples]
    tokens = tokenize(texts, "characters")
    write_lines(folder / "train.txt", [" ".join(own) for own in tokens])
    write_lines(folder / "bert.txt", documents(" ".join(text.split()) for text in texts))


def resume_texts(data, folder):
    """Writes bert.txt: a document for each training sentence, with spaces between characters."""
    sentences = read_tagged(f"{data}/resume_ner/train.char.bmes")
    write_lines(folder / "bert.txt", documents(" ".join(s.tokens) for s in sentences))


def documents(texts):
    """Returns the texts with a blank line after each."""
    return [line for text in texts for line in (text, "")]


def write_lines(path, lines):
    write_text(path, "".join(line + "\n" for line in lines))


def vectors(options, folder):
    """Writes vectors.txt, the word vectors of train.txt."""
    if (folder / "vectors.txt").exists():
        return
    if not options.peer_python:
        raise SystemExit(
            "Word vectors need --peer-python. Give it, or create other inputs with --only elmo or "
            "--only bert."
        )
    dim, epochs = (200, 15) if options.table == "fdu_mtl" else (100, 5)
    files = str(folder / "train.txt"), str(folder / "vectors.txt")
    call_peer(options.peer_python, "word2vec.train", *files, dim, epochs)


def elmo(options, folder):
    """Trains a biLM with the sizes of the small public ELMo, and embeds all labeled reviews."""
    language_model(folder, options.epochs)
    for domain in DOMAINS:
        for part in PARTS:
            path = pathlib.Path(options.data, "fdu_mtl", f"{domain}.task.{part}")
            contextual_vectors(folder, path, f"{domain}.{part}", encoding_of(domain))
    for part, path in all_domains(options.data, folder).items():
        contextual_vectors(folder, path, f"all.{part}", "utf-8")
    for part in "train", "dev":
        path = pathlib.Path(options.data, "mr", f"{part}.tsv")
        contextual_vectors(folder, path, f"mr.{part}", "utf-8", tokens="treebank")


def language_model(folder, epochs):
    vocabulary = folder / "vocabulary.txt"
    if not vocabulary.exists():
        tfreps("build-vocabulary", folder / "train.txt", "--output", vocabulary, "--min-count", 3)
    train(
        *("pretrain-elmo", "--size", "elmo_small", "--train", folder / "train.txt"),
        *("--validation", folder / "validation.txt", "--vocabulary", vocabulary),
        *("--num-sampled", 2048, "--epochs", epochs),
        folder=folder / "elmo",
    )


def bert(options, folder):
    """Trains each BERT on short texts (run NAME-32), and then on long texts (run NAME)."""
    for model, (sizes, phases) in BERTS[options.table].items():
        start = sizes.split()
        for (length, batch, epochs), name in zip(phases, (f"{model}-32", model), strict=True):
            train(
                *("pretrain-bert", *start, "--train", folder / "bert.txt", "--no-next-sentence"),
                *("--max-length", length, "--batch-tokens", batch, "--epochs", epochs),
                *("--dropout", 0.0, "--attention-dropout", 0.0),
                folder=folder / name,
            )
            start = ["--init", folder / name]


def all_domains(data, folder):
    """Writes all labeled reviews to all.train.tsv and all.test.tsv; returns their paths."""
    tests = {d: pathlib.Path(data, "fdu_mtl", f"{d}.task.test") for d in DOMAINS}
    paths = {}
    for part, files in (("train", train_files(data)), ("test", tests)):
        paths[part] = folder / f"all.{part}.tsv"
        if not paths[part].exists():
            texts = [path.read_bytes().decode(encoding_of(d)) for d, path in files.items()]
            write_lines(paths[part], [x for text in texts for x in text.split("\n") if x.strip()])
    return paths


def contextual_vectors(folder, path, name, encoding, tokens="words"):
    """Writes NAME.hdf5, all layers of the biLM for the texts of a labeled file."""
    text, output = (folder / f"{name}.{ending}" for ending in ("txt", "hdf5"))
    if output.exists():
        return
    tfreps(
        *("tokenize", path, "--format", "tab", "--encoding", encoding, "--lowercase"),
        *("--tokens", tokens, "--max-length", 256, "--output", text, "--overwrite"),
    )
    tfreps("embed", folder / "elmo", text, "--output", output, "--dtype", "float16", "--resume")


def train(*words, folder):
    """Runs a pre-training program unless its run is finished."""
    train_once(folder, [*map(str, words), "--run", str(folder), "--resume"], last="steps")


def tfreps(*words):
    command = [sys.executable, "-m", "tfreps", *map(str, words)]
    print(" ".join(command), flush=True)
    subprocess.run(command, check=True)


# Table -> function that writes its texts (bert.txt last), and functions that compute its inputs
# from these texts.
TABLES = {
    "fdu_mtl": (review_texts, [vectors, elmo, bert]),
    "hotel_reviews": (hotel_texts, [vectors, bert]),
    "resume_ner": (resume_texts, [bert]),
}

if __name__ == "__main__":
    raise SystemExit(main())
