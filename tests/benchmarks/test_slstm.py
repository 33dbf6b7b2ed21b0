import pytest

from benchmarks import gemm, slstm


@pytest.fixture
def small(monkeypatch):
    for name, size in {"UNITS": 6, "STEPS": 2, "BATCH": 4, "LENGTH": 5}.items():
        monkeypatch.setattr(slstm, name, size)
    monkeypatch.setattr(gemm, "gemm", lambda warm_up=0.0: 100.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train-32x30-float32", "encode-32x30-bfloat16-paper"])
def test_measures_a_row(small, name):
    result = slstm.measure(name, repeats=4)
    assert result["row"] == name and result["gemm_gflops"] == 100
    assert result["normalised"] == pytest.approx(result["tokens_per_second"] / 100, abs=1e-2)
    slstm.print_table([result])


@pytest.mark.slow
def test_training_lowers_the_loss(small):
    step = slstm.make_train("paper", "float32")
    losses = [float(step()) for _ in range(30)]
    assert losses[-1] < losses[0]


def test_every_row_of_the_issue_is_there():
    goals = {
        (task, precision): goal
        for task, form, precision, goal, _ in slstm.ROWS.values()
        if form == "article"
    }
    assert goals == {
        ("train", "float32"): 10.0,
        ("train", "mixed_bfloat16"): 12.5,
        ("encode", "float32"): 30.0,
        ("encode", "mixed_bfloat16"): 43.0,
    }
    assert (slstm.UNITS, slstm.STEPS, slstm.BATCH, slstm.LENGTH) == (300, 7, 32, 30)
