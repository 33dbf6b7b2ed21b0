"""Trained models with all there is between a string and its answer."""

import numpy as np
import pytest

from tests import known_models, tiny_bert
from tests.known_models import TEXTS, WORDS, softmax
from tests.tiny_run import make_run
from tfreps.inference.text_model import TextModel, num_characters, reads_vectors
from tfreps.models import Classifier, PieceEncoder, Tagger, TokenEmbedder
from tfreps.runs.run_folder import RunFolder
from tfreps.text.bert import write_tokenizer


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    run = known_models.tagger_run(tmp_path_factory.mktemp("tagger") / "run", lowercase=False)
    return TextModel.open(run.path)


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    run = known_models.classifier_run(tmp_path_factory.mktemp("c") / "run", max_length=3)
    return TextModel.open(run.path)


def test_what_it_is(tagger, classifier):
    assert (tagger.is_tagger, tagger.names, tagger.scheme) == (True, known_models.TAGS, "bio")
    assert (classifier.is_tagger, classifier.names) == (False, ["bad", "good"])
    assert classifier.scheme is None and classifier.max_length == 3


def test_raw_text_is_cut_as_in_training(tagger, classifier):
    assert tagger.tokenize(["Ada's  dog.", ""]) == [["Ada's", "dog."], []]
    assert classifier.tokenize(["Ada's dog."]) == [["Ada", "'", "s", "dog", "."]]


def test_tags_and_their_probabilities(tagger):
    sentences = [["Ada", "saw", "Rome"], [], ["slept"], ["Max", "saw", "Ada", "Ada"]]
    answers = tagger.tag(sentences)
    assert [answer.tags for answer in answers] == [
        ["B-PER", "O", "B-LOC"],
        [],
        ["O"],
        ["O", "O", "B-PER", "B-PER"],  # Max is unknown: all the same, and O comes first
    ]
    for tokens, answer in zip(sentences, answers, strict=True):
        expected = [softmax(WORDS.get(token, [0, 0, 0])).max() for token in tokens]
        np.testing.assert_allclose(answer.confidences, expected, atol=1e-6)
    assert tagger.tag([]) == []


@pytest.mark.slow
def test_many_sentences_keep_their_order(tagger):
    rng = np.random.default_rng(0)
    sentences = [list(rng.choice(list(WORDS), rng.integers(0, 40))) for _ in range(60)]
    answers = tagger.tag(sentences, batch_tokens=100)
    for tokens, answer in zip(sentences, answers, strict=True):
        names = [known_models.TAGS[int(np.argmax(WORDS[token]))] for token in tokens]
        assert answer.tags == names


def test_labels_and_their_probabilities(classifier):
    texts = [["Ada", "saw"], ["Rome"], [], ["Ada", "Ada", "Ada", "Rome", "Rome"]]
    before = classifier.num_cut
    answers = classifier.classify(texts)
    assert classifier.num_cut == before + 1
    assert [answer.label for answer in answers] == ["bad", "good", "bad", "bad"]
    for tokens, answer in zip(texts, answers, strict=True):
        cut = tokens[:3]  # max_length
        mean = np.mean([TEXTS[token] for token in cut], axis=0) if cut else [0, 0]
        expected = softmax(mean)
        assert list(answer.probabilities) == ["bad", "good"]
        np.testing.assert_allclose(list(answer.probabilities.values()), expected, atol=1e-6)


@pytest.mark.slow
def test_lower_case_words_are_found_if_the_run_says_so(tmp_path):
    run = known_models.tagger_run(tmp_path / "run", lowercase=True)
    known_models.VOCABULARY.__class__("<S> </S> <UNK> ada rome saw slept".split()).write(
        run.vocabulary_path
    )
    assert TextModel.open(run.path).tag([["ADA", "Saw"]])[0].tags == ["B-PER", "O"]


def test_stored_vectors_are_neither_forgotten_nor_given_in_vain(tagger, classifier, tmp_path):
    with pytest.raises(ValueError, match="reads no stored vectors: leave a.hdf5 out"):
        tagger.tag([["Ada"]], vectors="a.hdf5")
    embedder = TokenEmbedder(vector_layers=2, vector_dim=3)
    model = TextModel(Tagger(embedder, ["A"]), classifier.features)
    assert reads_vectors(model.model) and not reads_vectors(classifier.model)
    with pytest.raises(ValueError, match="vectors that `tfreps embed` computed.*--vectors"):
        model.tag([["Ada"]])


def test_character_ids_that_a_model_reads():
    with_characters = TokenEmbedder(characters="cnn", max_characters=20)
    assert num_characters(Tagger(with_characters, ["A"])) == 20
    words = TokenEmbedder(vocabulary_size=9, embedding_dim=2)
    assert num_characters(Classifier(words, ["A"])) is None


def bert_run(path, kind, **options):
    """A run folder of an untrained tagger or classifier on a BERT with positions for 24."""
    tokenizer = tiny_bert.pieces("房", "间", "hotels")
    bert = tiny_bert.make_encoder(tokenizer, pooler=False)
    run = RunFolder.create(path, f"train-{kind}", options)
    if kind == "tagger":
        words = PieceEncoder(bert, tokenizer.start_id, tokenizer.separator_id)
        run.save_model(Tagger(words, ["A", "B"]))
    else:
        run.save_model(Classifier(bert, ["a", "b"]))
    write_tokenizer(tokenizer, run.tokenizer_path)
    return TextModel.open(path)


@pytest.mark.slow
def test_a_classifier_on_a_bert_reads_pieces(tmp_path):
    texts = ["房间hotels", "", "房" * 50, "x"]
    trained = bert_run(tmp_path / "run", "classifier", tokens="bert")
    rows = trained.tokenize(texts)
    assert rows[0] == ["[CLS]", "房", "间", "hote", "##ls", "[SEP]"]
    assert rows[1] == ["[CLS]", "[SEP]"] and rows[3] == ["[CLS]", "[UNK]", "[SEP]"]
    assert rows[2] == ["[CLS]", *["房"] * 22, "[SEP]"] and trained.max_length == 24
    together = [answer.probabilities["a"] for answer in trained.classify(rows)]
    alone = [trained.classify([row])[0].probabilities["a"] for row in rows]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert len(set(np.round(alone, 3))) == 4
    shorter = bert_run(tmp_path / "shorter", "classifier", tokens="bert", max_length=5)
    assert shorter.tokenize(texts)[0] == ["[CLS]", "房", "间", "hote", "[SEP]"]
    assert trained.num_cut == 1 and shorter.num_cut == 2
    assert shorter.cut_notice() == "2 texts were cut to 5 tokens, as in training."


@pytest.mark.slow
def test_a_tagger_on_a_bert_reads_words(tmp_path):
    trained = bert_run(tmp_path / "run", "tagger", tokens="words")
    sentences = trained.tokenize(["hotels 房间", "", "hotels"])
    assert sentences == [["hotels", "房间"], [], ["hotels"]]
    together = trained.tag(sentences)
    assert [len(answer.tags) for answer in together] == [2, 0, 1]
    for sentence, answer in zip(sentences, together, strict=True):
        alone = trained.tag([sentence])[0]
        np.testing.assert_allclose(answer.confidences, alone.confidences, atol=1e-6)
    with pytest.raises(ValueError, match="Sentence 1 .* expected at most 22 pieces, .* got 24"):
        trained.tag([["房"], ["hotels"] * 12])


def test_folders_of_other_runs(tmp_path, tagger):
    path, _ = make_run(tmp_path / "bilm")
    with pytest.raises(ValueError, match="is a run of `tfreps pretrain-elmo`; expected one of"):
        TextModel.open(path)
    with pytest.raises(ValueError, match="not a folder"):
        TextModel.open(tmp_path / "absent")
    run = RunFolder.create(tmp_path / "new", "train-tagger", {})
    with pytest.raises(ValueError, match="has not saved a model yet"):
        TextModel.open(run.path)
    run.save_model(TokenEmbedder(vocabulary_size=9, embedding_dim=2))
    with pytest.raises(ValueError, match="holds a TokenEmbedder, no tagger or classifier"):
        TextModel.open(run.path)
