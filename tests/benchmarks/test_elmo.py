import pytest

from benchmarks import elmo, gemm
from tfreps.models.sizes import ELMO


@pytest.fixture
def small(monkeypatch):
    sizes = {"filters": [[1, 8], [2, 8]], "num_highways": 1, "units": 16, "projection_dim": 4}
    monkeypatch.setitem(ELMO, "elmo_small", sizes)
    monkeypatch.setattr(gemm, "gemm", lambda warm_up=0.0: 100.0)
    monkeypatch.setattr(elmo, "TRAIN_VOCABULARY", 300)
    monkeypatch.setattr(elmo, "TRAIN_NEGATIVES", 50)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small-32x25-bfloat16", "train-small-128x20-float32"])
def test_measures_a_row(small, name):
    result = elmo.measure(name, repeats=4)
    assert result["row"] == name and result["gemm_gflops"] == 100
    assert ("distinct" in result) == name.startswith("small")
    assert result["normalised"] == pytest.approx(result["tokens_per_second"] / 100, abs=1e-2)


def test_every_row_of_the_issue_is_there():
    tasks = {(task, size, rows, length) for task, size, rows, length, _, _ in elmo.ROWS.values()}
    assert len(elmo.ROWS) == 9
    assert tasks == {
        ("embed", "elmo_original", 32, 25),
        ("embed", "elmo_original", 128, 25),
        ("embed", "elmo_original", 1, 25),
        ("embed", "elmo_small", 32, 25),
        ("train", "elmo_small", 128, 20),
    }


def test_text_repeats_its_tokens():
    words = elmo.tokens()
    assert len(words) > 100_000 and len(set(words[:800])) < 500


def test_sentences_follow_each_other():
    batches = elmo.texts(2, 5, 3)  # of 3 tokens and two boundaries
    words = [word for batch in batches for sentence in batch for word in sentence]
    assert [len(batch) for batch in batches] == [2] * 3 and words == elmo.tokens()[:18]
