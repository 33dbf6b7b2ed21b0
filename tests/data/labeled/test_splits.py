from collections import Counter

import hypothesis
import pytest
from hypothesis import strategies

from tfreps.data import describe_labels, label_counts, stratified_split

LABELS = ["a"] * 50 + ["b"] * 31 + ["c"] * 19


def test_shares():
    rest, part = stratified_split(LABELS, 0.1)
    assert sorted(rest + part) == list(range(100)) and sorted(part) == part and sorted(rest) == rest
    # 5.0, 3.1 and 1.9: the label with the largest remainder gets the tenth example.
    assert Counter(LABELS[position] for position in part) == {"a": 5, "b": 3, "c": 2}


def test_seeds():
    first = stratified_split(LABELS, 0.2, seed=3)
    assert first == stratified_split(LABELS, 0.2, seed=3)
    assert first != stratified_split(LABELS, 0.2, seed=4)
    # Must never change: a seed in an old log has to give the same split.
    assert stratified_split(["a", "b"] * 5, 0.4, seed=1)[1] == [2, 4, 7, 9]


def test_every_example_is_taken_by_some_seed():
    taken = {position for seed in range(60) for position in stratified_split(LABELS, 0.1, seed)[1]}
    assert len(taken) > 95


@hypothesis.settings(max_examples=200)
@hypothesis.given(
    strategies.lists(strategies.integers(2, 30), min_size=1, max_size=6),
    strategies.floats(0.01, 0.99),
    strategies.integers(0, 5),
)
def test_properties(sizes, fraction, seed):
    labels = [label for label, size in enumerate(sizes) for _ in range(size)]
    rest, part = stratified_split(labels, fraction, seed)
    assert sorted(rest + part) == list(range(len(labels)))
    counts = Counter(labels[position] for position in part)
    for label, size in enumerate(sizes):
        assert 1 <= counts[label] < size
        assert abs(counts[label] - fraction * size) <= 1
    assert abs(len(part) - fraction * len(labels)) <= max(0.5, len(sizes)) + 1e-6


def test_a_class_with_one_example():
    labels = ["a", "a", "lone", "a"]
    with pytest.raises(ValueError, match="'lone' has only one example, number 2 .*`singletons`"):
        stratified_split(labels, 0.5)
    with pytest.raises(ValueError, match="'x' has only one .* number of such labels is 2"):
        stratified_split(["x", "y", "z", "z"], 0.5)
    for seed in range(5):
        rest, part = stratified_split(labels, 0.9, seed, singletons="keep")
        assert 2 in rest and len(part) == 2


def test_not_stratified():
    rest, part = stratified_split([0] * 10, 0.25)
    assert len(part) == 3 and len(rest) == 7


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((["a", "a"], 0.0), "`fraction` must be in .0, 1.; got 0.0"),
        ((["a", "a"], 1), "`fraction` must be"),
        ((["a"], 0.5), "`labels` must contain at least two examples to be split; got 1"),
        (([], 0.5), "`labels` must contain at least two examples to be split; got 0"),
        ((["a", "a"], 0.5, -1), "`seed` must be at least 0; got -1"),
        ((["a", "a"], 0.5, 0, "drop"), "`singletons` must be .* got 'drop'"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        stratified_split(*arguments)


def test_counts():
    assert list(label_counts(["b", "c", "a", "c", "b"]).items()) == [("b", 2), ("c", 2), ("a", 1)]


def test_description():
    text = describe_labels(["x"] * 1100 + ["rare", "z", "z"])
    assert text.splitlines() == [
        "1,103 examples of 3 labels:",
        "  x     1,100   99.7%",
        "  z         2    0.2%",
        "  rare      1    0.1%",
        "The most frequent label has 1100.0 times as many examples as the rarest. Always "
        "predicting",
        "'x' gives an accuracy of 99.7%.",
        "Warning: 1 label with only one example ('rare').",
        "Warning: the labels are imbalanced; evaluate with F1 instead of accuracy.",
    ]
    many = describe_labels([str(n) for n in range(30)] * 2, longest=3)
    assert "  and 54 examples of the other 27 labels" in many and "Warning" not in many
    assert "accuracy" not in describe_labels(["0"] * 101 + ["1"] * 100)
    with pytest.raises(ValueError, match="at least one example"):
        describe_labels([])
