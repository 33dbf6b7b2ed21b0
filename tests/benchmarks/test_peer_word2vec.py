"""Tests the call of gensim, and that the file is written atomically."""

import sys
import types

from benchmarks import peer_word2vec


class FakeWord2Vec:
    """Writes its arguments."""

    def __init__(self, **options):
        self.options, self.wv = options, self

    def save_word2vec_format(self, path, binary):
        assert path.endswith(".tmp") and not binary
        with open(path, "w") as file:
            names = "corpus_file", "vector_size", "epochs", "min_count", "sg", "negative"
            file.write(" ".join(str(self.options[name]) for name in names))


def test_skip_gram_of_the_text(tmp_path, monkeypatch):
    models = types.ModuleType("gensim.models")
    models.Word2Vec = FakeWord2Vec
    monkeypatch.setitem(sys.modules, "gensim", types.ModuleType("gensim"))
    monkeypatch.setitem(sys.modules, "gensim.models", models)
    assert peer_word2vec.main(["in.txt", str(tmp_path / "out.txt"), "--dim", "7"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "in.txt 7 5 3 1 5"
