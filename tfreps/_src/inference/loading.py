"""load: opens a trained or published model and returns an object that reads raw text with it."""

import logging
import os
import pathlib
from collections.abc import Iterable
from typing import Any, Literal, TypeVar

from tfreps._src.convert.bilm_files import find_weights
from tfreps._src.inference.loaded_model import LoadedModel
from tfreps._src.inference.text_bert import TextBert
from tfreps._src.inference.text_bilm import TextBiLM
from tfreps._src.inference.text_classifier import TextClassifier
from tfreps._src.inference.text_embedder import TextEmbedder
from tfreps._src.inference.text_many_langs import TextManyLangs
from tfreps._src.inference.text_tagger import TextTagger
from tfreps._src.models.any_bilm import InitialState
from tfreps._src.models.precision import bfloat16_is_slow
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.presets.sources import cached_path
from tfreps._src.runs.kinds import locate
from tfreps._src.runs.opening import BERTS, BILMS, CLASSIFIERS, EMBEDDERS, TAGGERS, Opened
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps._src.text.tags.tag_schemes import Scheme
from tfreps._src.text.token_indexer import TokenIndexer
from tfreps._src.text.vocabulary import Vocabulary

Loaded = TypeVar("Loaded", bound=LoadedModel)


def load(
    source: str | os.PathLike[str],
    *,
    weights_file: str | os.PathLike[str] | None = None,
    vocabulary: str | os.PathLike[str] | Vocabulary | None = None,
    initial_state: InitialState | None = None,
    scheme: Scheme | Literal["none"] | None = None,
    num_layers: int | None = None,
) -> LoadedModel:
    """Opens a trained model and returns an object that applies it to raw texts.

    `source` is a local path, or one of the following, which is downloaded first: a name in
    `tfreps.presets.list_presets()`, such as `"elmo_original"`; a path on the Hugging Face Hub,
    `"hf://owner/repository[@revision][/folder]"`; a URL; or a path that TensorFlow reads, such as
    `"gs://bucket/folder"` (see `tfreps.presets.cached_path`).

    The class of the returned object depends on the files:

    - A run folder of `train-tagger` or `train-hmm`: `TextTagger`, which returns tags and spans.
    - A run folder of `train-classifier`: `TextClassifier`, which returns labels.
    - A run folder of a biLM (`pretrain-elmo`, `convert`), an `options.json` from bilm-tf or
      AllenNLP, or a folder with both `options.json` and HDF5 weights: `TextBiLM`, which returns
      the vectors of all layers.
    - A bilm-tf training folder (TensorFlow 1): `TextBiLM`; its model includes the softmax.
    - A folder of ELMoForManyLangs, or a run folder of such a biLM: `TextManyLangs`, which is a
      `TextBiLM`.
    - A run folder of `pretrain-bert`: `TextBert`, which returns vectors and attention.
    - A folder of sentence-transformers: `TextEmbedder`, which returns one vector per text.
    - A published BERT model from Google or Hugging Face, as a folder or a checkpoint: `TextBert`,
      or, with a tag or label head, `TextTagger` or `TextClassifier`.
    - A folder that `save_to_preset` wrote: the class above that matches its model, or
      `LoadedModel`, which cannot read text, if the folder lacks the vocabulary or tokenizer that
      the model needs.
    - A `.keras` file: `LoadedModel`.

    All classes have the attributes `model` (the Keras model) and `source` (the path, name or
    address). All except `LoadedModel` are in `tfreps.inference`.

    Args:
        source: str or path-like. Path, name or address of the model.
        weights_file: str or path-like. Path or address of the HDF5 file with the weights for an
            `options.json`. The path may be relative to the folder of `options.json`. If `None`,
            the weights are expected in this folder. Defaults to `None`.
        vocabulary: `tfreps.text.Vocabulary`, or the path of its file. Required for a bilm-tf
            training folder. A published biLM that reads token ids needs it to read texts, unless
            `source` is a folder that contains a `vocabulary.txt`. Defaults to `None`.
        initial_state: str. LSTM state that a biLM starts from, as defined in `BiLM`: `"zero"`,
            `"warm"` or `"carry"`. Texts cannot be encoded with `"carry"`. If `None`, `"zero"` is
            used. Defaults to `None`.
        scheme: str. Tag scheme of a published tagger, as defined in `tfreps.tags`. If
            `"none"` or `None`, the tags have no spans. A model whose files do not name its task is
            loaded as a tagger if a scheme, which may be `"none"`, is given. Defaults to `None`.
        num_layers: int. Number of layers to load from a BERT model without a label or tag head. If
            `None`, all layers are loaded. Defaults to `None`.

    Returns:
        `TextTagger`, `TextClassifier`, `TextEmbedder`, `TextBiLM`, `TextManyLangs`, `TextBert` or
        `LoadedModel`.

    Raises:
        ValueError: If the model cannot be found or downloaded, if the source contains no model, if
            the model is damaged or its files do not belong together, or if an option is invalid or
            does not apply to the model.
        OSError: If the disk is full.

    Example:
    >>> import tfreps
    >>> tfreps.models.BiLM(filters=[[1, 8]], units=8, projection_dim=4).save_pretrained("elmo_mine")
    >>> tfreps.load("elmo_mine", initial_state="warm")("I have a dog")
    TextVectors(tokens=['I', 'have', 'a', 'dog'], vectors=float32 [3, 4, 8])
    """
    options = {
        "weights_file": weights_file,
        "vocabulary": vocabulary,
        "initial_state": initial_state,
        "scheme": scheme,
        "num_layers": num_layers,
    }
    given = {name: value for name, value in options.items() if value is not None}
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
    """Returns the result of `load`; raises a ValueError if it is not an instance of `kind`."""
    found = load(source, **options)
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
    return TextEmbedder(model, _indexer(opened), *how, path)


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
