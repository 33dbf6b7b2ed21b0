"""Compares the vectors of texts with those of sentence-transformers.

    make peers
    python -m benchmarks.embedder_parity MODEL --peer-python .venv-peers/torch/bin/python

MODEL is a folder of sentence-transformers, such as that of all-MiniLM-L6-v2. The 200 texts are
empty, short, longer than the model reads, in many scripts, and with accents, emoji and characters
that have no width. They contain no special tokens such as [SEP], which tfreps reads as text. The
program prints the largest difference between two numbers and the lowest
cosine of two vectors of the same text: those of `tfreps.load`, alone and in batches, those of the
folder that tfreps writes, and those of the export.
"""

import tempfile

import numpy as np

from benchmarks.runner import call_peer, parse, print_table
from benchmarks.topics_text import lines

SCRIPTS = """
Die Straße nach Köln führt über die Brücke.
Où est la bibliothèque? À côté du café.
Москва — столица России, население 13 миллионов.
Η Αθήνα είναι η πρωτεύουσα της Ελλάδας.
北京是中华人民共和国的首都。
東京は日本の首都です。人口は約1400万人。
서울은 대한민국의 수도입니다.
القاهرة هي عاصمة مصر.
ירושלים היא עיר עתיקה.
दिल्ली भारत की राजधानी है।
กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย
თბილისი საქართველოს დედაქალაქია.
Mixed: 東京 and Москва, naïve café, Ελλάδα!
emoji 😀 👩‍👩‍👧 and flags 🇩🇪🇯🇵
soft\u00adhyphen zero\u200bwidth e\u0301 combining
https://example.org/a?b=c&d=e#f user@example.org
UPPER CASE, lower case, CamelCase and snake_case
1,234.56 + 7.8e-9 = ?!
""".strip().split("\n")
TEXTS = 200


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.embedder_parity",
        __doc__,
        model={"help": "Folder of sentence-transformers."},
        peer_python=(..., "Python with the packages of benchmarks/peers/torch.txt installed."),
    )
    import tensorflow as tf

    import tfreps
    from tfreps.export import open_for_export, write_export

    texts = make_texts()
    embedder = tfreps.load(options.model)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        theirs = peer_vectors(options.peer_python, options.model, texts, folder)
        ours = embedder(texts).vectors
        rows.append(compared("load, in batches", ours, theirs))
        alone = np.stack([embedder(text).vectors for text in texts])
        rows.append(compared("load, one by one", alone, theirs))
        written = f"{folder}/written"
        embedder.save_pretrained(written)
        again = peer_vectors(options.peer_python, written, texts, folder)
        rows.append(compared("written folder, in sentence-transformers", again, theirs))
        export = write_export(open_for_export(embedder), f"{folder}/export")
        call = tf.saved_model.load(str(export.folder)).signatures["default"]
        served = call(text=tf.constant(texts))["vectors"].numpy()
        rows.append(compared("export, all texts in one call", served, theirs))
    print_table("vectors | largest difference | lowest cosine", rows)
    return 0


def make_texts():
    """Returns 200 texts: empty texts, `SCRIPTS`, and parts of the help topics of Python."""
    source = [line.strip() for line in lines() if line.strip()]
    texts = ["", " ", "\t\n", "a", *SCRIPTS]
    number = 0
    while len(texts) < TEXTS:
        # Some texts have thousands of pieces.
        length = 1 + number % 9 * (60 if number % 11 == 0 else 1)
        texts.append(" ".join(source[number * 3 : number * 3 + length]))
        number += 1
    return texts


def peer_vectors(python, model, texts, folder):
    output = f"{folder}/vectors.npy"
    call_peer(python, "sentence_transformers.vectors", str(model), texts, output)
    return np.load(output)


def compared(name, ours, theirs):
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    cosines = np.sum(ours * theirs, axis=1) / np.maximum(lengths, 1e-12)
    return [name, f"{np.abs(ours - theirs).max():.1e}", f"{cosines.min():.7f}"]


if __name__ == "__main__":
    raise SystemExit(main())
