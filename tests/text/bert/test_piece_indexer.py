"""Pieces, words and texts to ids: the graph equals the Python tokenizer."""

import pytest
import tensorflow as tf

from tfreps._src.text.bert.piece_indexer import check_num_pieces, piece_texts
from tfreps.text import CharacterTokenizer, PieceIndexer, WordPieceTokenizer

SPECIALS = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "[PAD]"]  # padding is not 0
PIECES = WordPieceTokenizer([*SPECIALS, "run", "##s", "!", "a", "##a"])
CHARACTERS = CharacterTokenizer.from_texts(["房间很快 wifi"])
TEXTS = ["Runs a!", "", "\u200b", "aaaa x", "房 3"]


def test_pieces():
    features = PieceIndexer(PIECES)
    found = features(tf.constant([["[CLS]", "run", "##s", "[SEP]"], ["[CLS]", "[SEP]", "", ""]]))
    assert sorted(found) == ["mask", "token_ids"]
    assert found["token_ids"].numpy().tolist() == [[1, 5, 6, 2], [1, 2, 4, 4]]
    assert found["mask"].numpy().tolist() == [[True] * 4, [True, True, False, False]]
    assert found["token_ids"].dtype == tf.int32 and features.vocabulary_size == 10


def test_words():
    words = [["Runs!", "\u200b", "x" * 101], ["a" * 20, "", ""]]
    found = PieceIndexer(PIECES, words=True)(tf.constant(words))
    ids = found["piece_ids"].numpy()
    assert ids.shape == (2, 3, 20) and found["piece_ids"].dtype == tf.int32
    assert ids[0, :, :4].tolist() == [[5, 6, 7, 4], [0, 4, 4, 4], [0, 4, 4, 4]]
    assert ids[1, 0].tolist() == [8] + [9] * 19 and (ids[1, 1:] == 4).all()
    assert found["token_ids"].numpy().tolist() == [[5, 0, 0], [8, 4, 4]]
    assert found["mask"].numpy().tolist() == [[True] * 3, [True, False, False]]
    for empty in (tf.zeros([2, 0], tf.string), tf.constant([["", ""]])):
        found = PieceIndexer(PIECES, words=True)(empty)
        assert found["piece_ids"].shape == (*empty.shape, 1)
        assert (found["piece_ids"].numpy() == 4).all() and not found["mask"].numpy().any()


@pytest.mark.parametrize("tokenizer", [PIECES, CHARACTERS], ids=["pieces", "characters"])
@pytest.mark.parametrize("longest", [None, 3, 5])
def test_texts_are_as_their_pieces(tokenizer, longest):
    features = PieceIndexer(tokenizer)
    rows, num_truncated = piece_texts(TEXTS, tokenizer, longest)
    whole = piece_texts(TEXTS, tokenizer)[0]
    assert num_truncated == sum(len(row) > (longest or 99) for row in whole)
    width = max(map(len, rows))
    expected = features(tf.constant([row + [""] * (width - len(row)) for row in rows]))
    found = features.build_inputs(tf.constant(TEXTS), longest)
    for name in ("token_ids", "mask"):
        assert found[name].numpy().tolist() == expected[name].numpy().tolist()
    for text, row in zip(TEXTS, rows, strict=True):
        ids = tokenizer.build_inputs(
            tokenizer.text_to_ids(text), max_length=longest, too_long="truncate"
        )[0]
        assert tokenizer.pieces_to_ids(row) == ids


@pytest.mark.few(1)
@pytest.mark.parametrize("words", [False, True])
def test_with_an_operation_of_tensorflow_text(tmp_path, words):
    pytest.importorskip("tensorflow_text")
    features = PieceIndexer(PIECES, words)
    fast = features.with_vocabulary_file(tmp_path / "v.txt", core_ops=False)
    assert fast.graph.table is None and (tmp_path / "v.txt").read_text().startswith("[UNK]\n")
    calls = [lambda f: f.build_inputs(tf.constant(TEXTS)), lambda f: f(tf.constant([TEXTS]))]
    for call in calls:
        expected, found = call(features), call(fast)
        for name in expected:
            assert found[name].numpy().tolist() == expected[name].numpy().tolist()


@pytest.mark.parametrize(
    "tokenizer", [CHARACTERS, WordPieceTokenizer(PIECES.vocabulary, split_chinese=False)]
)
def test_what_tensorflow_text_cannot_cut(tmp_path, tokenizer):
    with pytest.raises(ValueError, match="`core_ops=False` does not apply .* only WordPiece"):
        PieceIndexer(tokenizer).with_vocabulary_file(tmp_path / "v.txt", core_ops=False)
    assert not list(tmp_path.iterdir())


def test_a_length_without_room_for_pieces():
    with pytest.raises(ValueError, match="leave room for text alongside 2 special tokens; got 2"):
        piece_texts(TEXTS, PIECES, 2)


def test_room_for_sentences_of_words():
    sentences = [["a", "runs"], ["a" * 99, "\u200b"]]
    check_num_pieces(sentences, PIECES, 102)
    check_num_pieces(sentences, PIECES, None)
    with pytest.raises(ValueError, match=r"Sentence 1 .*: the model .* at most 99 .* got 100: 'a"):
        check_num_pieces(sentences, PIECES, 101)
    with pytest.raises(ValueError, match="^b, line 3: the model accepts at most 99 "):
        check_num_pieces(sentences, PIECES, 101, ["b, line 1", "b, line 3"])
