import numpy as np
import pytest

from benchmarks.review_lengths import QUANTILES, padded_batches, random_texts


def test_lengths_are_distributed_as_the_quantiles_say():
    texts = random_texts(4000)
    lengths = sorted(map(len, texts))
    assert np.quantile(lengths, np.linspace(0, 1, 21)) == pytest.approx(np.array(QUANTILES), abs=1)
    assert texts == random_texts(4000) and list(map(len, texts)) != lengths
    assert min(map(min, texts)) >= 5 and max(map(max, texts)) < 30000


def test_batches_are_padded_to_their_longest():
    texts = random_texts(70)
    batches = padded_batches(texts)
    assert [len(batch) for batch in batches] == [32, 32, 6]
    for number, batch in enumerate(batches):
        own = texts[32 * number : 32 * number + 32]
        assert {len(row) for row in batch} == {max(map(len, own))}
        assert [[i for i in row if i] for row in batch] == own
