"""Tests that functions of texts or tokens reject a single string and missing texts by name."""

import pytest

from tests.tiny_run import VOCABULARY, make_pretrainer
from tfreps._src.text.char_ids import token_rows
from tfreps.inference import TextBert, TextBiLM, TextClassifier, TextEmbedder, TextTagger
from tfreps.models import BertEncoder, Classifier, HMMTagger, SentenceEmbedder, TokenEmbedder
from tfreps.text import CharacterTokenizer, TokenIndexer, WordPieceTokenizer, batch_to_ids, tokenize

pytestmark = pytest.mark.usefixtures("eager_if_quick")

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]


@pytest.fixture(scope="module")
def readers():
    """One object of each class that reads texts."""
    indexer = TokenIndexer.from_sentences([["a", "text"]])
    pieces = WordPieceTokenizer(SPECIALS)
    return {
        "bilm": TextBiLM(make_pretrainer(), VOCABULARY),
        "tagger": TextTagger(HMMTagger(indexer.vocabulary_size, ["O"]), indexer),
        "classifier": TextClassifier(
            Classifier(TokenEmbedder(indexer.vocabulary_size, 4), ["a"]), indexer
        ),
        "bert": TextBert(BertEncoder(6, hidden_dim=4, num_layers=1, num_heads=2), pieces),
        "embedder": TextEmbedder(
            SentenceEmbedder(TokenEmbedder(indexer.vocabulary_size, 4)), indexer
        ),
        "pieces": pieces,
    }


TEXTS = {
    "encode of a biLM": lambda r: r["bilm"].encode("a text"),
    "encode of BERT": lambda r: r["bert"].encode("a text"),
    "tag": lambda r: r["tagger"].tag("a text"),
    "classify": lambda r: r["classifier"].classify("a text"),
    "tokenize of a tagger": lambda r: r["tagger"].tokenize("a text"),
    "tokenize of a classifier": lambda r: r["classifier"].tokenize("a text"),
    "tokenize": lambda r: tokenize("a text"),
    "build_batch of a tokenizer": lambda r: r["pieces"].build_batch("a text"),
    "from_texts": lambda r: CharacterTokenizer.from_texts("a text"),
}
TOKENS = {
    "encode of tokens": lambda r: list(r["bilm"].sentence_encoder().encode("a text")),
    "encode of untokenized texts": lambda r: list(r["bilm"].sentence_encoder().encode(["a text"])),
    "keep": lambda r: r["bilm"].sentence_encoder().cache_tokens("a text"),
    "batches": lambda r: r["tagger"].batches("a text"),
    "from_sentences": lambda r: TokenIndexer.from_sentences(["a text"]),
    "ids": lambda r: VOCABULARY.tokens_to_ids("a text"),
    "token_rows": lambda r: token_rows("a text"),
    "batch_to_ids": lambda r: batch_to_ids(["a text"]),
}


@pytest.mark.parametrize("call", TEXTS.values(), ids=TEXTS)
def test_a_text_instead_of_a_list(call, readers):
    with pytest.raises(
        ValueError, match="list of texts; got the string 'a text'. Put it in a list"
    ):
        call(readers)


@pytest.mark.parametrize("call", TOKENS.values(), ids=TOKENS)
def test_a_text_instead_of_tokens(call, readers):
    with pytest.raises(ValueError, match="list|is the string 'a( text)?'"):
        call(readers)


@pytest.mark.slow
def test_one_text_is_called():
    """`encode` read 12 characters of this text as 12 texts; a call reads one text."""
    encode = TextBiLM(make_pretrainer(), VOCABULARY)
    assert encode("I have a dog").vectors.shape == (3, 4, 12)
    assert [v.shape for v in encode.encode(["I have a dog"])] == [(3, 4, 12)]


NAMES = ["bilm", "tagger", "classifier", "bert", "embedder"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_list(readers, name):
    with pytest.raises(ValueError, match="`texts?` must be a list of texts; got 5."):
        readers[name](5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("missing", [None, float("nan"), b"a"])
def test_a_missing_text(readers, name, missing):
    """Tables read by pandas have NaN in empty cells."""
    with pytest.raises(ValueError, match=rf"`texts?\[1\]` must be a string; got {missing!r}."):
        readers[name](["a", missing])


def test_an_embedder_reads_raw_texts(readers):
    with pytest.raises(ValueError, match=r"must be raw texts, not lists of tokens; got \['a'\]"):
        readers["embedder"](["a", ["a"]])
    assert readers["embedder"](text for text in ["a", "a text"]).vectors.shape == (2, 4)


def test_a_prompt_of_a_model_without_prompts(readers):
    with pytest.raises(ValueError, match="the model has no prompts; got 'query'"):
        readers["embedder"](["a"], "query")
