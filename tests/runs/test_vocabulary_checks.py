"""Vocabularies, tokenizers, tags and labels must belong to their model."""

import types

import pytest

from tests.tiny_run import VOCABULARY, make_pretrainer
from tfreps._src.runs.vocabulary_checks import (
    check_class_names,
    check_pieces,
    check_token_table,
    check_vocabulary,
)
from tfreps.models import Elmo, HMMTagger, Tagger, TokenEmbedder
from tfreps.text import Vocabulary, WordPieceTokenizer


def test_names(tmp_path):
    path = tmp_path / "tags.txt"
    check_class_names(path, ["O", "B-X"], "tag")  # the file does not exist
    path.write_text("O\nB-X\n")
    check_class_names(path, ["O", "B-X"], "tag")
    with pytest.raises(
        ValueError, match="the model has 2 tags, the file has 2 tags, .* from line 2"
    ):
        check_class_names(path, ["O", "B-Y"], "tag")
    with pytest.raises(
        ValueError, match="the model has 3 labels, the file has 2 labels, .* differ"
    ):
        check_class_names(path, ["O", "B-X", "I-X"], "label")


def test_tables(tmp_path):
    vocabulary = Vocabulary("<S> </S> <UNK> the".split())
    words = TokenEmbedder(vocabulary_size=4, embedding_dim=2)
    for model in Tagger(words, ["A"]), HMMTagger(4, ["A"]):
        check_token_table(tmp_path / "vocabulary.txt", vocabulary, model)
    with pytest.raises(ValueError, match="vocabulary.txt has 4 tokens, but the .* has 5, so"):
        check_token_table(tmp_path / "vocabulary.txt", vocabulary, HMMTagger(5, ["A"]))


WORDS = {"vocabulary_size": len(VOCABULARY)}
SHORTER = Vocabulary(VOCABULARY.tokens[:-1], source="other.txt")
SWAPPED = Vocabulary(["</S>", "<S>", *VOCABULARY.tokens[2:]], source="other.txt")
RENAMED = Vocabulary([*VOCABULARY.tokens[:-1], "inn"], source="other.txt")


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "options, vocabulary, message",
    [
        ({}, SHORTER, f"m has {len(VOCABULARY)} tokens, but other.txt has {len(SHORTER)}"),
        ({}, SWAPPED, "other.txt has '</S>' on line 1, where m has a different token"),
        ({}, RENAMED, f"other.txt has 'inn' on line {len(RENAMED)}, where m has"),
        (WORDS, SHORTER, f"m has {len(VOCABULARY)} tokens"),
        (WORDS, SWAPPED, "m has <S> and </S> on lines 1 and 2 .* has them on lines 2 and 1"),
    ],
)
def test_the_vocabulary_of_another_model(options, vocabulary, message):
    model = make_pretrainer(**options)
    check_vocabulary(model, VOCABULARY)
    check_vocabulary(model, None)
    with pytest.raises(ValueError, match=message):
        check_vocabulary(model, vocabulary, "m")
    if options:
        for of_words in (model.bilm, Elmo(model.bilm)):
            with pytest.raises(ValueError, match=message):
                check_vocabulary(of_words, vocabulary, "m")


PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abc"]


@pytest.mark.parametrize("spare, fits", [(-1, False), (0, True), (1024, True), (1025, False)])
def test_a_table_may_be_rounded_up_but_not_to_many_times_the_vocabulary(spare, fits):
    tokenizer = WordPieceTokenizer(PIECES)
    size = len(tokenizer.vocabulary)
    encoder = types.SimpleNamespace(vocabulary_size=size + spare, padding_id=tokenizer.padding_id)
    if fits:
        check_pieces(encoder, tokenizer, "published")
        return
    with pytest.raises(ValueError, match=f"published has .* tokens .* has {size} tokens .*another"):
        check_pieces(encoder, tokenizer, "published")
