"""Legal sequences are exactly the tags of all possible arrangements of spans."""

import itertools

import numpy as np
import pytest

from tests import seqeval_oracle
from tfreps._src.text.tags import tag_schemes

SCHEMES = [scheme for scheme in tag_schemes.SCHEMES if scheme]


def layouts(length, types):
    """Yields all arrangements of spans and gaps: lists of `(type or None, start, end)`."""
    if length == 0:
        yield []
        return
    for width in range(1, length + 1):
        for kind in types if width > 1 else (None, *types):
            for rest in layouts(length - width, types):
                moved = [(k, a + width, b + width) for k, a, b in rest]
                yield [(kind, 0, width), *moved]


def write(layout, scheme):
    """Returns the tags of an arrangement, token by token."""
    tags, before = [], None
    for kind, start, end in layout:
        width = end - start
        if kind is None:
            letters = ["O"]
        elif scheme == "bio":
            letters = ["B"] + ["I"] * (width - 1)
        elif scheme == "iob1":
            letters = ["B" if before == kind else "I"] + ["I"] * (width - 1)
        else:
            begin, inside, last, single = seqeval_oracle.LETTERS[scheme]
            letters = [single] if width == 1 else [begin] + [inside] * (width - 2) + [last]
        tags += [letter if letter == "O" else f"{letter}-{kind}" for letter in letters]
        before = kind
    return tags


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [0, 1, 2, 4])
def test_legal_paths_are_the_tags_of_all_layouts(scheme, length):
    names = seqeval_oracle.inventory(scheme, ["X", "Y"])
    allowed = tag_schemes.allowed_transitions(names, scheme)
    start, end = len(names), len(names) + 1
    paths = {
        tuple(names[i] for i in path)
        for path in itertools.product(range(len(names)), repeat=length)
        if all(allowed[a, b] for a, b in itertools.pairwise((start, *path, end)))
    }
    assert paths == {tuple(write(layout, scheme)) for layout in layouts(length, ["X", "Y"])}


def test_shape_and_boundaries():
    allowed = tag_schemes.allowed_transitions(["B-X", "O", "I-X"], "bio")
    assert allowed.shape == (5, 5) and allowed.dtype == bool
    # Nothing precedes the start or follows the end.
    assert not allowed[:, 3].any() and not allowed[4].any()
    assert allowed[3].tolist() == [True, True, False, False, True]


def test_plain_tags_and_a_single_tag():
    assert tag_schemes.allowed_transitions(["NN", "VB"], None)[:2, :2].all()
    assert tag_schemes.allowed_transitions(["O"], "bioes").astype(int).tolist() == [
        [1, 0, 1],
        [1, 0, 1],
        [0, 0, 0],
    ]


@pytest.mark.parametrize(
    "tags, expected",
    [
        (["O", "B-X", "I-X"], "bio"),
        (["B", "I"], "bio"),
        (["O", "I-X", "I-Y"], "iob1"),
        (["O", "B-X", "E-X"], "bioes"),
        (["S-X", "O"], "bioes"),
        (["O", "B-X", "L-X"], "bilou"),
        (["U-X"], "bilou"),
        (["O", "B-X", "M-X", "E-X"], "bmes"),
        (["B", "M", "E", "S"], "bmes"),
        (["O"], None),
        ([], None),
        (["NN", "VB", "S"], None),
        (["S", "O"], None),
        (["B", "I", "NN"], None),
        (["B-X", "NN"], None),
        (["B-", "I-X"], None),
        (["B-X", "M-X", "I-X"], None),
    ],
)
def test_detect_scheme(tags, expected):
    assert tag_schemes.detect_scheme(tags) == expected


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("tag", ["X", "X-B", "B-", "", "O-X", "B_X", "b-X", "-X", "BX"])
def test_tags_outside_a_scheme(scheme, tag):
    with pytest.raises(ValueError, match="not valid in the scheme"):
        tag_schemes.tag_parts(tag, scheme)
    with pytest.raises(ValueError, match="`tags` must match `scheme`; the tag"):
        tag_schemes.allowed_transitions(["O", tag], scheme)


def test_letters_of_other_schemes_are_refused():
    for scheme, tag in [("bio", "E-X"), ("bioes", "M-X"), ("bmes", "I-X"), ("bilou", "S-X")]:
        with pytest.raises(ValueError, match=f"{tag}.* not valid in the scheme '{scheme}'"):
            tag_schemes.tag_parts(tag, scheme)


def test_unknown_schemes():
    with pytest.raises(ValueError, match="`scheme` must be one of .*'bio'.*got 'BIO'"):
        tag_schemes.allowed_transitions(["O"], "BIO")
    with pytest.raises(ValueError, match="must be one of .*'bmes'; got 'BIO'"):  # not None
        tag_schemes.tag_parts("O", "BIO")
    with pytest.raises(ValueError, match="Plain tags"):
        tag_schemes.span_rules(["NN"], None)
    with pytest.raises(ValueError, match="`mode` must be"):
        tag_schemes.span_rules(["O"], "bio", "loose")


def test_span_rules_know_types():
    rules = tag_schemes.span_rules(["O", "I-Y", "B-X", "I-X"], "bio")
    assert rules.type_names == ("X", "Y")
    np.testing.assert_array_equal(rules.types, [-1, 1, 0, 0, -1])
    assert rules.starts.shape == rules.continues.shape == rules.closes.shape == (5, 5)
