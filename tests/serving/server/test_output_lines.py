"""Tests the formatting of outputs as text."""

from tfreps.serving.server.output_lines import as_lines, width


def test_tags_in_columns():
    outputs = {
        "tokens": ["王", "é", ""],
        "tags": ["B-PER", "O", ""],
        "confidences": [0.987, 0.5, 0.0],
        "sequence_len": 2,
        "num_spans": 1,
        "span_types": ["PER", ""],
        "span_start_chars": [1, 0],
        "span_end_chars": [4, 0],
    }
    assert as_lines(" 王\u200b é", outputs) == [
        " 王\u200b é",
        "  王  B-PER  98.7%",
        "  é   O      50.0%",
        "  PER: 王\u200b ",
    ]


def test_tags_without_scheme_or_tokens():
    outputs = {"tokens": ["a"], "tags": ["X"], "sequence_len": 1}
    assert as_lines("a", outputs) == ["a", "  a  X"]
    assert as_lines("", {**outputs, "sequence_len": 0}) == [""]


def test_labels():
    outputs = {"label": "good", "probability": 0.75, "sequence_len": 3}
    assert as_lines("x", outputs) == ["x", "  good 75.0%"]
    outputs |= {"labels": ["bad", "good", "so"], "probabilities": [0.05, 0.75, 0.2]}
    assert as_lines("x", outputs) == ["x", "  good 75.0%", "  so 20.0%", "  bad 5.0%"]


def test_anything_else():
    outputs = {"y": [[0.123456789, 1.0, 2, 3, 4, 5]], "n": 3, "name": "x", "none": [], "few": [1]}
    assert as_lines("x", outputs) == [
        "x",
        "  few: [1] 1",
        "  n: 3",
        "  name: x",
        "  none: [0] ",
        "  y: [1, 6] 0.123457 1 2 3 4 ...",
    ]


def test_widths():
    assert [width(text) for text in ("ab", "王", "e\u0301", "")] == [2, 2, 1, 0]
