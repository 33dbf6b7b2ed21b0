"""Spans compared with seqeval, conversions in both directions, errors with their locations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import seqeval_oracle
from tests.text.tags.test_tag_schemes import SCHEMES, layouts, write
from tfreps import tags


@pytest.mark.parametrize("mode", tags.MODES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_spans_are_those_of_seqeval(scheme, mode):
    for sentence in seqeval_oracle.random_sentences(scheme, 1000, seed=1):
        expected = seqeval_oracle.spans(sentence, scheme, mode)
        assert sorted(tags.spans(sentence, scheme, mode)) == expected, sentence


@settings(max_examples=80)
@given(st.data())
def test_spans_are_those_of_seqeval_whatever_the_tags(data):
    scheme, mode = data.draw(st.sampled_from(SCHEMES)), data.draw(st.sampled_from(tags.MODES))
    names = st.sampled_from(seqeval_oracle.inventory(scheme))
    sentence = data.draw(st.lists(names, max_size=12))
    expected = seqeval_oracle.spans(sentence, scheme, mode)
    assert sorted(tags.spans(sentence, scheme, mode)) == expected


@pytest.mark.parametrize(
    "scheme, sentence, strict, conlleval",
    [
        ("bio", "O I-X I-X", [], [("X", 1, 3)]),
        ("bio", "B-X I-Y", [("X", 0, 1)], [("X", 0, 1), ("Y", 1, 2)]),
        ("iob1", "I-X B-X I-X O I-X", [("X", 0, 1), ("X", 1, 3), ("X", 4, 5)], None),
        ("iob1", "O B-X O", [], [("X", 1, 2)]),
        ("bioes", "B-X O", [], [("X", 0, 1)]),
        ("bioes", "B-X I-X E-X S-X", [("X", 0, 3), ("X", 3, 4)], None),
        ("bmes", "E-X B-X E-X", [("X", 1, 3)], [("X", 0, 1), ("X", 1, 3)]),
        ("bilou", "B-X L-Y U-Z", [("Z", 2, 3)], [("X", 0, 1), ("Y", 1, 2), ("Z", 2, 3)]),
        ("bio", "", [], []),
    ],
)
def test_spans_by_hand(scheme, sentence, strict, conlleval):
    sentence = sentence.split()
    assert tags.spans(sentence, scheme) == strict
    assert tags.spans(sentence, scheme, "conlleval") == (strict if conlleval is None else conlleval)


@pytest.mark.parametrize("to_scheme", SCHEMES)
@pytest.mark.parametrize("from_scheme", SCHEMES)
def test_every_layout_converts(from_scheme, to_scheme):
    for layout in layouts(4, ["X", ""]):
        source, target = (
            [tag.removesuffix("-") for tag in write(layout, scheme)]
            for scheme in (from_scheme, to_scheme)
        )
        assert tags.convert_scheme(source, from_scheme, to_scheme) == target
        found = [span for span in layout if span[0] is not None]
        for mode in tags.MODES:
            assert tags.spans(source, from_scheme, mode) == found
        assert tags.illegal_transitions(source, from_scheme) == []


def test_illegal_sequences_are_not_converted():
    message = "'I-Y' follows 'B-X' \\(token 2 of 2\\)"
    with pytest.raises(ValueError, match=message):
        tags.convert_scheme(["B-X", "I-Y"], "bio", "bioes")
    with pytest.raises(ValueError, match="the end of the sentence follows 'B-X'"):
        tags.convert_scheme(["B-X"], "bioes", "bio")
    with pytest.raises(ValueError, match="'I-X' follows the start of the sentence"):
        tags.convert_scheme(["I-X"], "bio", "iob1")


def test_spans_that_cannot_be_written():
    for found in [("X", 0, 0)], [("X", 1, 4)], [("X", 0, 2), ("Y", 1, 3)], [("X", -1, 1)]:
        with pytest.raises(ValueError, match="is empty, overlaps another span, or extends beyond"):
            tags.spans_to_tags(found, 3, "bio")


def test_illegal_transitions_are_the_forbidden_ones():
    for scheme in SCHEMES:
        names = seqeval_oracle.inventory(scheme)
        allowed = tags.allowed_transitions(names, scheme)
        for sentence in seqeval_oracle.random_sentences(scheme, 200, seed=2):
            ids = [len(names), *map(names.index, sentence), len(names) + 1]
            pairs = zip(ids[:-1], ids[1:], strict=True)
            expected = [i for i, (a, b) in enumerate(pairs) if not allowed[a, b]]
            assert tags.illegal_transitions(sentence, scheme) == expected
    assert tags.illegal_transitions(["NN", "I-X"], None) == []


def test_check_counts_and_names_the_place():
    assert tags.check(["I-X", "O", "I-Y"], "bio") == 2
    assert tags.check(["whatever", "I-X"], None) == 0
    with pytest.raises(ValueError, match="train.txt, line 8: the tag 'M-X' is not valid .*'bioes'"):
        tags.check(["O", "M-X"], "bioes", "train.txt", line=[7, 8])
    with pytest.raises(ValueError, match="train.json, line 3, token 2: the tag"):
        tags.check(["O", "M-X"], "bioes", "train.json", line=3)
    with pytest.raises(ValueError, match="token 1: expected a tag; got ''"):
        tags.check([""], None)
    with pytest.raises(ValueError, match="Token 2 of 2: the tag 'X'"):
        tags.spans(["O", "X"], "bio")


def test_resume_ner_is_legal(tfreps_data):
    path = tfreps_data / "resume_ner" / "test.char.bmes"
    sentences = [
        [line.split()[1] for line in block.splitlines()]
        for block in path.read_text(encoding="utf-8").strip().split("\n\n")
    ]
    assert len(sentences) == 477
    assert tags.detect_scheme(tag for s in sentences for tag in s) == "bmes"
    assert sum(tags.check(sentence, "bmes") for sentence in sentences) == 0
