import numpy as np
import pytest

from docs.by_hand import hmm
from tests.models.test_hmm import learned, random_sentences, tables
from tfreps._src.models import hmm_sentences
from tfreps._src.models.hmm_counts import flat
from tfreps._src.models.hmm_sentences import batches, even_lengths


def rows_of(found):
    return [row for rows, _ in found for row in rows]


@pytest.mark.parametrize("even", [False, True])
def test_every_sentence_is_in_one_batch(even, monkeypatch):
    monkeypatch.setattr(hmm_sentences, "MAX_TOKENS", 40)
    monkeypatch.setattr(hmm_sentences, "COMPILED_TOKENS", 40)
    sentences = random_sentences(30, longest=25)
    flat_ids, lengths = flat(sentences)
    found = list(batches(flat_ids, lengths, even))
    assert sorted(rows_of(found)) == [n for n, one in enumerate(sentences) if len(one)]
    for rows, ids in found:
        assert ids.size <= max(40, ids.shape[1])
        for row, padded in zip(rows, ids, strict=False):
            assert padded[padded > 0].tolist() == sentences[row]
            assert padded[: len(sentences[row])].all()
        assert not ids[len(rows) :].any()


def test_even_batches_have_few_shapes():
    flat_ids, lengths = flat(random_sentences(300, longest=100))
    shapes = {ids.shape for _, ids in batches(flat_ids, lengths, even=True)}
    assert {length for _, length in shapes} <= set(even_lengths(100))
    assert len(shapes) == len({length for _, length in shapes}) <= 9


def test_even_lengths_grow():
    assert even_lengths(1) == [8]
    assert even_lengths(50) == [8, 12, 16, 24, 32, 48, 64]


def test_no_sentences_no_batches():
    assert list(batches(*flat([]))) == []
    assert list(batches(*flat([[], []]), even=True)) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_decodes_as_the_loop_does(jit_compile, monkeypatch):
    monkeypatch.setattr(hmm_sentences, "MAX_TOKENS", 60)
    model = learned(use_end=True)
    sentences = [[], *random_sentences(20, longest=11), [3], []]
    found = model.decode_sentences(sentences, jit_compile)
    for tags, sentence in zip(found, sentences, strict=True):
        assert tags.dtype == np.int32
        assert tags.tolist() == (hmm.viterbi(sentence, *tables(model))[0] if sentence else [])
