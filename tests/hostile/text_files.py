"""Hostile text files: vocabularies, columns, labeled texts, word vectors, corpora."""

import gzip

import numpy as np

from tests.hostile.format import Format
from tests.hostile.mutations import mutated
from tfreps._src.cli.text_streams import read_texts
from tfreps._src.text.bert.piece_tokenizer import read_pieces
from tfreps.data import count_tokens, read_labeled, read_tagged
from tfreps.tags import TagSet
from tfreps.text import Vocabulary, WordVectors

TOKENS = ["<S>", "</S>", "<UNK>", "the", "café", "河", ".", "bank", "naïve", "a", "of", "river"]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-MISC"]
TEXTS = {
    "vocabulary": "".join(token + "\n" for token in TOKENS),
    "pieces": "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nrun\n##s\n两\n",
    "tags": "".join(tag + "\n" for tag in TAGS),
    "conll": "-DOCSTART- O\n\nAda B-PER\nLovelace I-PER\nlived O\n\nin O\nLondon B-LOC\n. O\n",
    "columns": "1\tAda\tNNP\tB-PER\n2\tspoke\tVBD\tO\n\n1\tShe\tPRP\tO\n",
    "conllu": "# text = Go!\n1-2\tGo!"
    + "\t_" * 8
    + "\n1\tGo\tgo\tVERB\tVB"
    + "\t_" * 5
    + "\n1.1\tnow"
    + "\t_" * 8
    + "\n2\t!\t!\tPUNCT\t."
    + "\t_" * 5
    + "\n\n1\tNo\tno\tINTJ\tUH"
    + "\t_" * 5
    + "\n",
    "sentences": '{"text": ["Ada", "spoke"], "label": ["B-PER", "O"]}\n'
    "{'text': ['in', 'London'], 'label': ['O', 'B-LOC']}\n",
    "tab": "1\tgood book\n0\tdull\tand long\n1\tune fête\n\n0\tno\n",
    "csv": 'text,label\n"good, ""very"" good",1\ndull,0\n"two\nlines",1\n',
    "records": '{"text": "good \\u00e9", "label": 1}\n{"text": "dull", "label": "0"}\n'
    "{'text': 'fine', 'label': 1, 'more': [1, (2, 3)]}\n",
    "corpus": "the old bank of the river .\nshe sat on the bank\n\na second document .\n",
}


def text_file(name, read, sources):
    """Returns a `Format` of text files, some compressed; `read` takes a path and a `Random`."""

    def ask(ready, random, folder):
        packed = random.random() < 0.1
        path = folder / ("case.txt.gz" if packed else "case.txt")
        data = TEXTS[random.choice(sources)].encode(random.choice(["utf-8"] * 9 + ["utf-16"]))
        if packed:
            data = gzip.compress(data if random.random() < 0.5 else mutated(data, random), mtime=0)
        path.write_bytes(mutated(data, random))
        try:
            read(path, random)
        finally:
            path.unlink()
        return True

    return Format(name, 6_000, lambda folder: None, ask, quick=True)


def vocabulary(path, random):
    found = Vocabulary.read(path)
    assert found.tokens_to_ids(found.tokens) == list(range(len(found)))
    assert found.character_table(20).shape == (len(found), 20)


def tag_list(path, random):
    scheme = random.choice(["bio", "bmes", None])
    found = TagSet.read(path, scheme)
    assert found.decode(found.encode(found.names)) == found.names
    assert found.allowed_transitions().shape == (len(found) + 2,) * 2


def tagged(path, random):
    kind = random.choice(["conll", "conll", "conllu", "json"])
    for sentence in read_tagged(
        path,
        kind,
        token_column=random.choice([0, 1]),
        read_tags=kind == "json" or random.random() < 0.5,
        separator=random.choice([None, "\t", " "]),
        encoding=random.choice(["utf-8", "utf-8", "latin-1", "utf-16"]),
    ):
        assert all(sentence.tokens) and len(sentence.tags) in (0, len(sentence.tokens))


def labeled(path, random):
    kind = random.choice(["tab", "csv", "tsv", "json"])
    empty = random.choice(["error", "skip", "keep"])
    encoding = random.choice(["utf-8", "utf-8", "latin-1", "utf-16"])
    for example in read_labeled(path, kind, empty_texts=empty, encoding=encoding):
        assert example.label.strip() == example.label != ""
        (example.text + example.label).encode("utf-8")


def corpus(path, random):
    if random.random() < 0.5:
        assert "" not in count_tokens(path, forbidden=["<S>"])
        return
    for texts in read_texts(path, 2):
        assert len(texts) <= 2


FORMATS = [
    text_file("vocabulary.txt", vocabulary, ["vocabulary"]),
    text_file("vocab.txt", lambda path, random: read_pieces(path), ["pieces"]),
    text_file("tags.txt", tag_list, ["tags"]),
    text_file("tagged sentences", tagged, ["conll", "columns", "conllu", "sentences"]),
    text_file("labeled texts", labeled, ["tab", "csv", "records"]),
    text_file("corpus", corpus, ["corpus"]),
]


def vector_files(folder):
    """Returns the same vectors in word2vec's text and binary formats, and in GloVe's."""
    rows = np.random.default_rng(0).normal(size=[len(TOKENS), 3]).astype("<f4")
    plain = "".join(f"{t} {' '.join(map(str, row))}\n" for t, row in zip(TOKENS, rows, strict=True))
    header = f"{len(TOKENS)} 3\n"
    binary = b"".join(t.encode() + b" " + r.tobytes() for t, r in zip(TOKENS, rows, strict=True))
    return plain.encode(), (header + plain).encode(), header.encode() + binary


def vectors(ready, random, folder):
    data, ending = random.choice(ready), random.choice(["txt", "bin", "txt.gz", "bin.gz"])
    data = mutated(data, random)
    path = folder / f"case.{ending}"
    path.write_bytes(gzip.compress(data, 1, mtime=0) if ending.endswith("gz") else data)
    try:
        found = WordVectors.read(path, TOKENS, missing_std=random.choice([0.0, 0.1]))
    finally:
        path.unlink()
    assert np.isfinite(found.matrix).all() and len(found.found) == len(TOKENS)
    return True


FORMATS.append(Format("word vectors", 6_000, vector_files, vectors, quick=True))


def array_files(folder):
    """Returns a NumPy array of word vectors, and its words."""
    np.save(folder / "ready.npy", np.random.default_rng(0).normal(size=[len(TOKENS), 3]))
    data = (folder / "ready.npy").read_bytes()
    (folder / "ready.npy").unlink()
    return data, "".join(f"{token}\n" for token in TOKENS).encode()


def arrays(ready, random, folder):
    path, words = folder / "case.npy", folder / "case.txt"
    path.write_bytes(mutated(ready[0], random))
    words.write_bytes(mutated(ready[1], random) if random.random() < 0.3 else ready[1])
    try:
        found = WordVectors.read(path, TOKENS)
    finally:
        path.unlink()
        words.unlink()
    assert np.isfinite(found.matrix).all() and len(found.found) == len(TOKENS)
    return True


FORMATS.append(Format("arrays of word vectors", 3_000, array_files, arrays, quick=True))
