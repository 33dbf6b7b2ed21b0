"""Model cards have metadata that YAML reads, and name what is not known."""

import yaml

from tfreps._src.files.model_card import measured, model_card

RESULTS = {
    "training": {"tokens": 9},
    "validation": {
        "accuracy": 0.875,
        "confusion": [[1]],
        "spans": {"micro": {"precision": 0.5, "recall": 0.25, "f1": 1 / 3, "support": 4}},
    },
    "test": {"perplexity": 12.5, "accuracy": None},
}


def test_a_full_card():
    card = model_card(
        "ner: a tagger",
        "A tagger.",
        task="token-classification",
        tags=["tfreps", "crf"],
        training={"units": 12, "scheme": "bio"},
        data={"train": ["a.conll", "b.conll"]},
        metrics=measured(RESULTS),
    )
    _, front, text = card.split("---\n", 2)
    assert yaml.safe_load(front) == {
        "license": "unknown",
        "library_name": "tfreps",
        "pipeline_tag": "token-classification",
        "tags": ["tfreps", "crf"],
    }
    assert "# ner: a tagger\n\nA tagger.\n" in text
    assert "| train | `a.conll`, `b.conll` |" in text
    assert '| `units` | `12` |\n| `scheme` | `"bio"` |' in text
    assert (
        "| validation | accuracy | 0.8750 |\n| validation | span precision (micro) | 0.5000 |"
        in text
    )
    assert "| validation | span f1 (micro) | 0.3333 |\n| test | perplexity | 12.5000 |" in text


def test_an_unfinished_run():
    card = model_card("x", "A model.", training={"l2": 0.0}, unfinished="It stopped.")
    assert "## Training\n\nIt stopped.\n\n| option | value |" in card
    assert "| `l2` | `0.0` |" in card


def test_what_is_not_known_is_said():
    text = model_card("x", "A model.")
    assert yaml.safe_load(text.split("---")[1])["license"] == "unknown"
    assert "Not recorded" in text and "Not measured." in text and "Not stated." in text


def test_metrics_of_results():
    assert measured(RESULTS) == {
        "validation": {
            "accuracy": 0.875,
            "span precision (micro)": 0.5,
            "span recall (micro)": 0.25,
            "span f1 (micro)": 1 / 3,
        },
        "test": {"perplexity": 12.5},
    }
    assert measured({}) == {} and measured({"validation": "none"}) == {}
