"""Tiny models for every public class of tfreps.models, as `tfreps.load` returns them."""

import keras
import numpy as np

import tfreps
from tests import tiny_bert, tiny_run
from tests.convert.many_langs_fixture import FOLDER
from tfreps.inference import TextBert, TextBiLM, TextClassifier, TextEmbedder, TextTagger
from tfreps.models import (
    BiGRUEncoder,
    BiLSTMEncoder,
    Classifier,
    Elmo,
    HMMTagger,
    LinearEncoder,
    PieceEncoder,
    SentenceEmbedder,
    SLSTMEncoder,
    Tagger,
    TextCNN,
    TokenEmbedder,
    TransformerEncoder,
)
from tfreps.text import PieceIndexer, TokenIndexer

WORDS = ["Ada", "lives", "in", "London", "."]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
LABELS = ["bad", "good", "so-so"]


def indexer():
    return TokenIndexer.from_sentences([WORDS], max_characters=12)


def embedder(width=6):
    size = indexer().vocabulary_size
    return TokenEmbedder(size, width, characters="cnn", max_characters=12)


def transformer():
    return TransformerEncoder(embedder(), hidden_dim=8, num_layers=2, num_heads=2)


def make_model(kind):
    """Returns a model that reads tokens."""
    size = indexer().vocabulary_size
    return {
        "crf": lambda: Tagger(BiLSTMEncoder(embedder(), 5), TAGS, "bio"),
        "gru": lambda: Tagger(BiGRUEncoder(embedder(), 5, num_layers=2), TAGS, "bio"),
        "softmax": lambda: Tagger(SLSTMEncoder(embedder(), 5, 2), TAGS, "bio", use_crf=False),
        "plain": lambda: Tagger(embedder(), ["NOUN", "VERB"]),
        "window": lambda: Tagger(LinearEncoder(size, 5, num_buckets=64), TAGS, "bio"),
        "hmm": lambda: HMMTagger(size, TAGS, "bio"),
        "cnn": lambda: Classifier(TextCNN(embedder(), 7), LABELS, "pooled_output"),
        "attention": lambda: Classifier(embedder(), LABELS[:2], "attention"),
        "transformer": lambda: Classifier(transformer(), LABELS, "mean"),
        "embedder": lambda: SentenceEmbedder(
            embedder(), ["max", "mean_sqrt"], [{"units": 3, "activation": "tanh"}], normalize=True
        ),
    }[kind]()


def make_trained(kind):
    """Returns a model with random weights that are large enough for distinct outputs."""
    keras.utils.set_random_seed(3)
    model = make_model(kind)
    for weight in model.trainable_weights:
        weight.assign(
            2.0 * np.asarray(weight) + 0.1 * np.random.default_rng(1).normal(size=weight.shape)
        )
    kinds = {Classifier: TextClassifier, SentenceEmbedder: TextEmbedder}
    answering = kinds.get(type(model), TextTagger)
    return answering(model, indexer(), tokens="words", max_length=4 if kind == "cnn" else None)


def make_bert(kind):
    """Returns a classifier ("characters", "pieces") or a tagger ("words") on a BERT."""
    words = ["房", "间", "hotels", "the", "dog"]
    cut = tiny_bert.characters(*words) if kind == "characters" else tiny_bert.pieces(*words)
    bert = tiny_bert.make_encoder(cut, pooler=False)
    if kind != "words":
        model = Classifier(bert, ["bad", "good"], "mean_max")
        return TextClassifier(model, PieceIndexer(cut), tokens="bert", max_length=24)
    model = Tagger(PieceEncoder(bert, cut.start_id, cut.separator_id), TAGS, "bio")
    return TextTagger(model, PieceIndexer(cut, words=True), tokens="bert", max_length=24)


def of_bilm(model):
    return TextBiLM(model, tiny_run.VOCABULARY)


def of_bert(tokenizer, wrap=lambda encoder: encoder):
    return TextBert(wrap(tiny_bert.make_encoder(tokenizer)), tokenizer)


def pretrainer(encoder):
    from tfreps.models import BertPretrainer

    return BertPretrainer(encoder)


# Maps each class to a function that returns a loaded model that is of this class or contains one.
MAKERS = {
    "BertEncoder": lambda: of_bert(tiny_bert.pieces("the", "dog", "naïve")),
    "BertPretrainer": lambda: of_bert(tiny_bert.characters("the dog 你好"), pretrainer),
    "BiGRUEncoder": lambda: make_trained("gru"),
    "BiLM": lambda: of_bilm(tiny_run.make_pretrainer().bilm),
    "BiLMPretrainer": lambda: of_bilm(tiny_run.make_pretrainer()),
    "BiLSTMEncoder": lambda: make_trained("crf"),
    "Classifier": lambda: make_trained("attention"),
    "Elmo": lambda: of_bilm(Elmo(tiny_run.make_pretrainer().bilm)),
    "HMMTagger": lambda: make_trained("hmm"),
    "ManyLangsBiLM": lambda: tfreps.load(FOLDER / "words"),
    "PieceEncoder": lambda: make_bert("words"),
    "SentenceEmbedder": lambda: make_trained("embedder"),
    "SLSTMEncoder": lambda: make_trained("softmax"),
    "Tagger": lambda: make_trained("plain"),
    "TextCNN": lambda: make_trained("cnn"),
    "TokenEmbedder": lambda: make_trained("plain"),
    "TransformerEncoder": lambda: make_trained("transformer"),
    "LinearEncoder": lambda: make_trained("window"),
}
