"""TextModel: a trained tagger or classifier with all there is between a string and its answer."""

import os
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from tfreps.data import SequenceBatches
from tfreps.models import Classifier, HMMTagger, Tagger
from tfreps.runs.bert_loading import check_size, least, max_length
from tfreps.runs.run_folder import RunFolder
from tfreps.text import TagSet, TokenIndexer
from tfreps.text.bert import read_tokenizer
from tfreps.text.bert.piece_indexer import PieceIndexer, check_room, piece_texts
from tfreps.text.tokenizers import tokenize_texts

PROGRAMS = "train-tagger", "train-classifier", "train-hmm"
BATCH_TOKENS = 4096


class TaggedTokens(NamedTuple):
    """The answer of a tagger to one sentence: a tag and its probability for each token."""

    tags: list[str]
    confidences: list[float]


class ClassifiedText(NamedTuple):
    """The answer of a classifier to one text: the likeliest label, and all probabilities."""

    label: str
    probabilities: dict[str, float]


class TextModel:
    """What a run folder of a tagger or classifier holds, ready to be asked.

    Made by `TextModel.open`. Raw text is cut as it was in training.

    Args:
        model: `Tagger`, `HMMTagger` or `Classifier`.
        indexer: `tfreps.text.TokenIndexer`, or of a BERT `PieceIndexer`, as in training.
        tokens: str. How raw text is cut, see `tfreps.text.tokenize`; "bert": as its tokeniser
            cuts words.
        max_length: int or None. Texts are cut after so many tokens (a classifier's only). A
            BERT's tokens are pieces, start and separator among them.

    Attributes:
        names: list of str. The tags or labels in the order of their ids.
        is_tagger: bool.
        num_cut: int. Texts that were cut to `max_length` so far.
    """

    def __init__(self, model, indexer, tokens="spaces", max_length=None):
        self.model, self.indexer = model, indexer
        self.tokenizer = getattr(indexer, "tokenizer", None)  # of a BERT
        self.tokens = self.tokenizer if tokens == "bert" else tokens
        self.max_length = max_length
        self.is_tagger = not isinstance(model, Classifier)
        self.names = model.tags if self.is_tagger else model.labels
        self.scheme = model.scheme if self.is_tagger else None
        self.num_cut = 0

    @classmethod
    def open(cls, path: str | os.PathLike) -> "TextModel":
        """Loads a run folder of `train-tagger`, `train-classifier` or `train-hmm`.

        Raises:
            ValueError: it is none, or what is in it does not fit together.
        """
        run = RunFolder.open(path, PROGRAMS)
        model = run.load_model()
        if not isinstance(model, Tagger | HMMTagger | Classifier):
            raise ValueError(f"{path} holds a {type(model).__name__}, no tagger or classifier.")
        check_names(run, model)
        options = run.options
        tokens, longest = options.get("tokens", "spaces"), options.get("max_length")
        if run.tokenizer_path.exists():
            tokenizer = read_tokenizer(run.tokenizer_path)
            check_size(_bert(model), tokenizer, path)
            indexer = PieceIndexer(tokenizer, words=not isinstance(model, Classifier))
            longest = least(longest, max_length(_bert(model), tokenizer))
            return cls(model, indexer, tokens, longest)
        vocabulary = run.vocabulary()
        check_table(run, model, vocabulary)
        indexer = TokenIndexer(
            vocabulary,
            lowercase=options.get("lowercase", False),
            digits_to_zero=options.get("digits_to_zero", False),
            max_characters=num_characters(model),
        )
        return cls(model, indexer, tokens, longest)

    def tokenize(self, texts: Sequence[str]) -> list[list[str]]:
        """Raw texts to tokens, cut as in training."""
        if self.tokenizer is not None and not self.is_tagger:
            tokens, num_cut = piece_texts(texts, self.tokenizer, self.max_length)
            self.num_cut += num_cut
            return tokens
        return tokenize_texts(texts, self.tokens)

    def cut_notice(self) -> str:
        """What to tell of the texts that were cut."""
        return f"{self.num_cut:,} texts were cut to {self.max_length} tokens, as in training."

    def batches(self, tokens, targets=None, **options) -> SequenceBatches:
        """The batches in which sentences or texts are looked at, shortest first."""
        options = {"batch_tokens": BATCH_TOKENS, "max_length": self.max_length, **options}
        return SequenceBatches(tokens, targets, self.indexer, **options)

    def tag(
        self,
        sentences: Sequence[Sequence[str]],
        places: Sequence[str] | None = None,
        **options,
    ) -> list[TaggedTokens]:
        """Tags sentences.

        Args:
            sentences: lists of tokens; may be empty.
            places: list of str. How an error calls each sentence; by default by its number.
            **options: of `SequenceBatches`, such as `vectors`.

        Returns:
            `TaggedTokens` of each.

        Raises:
            ValueError: a sentence has more pieces than a BERT has positions for.
        """
        if self.tokenizer is not None:
            check_room(sentences, self.tokenizer, self.max_length, places)
            options = {"max_length": None, **options}
        answers = []
        for tags, confidences, mask in self._rows(sentences, OUTPUTS_OF_TAGGERS, options):
            names = [self.names[tag] for tag in tags[mask]]
            answers.append(TaggedTokens(names, confidences[mask].tolist()))
        return answers

    def classify(self, texts: Sequence[Sequence[str]], **options) -> list[ClassifiedText]:
        """Classifies texts.

        Args:
            texts: lists of tokens; may be empty.
            **options: of `SequenceBatches`.

        Returns:
            `ClassifiedText` of each.
        """
        answers = []
        for label, probabilities in self._rows(texts, OUTPUTS_OF_CLASSIFIERS, options):
            shares = dict(zip(self.names, probabilities.tolist(), strict=True))
            answers.append(ClassifiedText(self.names[int(label)], shares))
        return answers

    def _rows(self, sentences, outputs, options):
        """The outputs for each sentence, in the order of the sentences."""
        if not sentences:
            return []
        given = options.get("vectors")
        if given is not None and not reads_vectors(self.model):
            raise ValueError(f"The model reads no stored vectors: leave {given} out.")
        if given is None and reads_vectors(self.model):
            raise ValueError(
                "The model reads vectors that `tfreps embed` computed before, and there are none "
                "for this text. Measure it with `tfreps evaluate --vectors`; to ask it about raw "
                "text, train with --elmo in place of --train-vectors."
            )
        batches, rows = self.batches(sentences, **options), []
        self.num_cut += batches.num_cut
        for features in batches.dataset():
            answer = self.model.predict_on_batch(features)
            rows += zip(*(np.asarray(answer[name]) for name in outputs), strict=True)
        return batches.in_order(rows)


OUTPUTS_OF_TAGGERS = "tags", "confidences", "mask"
OUTPUTS_OF_CLASSIFIERS = "labels", "probabilities"


def reads_vectors(model) -> bool:
    """Whether a model reads vectors that were computed before."""
    return getattr(_embedder(model), "vector_layers", 0) > 0


def num_characters(model) -> int | None:
    """Character ids per token that a model reads; None if it reads none."""
    embedder = _embedder(model)
    if getattr(embedder, "elmo", None) is not None:
        return embedder.elmo.bilm.max_characters
    return embedder.max_characters if getattr(embedder, "characters", None) else None


def check_names(run, model) -> None:
    """Raises a ValueError if a run's list of tags or labels is not the model's."""
    is_tagger = not isinstance(model, Classifier)
    word, path = ("tag", run.tags_path) if is_tagger else ("label", run.labels_path)
    own = model.tags if is_tagger else model.labels
    found = TagSet.read(path, word=word).names if path.exists() else list(own)
    if found != list(own):
        line = next(i for i, pair in enumerate(zip_longest(found, own), 1) if pair[0] != pair[1])
        raise ValueError(
            f"{path} holds {len(found)} {word}s, the model {len(own)}, and they differ from line "
            f"{line} on: that is another model's list. Put the original file back."
        )


def check_table(run, model, vocabulary) -> None:
    """Raises a ValueError if a vocabulary has another size than the model's table of tokens."""
    part = model if isinstance(model, HMMTagger) else _embedder(model)
    size = getattr(part, "vocabulary_size", None)
    if size is None and getattr(part, "elmo", None) is not None:
        size = part.elmo.bilm.vocabulary_size
    if size not in (None, len(vocabulary)):
        raise ValueError(
            f"{run.vocabulary_path} holds {len(vocabulary)} tokens, the model's table {size}: "
            "that is another model's vocabulary. Put the original file back."
        )


def _bert(model):
    """The BERT inside of a tagger's encoder, or a classifier's."""
    return getattr(model.encoder, "encoder", model.encoder)


def _embedder(model):
    """What makes vectors of tokens; an HMM has none."""
    encoder = getattr(model, "encoder", None)
    return getattr(encoder, "embedder", encoder)
