"""load: opens a trained or published model for use on raw text."""

import logging
import os
import pathlib
from collections.abc import Callable
from typing import NamedTuple

from tfreps.convert.bert_files import is_checkpoint
from tfreps.convert.bilm_files import find_files, is_training_folder
from tfreps.files.json_files import read_json
from tfreps.inference.loaded_model import LoadedModel
from tfreps.inference.text_bert import TextBert
from tfreps.inference.text_bilm import TextBiLM
from tfreps.inference.text_classifier import TextClassifier
from tfreps.inference.text_tagger import TextTagger
from tfreps.models import (
    BertEncoder,
    BertPretrainer,
    BiLM,
    BiLMPretrainer,
    Classifier,
    Elmo,
    HMMTagger,
    Tagger,
)
from tfreps.models.precision import bfloat16_is_slow
from tfreps.presets import fetch, fetched
from tfreps.runs.bert_loading import (
    changed_encoder,
    has_vocabulary,
    least,
    max_length,
    published_tokenizer,
    run_tokenizer,
)
from tfreps.runs.bert_publishing import has_head, load_with_head
from tfreps.runs.bilm_continuation import continue_checkpoint
from tfreps.runs.bilm_runs import check_vocabulary, load_published_bilm
from tfreps.runs.labelling_runs import check_names, check_table
from tfreps.runs.preset_run import PROGRAM
from tfreps.runs.run_folder import OPTIONS, RunFolder, is_run_folder
from tfreps.text import TokenIndexer, Vocabulary
from tfreps.text.bert.piece_indexer import PieceIndexer


class Place(NamedTuple):
    """Kind of path that `load` accepts.

    Args:
        name: str. Name in error messages.
        is_here: function from a path to a bool, which is True if the path is of this kind.
        open: function from a path and a dict of the given options to a `LoadedModel`.
    """

    name: str
    is_here: Callable
    open: Callable


def load(
    path: str | os.PathLike,
    *,
    weights_file: str | os.PathLike | None = None,
    vocabulary: str | os.PathLike | Vocabulary | None = None,
    initial_state: str | None = None,
    scheme: str | None = None,
    num_layers: int | None = None,
) -> LoadedModel:
    """Opens a trained model and returns an object that applies it to raw texts.

    `path` is a local path, or one of the following, which is downloaded first: a name in
    `tfreps.presets.table()`, such as `"elmo_original"`; a path on the Hugging Face Hub,
    `"hf://owner/repository[@revision][/folder]"`; a URL; or a path that TensorFlow reads, such as
    `"gs://bucket/folder"` (see `tfreps.presets.fetch`).

    The class of the returned object depends on the files:

    - A run folder of `train-tagger` or `train-hmm`: `TextTagger`, which returns tags and spans.
    - A run folder of `train-classifier`: `TextClassifier`, which returns labels.
    - A run folder of a biLM (`pretrain-elmo`, `convert`), an `options.json` from bilm-tf or
      AllenNLP, or a folder with both `options.json` and HDF5 weights: `TextBiLM`, which returns
      the vectors of all layers.
    - A bilm-tf training folder (TensorFlow 1): `TextBiLM`; its model includes the softmax.
    - A run folder of `pretrain-bert`: `TextBert`, which returns vectors and attention.
    - A published BERT model from Google or Hugging Face, as a folder or a checkpoint: `TextBert`,
      or, with a tag or label head, `TextTagger` or `TextClassifier`.
    - A folder that `save_preset` wrote: the class above that matches its model, or `LoadedModel`,
      which cannot read text, if the folder lacks the vocabulary or tokenizer that the model needs.

    All classes have the attributes `model` (the Keras model) and `source` (the path, name or
    address). All except `LoadedModel` are in `tfreps.inference`.

    Args:
        path: str or path-like. Path, name or address of the model.
        weights_file: str or path-like. Path or address of the HDF5 file with the weights for an
            `options.json`. If `None`, the weights are expected next to the `options.json`. Defaults
            to `None`.
        vocabulary: `tfreps.text.Vocabulary`, or the path of its file. Required for a bilm-tf
            training folder. A published biLM that reads token ids needs it to read texts, unless
            `path` is a folder that contains a `vocabulary.txt`. Defaults to `None`.
        initial_state: str. LSTM state that a biLM starts from, as defined in `BiLM`: `"zero"`,
            `"warm"` or `"carry"`. Texts cannot be encoded with `"carry"`. If `None`, `"zero"` is
            used. Defaults to `None`.
        scheme: str. Tag scheme of a published tagger, as defined in `tfreps.text.tags`. If
            `"none"` or `None`, the tags have no spans. A model whose files do not name its task is
            loaded as a tagger if a scheme, which may be `"none"`, is given. Defaults to `None`.
        num_layers: int. Number of blocks to load from a BERT model without a label or tag head. If
            `None`, all blocks are loaded. Defaults to `None`.

    Returns:
        `TextTagger`, `TextClassifier`, `TextBiLM`, `TextBert` or `LoadedModel`.

    Raises:
        ValueError: If the model cannot be found or downloaded, if the path contains no model, if
            the model is damaged or its files do not belong together, or if an option is invalid or
            does not apply to the model.
        OSError: If there is no room on the disk for a download.

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
    with fetched(path) as local:
        if weights_file is not None:
            given["weights_file"] = fetch(weights_file)
        place = next((place for place in PLACES if place.is_here(local)), None)
        if place is None:
            expected = ", ".join(place.name for place in PLACES)
            raise ValueError(
                f"{path} contains no model that can be loaded. Expected one of: {expected}."
            )
        found = place.open(local, given)
    if local != pathlib.Path(path):
        found.source = path
    _warn_if_slow(found.model, path)
    return found


def load_as(kind: type[LoadedModel], path: str | os.PathLike, **options) -> LoadedModel:
    """Loads a model with `load` and checks its class.

    Args:
        kind: type. The expected class, such as `TextTagger`.
        path: str or path-like. Path, name or address of the model.
        **options: Options of `load`.

    Returns:
        An instance of `kind`.

    Raises:
        ValueError: If the loaded object is not an instance of `kind`, or if `load` raises a
            ValueError.
    """
    found = load(path, **options)
    if not isinstance(found, kind):
        name = type(found.model).__name__
        raise ValueError(f"{path} contains {found.kind} ({name}); expected {kind.kind}.")
    return found


def _warn_if_slow(model, path):
    """Logs a warning if a model computes in bfloat16 on a CPU without bfloat16 products."""
    layers = model._flatten_layers()
    if bfloat16_is_slow() and any(layer.compute_dtype == "bfloat16" for layer in layers):
        logging.getLogger(__name__).warning(
            "%s computes in bfloat16, as it did in training, but this CPU has no bfloat16 "
            "products. On a CPU with AVX2 only, encoding in bfloat16 took 1.75 times as long as in "
            "float32.",
            path,
        )


# Functions that test whether a path is of a certain kind.


def _is_training_folder(path):
    return is_training_folder(path) and _is_of_bilm_tf(path / OPTIONS)


def _is_published_bilm(path):
    is_file = path.is_file() and (path.suffix == ".json" or _is_of_bilm_tf(path))
    return is_file or any(_is_of_bilm_tf(file) for file in path.glob(f"*{OPTIONS}"))


def _is_of_bilm_tf(options_file):
    """Returns True if an options.json is from bilm-tf; run folders have a file of that name too."""
    try:
        return "lstm" in read_json(options_file)
    except ValueError:
        return False


# Functions that open each kind of path with the given options.


def _open_run(path, given):
    run = RunFolder.open(path)
    model = run.load_model()
    if run.program == PROGRAM and not _has_text(run, model):
        _check_options(path, "a model without a vocabulary", given)
        return LoadedModel(model, path)
    for kinds, open_model in MODELS.items():
        if isinstance(model, kinds):
            found = open_model(run, model, given)
            found.run = run
            return found
    expected = ", ".join(kind.__name__ for kinds in MODELS for kind in kinds)
    raise ValueError(f"{path} contains a {type(model).__name__}; expected one of: {expected}.")


def _has_text(run, model):
    """Returns True if a model can read raw text with the files in its folder."""
    if isinstance(model, BiLM | BiLMPretrainer | Elmo):
        return model.find(BiLM).vocabulary_size is None or run.vocabulary_path.exists()
    is_known = isinstance(model, tuple(kind for kinds in MODELS for kind in kinds))
    return is_known and (run.vocabulary_path.exists() or run.tokenizer_path.exists())


def _open_training_folder(path, given):
    _check_options(path, "a bilm-tf checkpoint", given, "vocabulary", "initial_state")
    if "vocabulary" not in given:
        raise ValueError(
            "`vocabulary` is missing: a bilm-tf training folder requires it. Pass the vocabulary "
            f"that the model in {path} was trained with."
        )
    vocabulary = _vocabulary(given["vocabulary"])
    model, _ = continue_checkpoint(path, vocabulary)
    return TextBiLM(model, vocabulary, given.get("initial_state", "zero"), path)


def _open_published_bilm(path, given):
    names = "weights_file", "vocabulary", "initial_state"
    _check_options(path, "a published biLM", given, *names)
    options_file, weights_file = find_files(path, given.get("weights_file"))
    vocabulary = given.get("vocabulary")
    beside = path / "vocabulary.txt"
    if vocabulary is None and beside.is_file() and "char_cnn" not in read_json(options_file):
        vocabulary = beside  # a folder with a biLM that reads token ids
    vocabulary = None if vocabulary is None else _vocabulary(vocabulary)
    state = given.get("initial_state", "zero")
    bilm = load_published_bilm(options_file, weights_file, vocabulary, state)
    return TextBiLM(bilm, vocabulary, None, path)


def _open_checkpoint(path, given):
    if has_head(path):
        _check_options(path, "a BERT model with a label or tag head", given, "scheme")
        model, tokenizer = load_with_head(path, given.get("scheme"))
        longest = max_length(model.find(BertEncoder), tokenizer)
        if isinstance(model, Classifier):
            return TextClassifier(model, PieceIndexer(tokenizer), "bert", longest, path)
        return TextTagger(model, PieceIndexer(tokenizer, words=True), "bert", longest, path)
    _check_options(path, "a BERT model without a label or tag head", given, "num_layers")
    encoder = BertEncoder.from_pretrained(path, **given)
    tokenizer = published_tokenizer(path, encoder) if has_vocabulary(path) else None
    return TextBert(encoder, tokenizer, path)


# Functions that wrap the model of a run folder, with the given options.


def _tagger_of(run, model, given):
    _check_options(run.path, "a tagger", given)
    check_names(run.tags_path, model.tags, "tag")
    return TextTagger(model, *_reading(run, model, words=True))


def _classifier_of(run, model, given):
    _check_options(run.path, "a classifier", given)
    check_names(run.labels_path, model.labels, "label")
    return TextClassifier(model, *_reading(run, model, words=False))


def _bilm_of(run, model, given):
    _check_options(run.path, "a biLM with its own vocabulary", given, "initial_state")
    vocabulary = run.vocabulary() if run.vocabulary_path.exists() else None
    check_vocabulary(model, vocabulary, run.path)
    return TextBiLM(model, vocabulary, given.get("initial_state", "zero"), run.path)


def _bert_of(run, model, given):
    _check_options(run.path, "a BERT model", given, "num_layers")
    if "num_layers" in given:
        model = changed_encoder(model.find(BertEncoder), run.path, given)
    return TextBert(model, run_tokenizer(run, model.find(BertEncoder)), run.path)


def _reading(run, model, words):
    """Returns the `indexer`, `tokens`, `max_length` and `source` of a tagger or classifier."""
    tokens = run.options.get("tokens", "spaces")
    longest = run.options.get("max_length")
    if run.tokenizer_path.exists():
        tokenizer = run_tokenizer(run, model.find(BertEncoder))
        longest = least(longest, max_length(model.find(BertEncoder), tokenizer))
        return PieceIndexer(tokenizer, words), tokens, longest, run.path
    vocabulary = run.vocabulary()
    check_table(run.vocabulary_path, vocabulary, model)
    indexer = TokenIndexer(
        vocabulary,
        lowercase=run.options.get("lowercase", False),
        digits_to_zero=run.options.get("digits_to_zero", False),
        max_characters=model.num_characters,
    )
    return indexer, tokens, longest, run.path


def _vocabulary(given):
    return given if isinstance(given, Vocabulary) else Vocabulary.read(given)


def _check_options(path, what, given, *known):
    """Raises a ValueError if one of the given options does not apply to the model at a path."""
    for name in given:
        if name not in known:
            raise ValueError(
                f"`{name}` applies only to {ABOUT[name]}, but {path} contains {what}. Omit "
                f"`{name}`."
            )


ABOUT = {
    "weights_file": "an options.json from bilm-tf or AllenNLP",
    "vocabulary": "a biLM from bilm-tf or AllenNLP",
    "initial_state": "a biLM",
    "scheme": "a published BERT model with a tag head",
    "num_layers": "a BERT model without a label or tag head",
}
# Tried in this order; the first match opens the path.
PLACES = (
    Place("a run folder of tfreps", is_run_folder, _open_run),
    Place("a bilm-tf training folder", _is_training_folder, _open_training_folder),
    Place("the options.json of a published biLM", _is_published_bilm, _open_published_bilm),
    Place("a published BERT model (Google, Hugging Face)", is_checkpoint, _open_checkpoint),
)
MODELS = {
    (Tagger, HMMTagger): _tagger_of,
    (Classifier,): _classifier_of,
    (BiLM, BiLMPretrainer, Elmo): _bilm_of,
    (BertEncoder, BertPretrainer): _bert_of,
}
