import json
import weakref

from tfreps._src.data.lm.lm_streams import LMStream
from tfreps._src.data.lm.sentence_slices import Corpus
from tfreps._src.data.lm.word_rows import WordRows
from tfreps.text import Vocabulary

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])


def open_stream(path, reverse=False, snapshot=None):
    corpus = Corpus([str(path)], False, 0, 1, False, 1 << 20)
    words, blocks = WordRows(VOCABULARY), weakref.WeakValueDictionary()
    return LMStream(corpus, VOCABULARY, words, blocks, 2, 3, reverse, snapshot)


def test_batches_and_snapshots(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a b x a b\nb y\na\n")
    stream = open_stream(path)
    rows, targets = stream.next_batch()
    assert rows.tolist() == [[0, 3, 4], [0, 4, 6]]  # x is word 5, y word 6
    assert targets.tolist() == [[3, 4, 2], [4, 2, 1]]
    snapshot = json.loads(json.dumps(stream.snapshot()()))
    assert snapshot == {"position": [0, 0, 0, 0, 1, 0], "used": 9, "rows": [["x", 3, 4], []]}
    for same in (stream, open_stream(path, snapshot=snapshot)):
        rows, targets = same.next_batch()
        assert rows.tolist() == [[5, 3, 4], [0, 3, 0]]
        assert targets.tolist() == [[3, 4, 1], [3, 1, -1]]
        assert same.next_batch() is None and same.next_batch() is None


def test_reverse(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a b x\nb\n")
    rows, targets = open_stream(path, reverse=True).next_batch()
    assert rows.tolist() == [[1, 5, 4], [1, 4, 0]]
    assert targets.tolist() == [[2, 4, 3], [4, 0, -1]]
