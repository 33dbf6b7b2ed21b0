"""Tests that steps are counted when they begin, over calls of fit, and restored."""

from tests.callbacks.line import fit, make_model
from tfreps._src.callbacks.counted_steps import CountedSteps


class Seen(CountedSteps):
    """Callback that records the step of another callback at the end of each step."""

    def __init__(self, other):
        super().__init__()
        self.other, self.pairs = other, []

    def on_train_batch_end(self, batch, logs=None):
        self.pairs.append((self.step, self.other.step))


def test_callbacks_agree_in_any_order():
    other = CountedSteps()
    first, last = Seen(other), Seen(other)
    model = make_model()
    for _ in range(2):
        fit(model, 2, [first, other, last])
    assert first.pairs == last.pairs == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_the_number_comes_back():
    counted = CountedSteps()
    counted.restore_state({"step": 7})
    counted.on_train_batch_begin(0)
    assert counted.state() == {"step": 8}
