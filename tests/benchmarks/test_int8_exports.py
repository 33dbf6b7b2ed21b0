"""The benchmark of int8 weights: its scores of taggers, and a run on small models."""

import re

import pytest

from benchmarks import int8_exports
from tests.exported_models import TAGS, WORDS
from tfreps.data import TaggedSentence
from tfreps.inference import TextBiLM, TextTagger
from tfreps.models import BiLM, Tagger, TokenEmbedder
from tfreps.text import TokenIndexer


class Program:
    about = {"scheme": "bio"}

    def __call__(self, texts):
        assert texts == [["Ada", "Lovelace", "saw", "Rome"], ["Oslo"]]
        span = {"type": "PER", "start": 0, "end": 2}
        short = {"type": "PER", "start": 0, "end": 1}
        return [
            {"tags": ["B-PER", "I-PER", "O", "O"], "spans": [span]},
            {"tags": ["B-PER"], "spans": [short]},
        ]


def test_the_scores_of_a_tagger():
    """One of two predicted spans is right, and three are true; three of five tags are right."""
    ada = ["Ada", "Lovelace", "saw", "Rome"], ["B-PER", "I-PER", "O", "B-LOC"]
    sentences = [TaggedSentence(*row, "f", 1) for row in (ada, (["Oslo"], ["B-LOC"]))]
    assert int8_exports.scores(Program(), sentences) == "F1 0.4000, tags 0.6000"


def make_tagger(options):
    indexer = TokenIndexer.from_sentences([[*WORDS, *map(str, range(300))]])
    return TextTagger(Tagger(TokenEmbedder(indexer.vocabulary_size, 64), TAGS), indexer)


@pytest.mark.slow
def test_small_models(tmp_path, monkeypatch, capsys):
    pytest.importorskip("onnxruntime")
    bilm = BiLM(filters=[[1, 64]], units=64, projection_dim=64, num_layers=1)
    models = {"bilm": lambda options: TextBiLM(bilm), "tagger": make_tagger}
    monkeypatch.setattr(int8_exports, "MODELS", models)
    tagged = tmp_path / "test.conll"
    tagged.write_text("Ada B-PER\nlives O\nin O\nLondon B-LOC\n\n", encoding="utf-8")
    assert int8_exports.main(["--repeats", "1", "--tagged", str(tagged)]) == 0
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    rows = [line.strip("| ").split(" | ") for line in table[1:]]
    assert [row[:2] for row in rows] == [
        [name, kind] for name in models for kind in ("float32", "int8")
    ]
    assert all(float(rows[place + 1][2]) <= float(rows[place][2]) for place in (0, 2))
    assert float(rows[1][-1].removeprefix("cosine ")) > 0.99
    assert re.fullmatch(r"tags \d\.\d{4}", rows[3][-1])
