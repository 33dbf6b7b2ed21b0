import weakref

import numpy as np
import pytest

from tfreps._src.data.lm.sentence_slices import Block, Corpus, Position, SentenceSlices
from tfreps._src.data.lm.word_rows import WordRows
from tfreps.text import Vocabulary

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])


def test_block_takes_sentences_in_any_order():
    block = Block(np.array([3, 4, 5, -1, -1, 6, 7, -1], np.int32))
    assert block.positions.tolist() == [4, 1, 3]
    assert block.take(np.array([0, 1, 2]), False).tolist() == [3, 4, 5, -1, -1, 6, 7, -1]
    assert block.take(np.array([2, 0]), False).tolist() == [6, 7, -1, 3, 4, 5, -1]
    assert block.take(np.array([0, 1, 2]), True).tolist() == [5, 4, 3, -1, -1, 7, 6, -1]
    assert block.take(np.array([1, 2]), True).tolist() == [-1, 7, 6, -1]


def slices(tmp_path, reverse=False, position=None, words=None, blocks=None, **options):
    corpus = {"shuffle": False, "seed": 0, "passes": 1, "skip_blank": False, "block_bytes": 8}
    files = sorted(map(str, tmp_path.iterdir()))
    return SentenceSlices(
        Corpus(files, **{**corpus, **options}),
        WordRows(VOCABULARY) if words is None else words,
        weakref.WeakValueDictionary() if blocks is None else blocks,
        reverse,
        position or Position(),
    )


@pytest.fixture
def shards(tmp_path):
    (tmp_path / "1.txt").write_text("a a a a\nb\n\na b\n")
    (tmp_path / "2.txt").write_text("b b b")
    return tmp_path


def test_every_place_is_a_beginning(shards, monkeypatch):
    monkeypatch.setattr("tfreps._src.data.lm.sentence_slices._POSITIONS_PER_SLICE", 1)
    everything = [(position, rows.tolist()) for position, rows in slices(shards, passes=2)]
    assert everything[:5] == [
        (Position(0, 0, 0, 0, 1, 0), [3, 3, 3, 3, -1]),
        (Position(0, 0, 1, 8, 2, 0), [4, -1]),
        (Position(0, 0, 1, 8, 2, 1), [-1]),
        (Position(0, 0, 1, 8, 2, 2), [3, 4, -1]),
        (Position(0, 1, 0, 0, 1, 0), [4, 4, 4, -1]),
    ]
    assert [position.pass_number for position, _ in everything] == [0] * 5 + [1] * 5
    for number, (position, _) in enumerate(everything):
        rest = [(p, rows.tolist()) for p, rows in slices(shards, position=position, passes=2)]
        assert rest == everything[number:]


def test_both_directions_share_a_block(shards):
    words, blocks = WordRows(VOCABULARY), weakref.WeakValueDictionary()
    forward = slices(shards, False, words=words, blocks=blocks)
    backward = slices(shards, True, words=words, blocks=blocks)
    for _ in zip(forward, backward, strict=True):
        assert forward.block is backward.block and len(blocks) <= 2


def test_no_sentence(shards):
    with pytest.raises(ValueError, match="no sentence in .*1.txt"):
        (shards / "1.txt").write_text("\n \n")
        (shards / "2.txt").write_text("")
        list(slices(shards, skip_blank=True))
