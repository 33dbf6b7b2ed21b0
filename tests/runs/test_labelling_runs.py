"""Files in the run folder of a tagger or classifier must belong to its model."""

import pytest

from tfreps.models import HMMTagger, Tagger, TokenEmbedder
from tfreps.runs.labelling_runs import check_names, check_table
from tfreps.text import Vocabulary


def test_names(tmp_path):
    path = tmp_path / "tags.txt"
    check_names(path, ["O", "B-X"], "tag")  # the file does not exist
    path.write_text("O\nB-X\n")
    check_names(path, ["O", "B-X"], "tag")
    with pytest.raises(ValueError, match="it has 2 tags, the model has 2, .* from line 2"):
        check_names(path, ["O", "B-Y"], "tag")
    with pytest.raises(ValueError, match="it has 2 labels, the model has 3, and they differ"):
        check_names(path, ["O", "B-X", "I-X"], "label")


def test_tables(tmp_path):
    vocabulary = Vocabulary("<S> </S> <UNK> the".split())
    words = TokenEmbedder(vocabulary_size=4, embedding_dim=2)
    for model in Tagger(words, ["A"]), HMMTagger(4, ["A"]):
        check_table(tmp_path / "vocabulary.txt", vocabulary, model)
    with pytest.raises(ValueError, match="vocabulary.txt has 4 tokens, but the .* has 5, so"):
        check_table(tmp_path / "vocabulary.txt", vocabulary, HMMTagger(5, ["A"]))
