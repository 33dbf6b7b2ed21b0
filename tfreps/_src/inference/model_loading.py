"""load_model: opens a Keras model and returns an object that reads raw text with it."""

import logging
import os
import pathlib
from collections.abc import Iterable
from typing import Any, TypeVar

from tfreps._src.convert.bilm_files import find_weights
from tfreps._src.inference.loaded_model import LoadedModel
from tfreps._src.inference.text_bert import TextBert
from tfreps._src.inference.text_bilm import TextBiLM
from tfreps._src.inference.text_classifier import TextClassifier
from tfreps._src.inference.text_embedder import TextEmbedder
from tfreps._src.inference.text_many_langs import TextManyLangs
from tfreps._src.inference.text_tagger import TextTagger
from tfreps._src.models.precision import bfloat16_is_slow
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.presets.sources import cached_path
from tfreps._src.runs.kinds import locate
from tfreps._src.runs.opening import BERTS, BILMS, CLASSIFIERS, EMBEDDERS, TAGGERS, Opened
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps._src.text.token_indexer import TokenIndexer

Loaded = TypeVar("Loaded", bound=LoadedModel)


def load_model(source: str | os.PathLike[str], **options: Any) -> LoadedModel:
    """Opens a Keras model, with options of `tfreps.load`."""
    given = {name: value for name, value in options.items() if value is not None}
    weights_file = given.get("weights_file")
    with locate(source) as found:
        if weights_file is not None:
            given["weights_file"] = cached_path(find_weights(found.path, weights_file))
        opened = found.open_with_text(given)
        loaded = _reader_of(opened)
        loaded.run = opened.run
    if found.path != pathlib.Path(source):
        loaded.source = source
    _warn_if_slow(loaded.model, source)
    return loaded


def load_as(kind: type[Loaded], source: str | os.PathLike[str], **options: Any) -> Loaded:
    """Returns the result of `load_model`; raises a ValueError unless it is a `kind`."""
    found = load_model(source, **options)
    if not isinstance(found, kind):
        name = type(found.model).__name__
        raise ValueError(f"{source} contains {found.kind} ({name}); expected {kind.kind}.")
    return found


def _warn_if_slow(model: Any, source: str | os.PathLike[str]) -> None:
    """Logs a warning if a model computes in bfloat16 on a CPU without native bfloat16."""
    parts: Iterable[Any] = model._all_parts() if isinstance(model, WholeModel) else [model]
    if bfloat16_is_slow() and any(part.compute_dtype == "bfloat16" for part in parts):
        logging.getLogger(__name__).warning(
            "%s computes in bfloat16, as it did in training, but this CPU has no native "
            "bfloat16 instructions. On a CPU with AVX2 only, encoding in bfloat16 took 1.75 times "
            "as long as in float32.",
            source,
        )


def _reader_of(opened: Opened) -> LoadedModel:
    """Returns the object that reads raw text with an opened model."""
    if opened.reading is None:
        return LoadedModel(opened.model, opened.path)
    return next(make for kinds, make in READERS.items() if isinstance(opened.model, kinds))(opened)


def _tagger(opened: Any) -> TextTagger:
    model, path, reading, _ = opened
    indexer = _indexer(opened, words=True)
    return TextTagger(model, indexer, reading.tokens, reading.max_length, path)


def _classifier(opened: Any) -> TextClassifier:
    model, path, reading, _ = opened
    return TextClassifier(model, _indexer(opened), reading.tokens, reading.max_length, path)


def _embedder(opened: Any) -> TextEmbedder:
    model, path, reading, _ = opened
    how = reading.tokens, reading.max_length, reading.prompts, reading.default_prompt
    return TextEmbedder(model, _indexer(opened), *how, reading.similarity_fn_name, path)


def _bilm(opened: Any) -> TextBiLM:
    model, path, reading, _ = opened
    if reading.word_characters is not None:
        return TextManyLangs(model, reading.word_characters, reading.initial_state, path)
    return TextBiLM(model, reading.vocabulary, reading.initial_state, path)


def _bert(opened: Any) -> TextBert:
    return TextBert(opened.model, opened.reading.tokenizer, opened.path)


def _indexer(opened: Any, words: bool = False) -> TokenIndexer | PieceIndexer:
    """Returns the indexer of an opened model; `words` is an argument of `PieceIndexer`."""
    reading = opened.reading
    if reading.tokenizer is not None:
        return PieceIndexer(reading.tokenizer, words)
    return TokenIndexer(
        reading.vocabulary,
        **reading.normalization,
        max_characters=opened.model._num_characters,
        word_characters=reading.word_characters,
    )


READERS = {
    TAGGERS: _tagger,
    CLASSIFIERS: _classifier,
    EMBEDDERS: _embedder,
    BILMS: _bilm,
    BERTS: _bert,
}
