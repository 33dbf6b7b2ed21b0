"""load: opens whatever training left or others published, ready to be asked."""

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
from tfreps.runs.run_folder import OPTIONS, RunFolder
from tfreps.text import TokenIndexer, Vocabulary
from tfreps.text.bert.piece_indexer import PieceIndexer


class Place(NamedTuple):
    """A kind of place: its name, a test of a path, and what opens it with the options given."""

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
    """Opens a trained model, and returns an object that answers raw texts.

    - A run folder of `train-tagger` or `train-hmm`: `TextTagger`, tags and spans.
    - A run folder of `train-classifier`: `TextClassifier`, labels.
    - A run folder of a biLM (`pretrain-elmo`, `convert`), an `options.json` of bilm-tf or AllenNLP,
      or a folder of it with its HDF5 weights: `TextBiLM`, vectors of all layers.
    - A training folder of bilm-tf (TensorFlow 1): `TextBiLM`, its softmax in the model.
    - A run folder of `pretrain-bert`: `TextBert`, vectors and attention.
    - A published BERT of Google or Hugging Face, a folder or a checkpoint: `TextBert`; with a head
      over tags or labels, `TextTagger` or `TextClassifier`.

    All of these classes are in `tfreps.inference`. They have `model`, the Keras model, and
    `source`, the path.

    Args:
        path: where the model is.
        weights_file: HDF5 weights of an `options.json`, where they do not lie beside it.
        vocabulary: `tfreps.text.Vocabulary`, or its file: of a training folder of bilm-tf, and of
            published weights of a biLM that reads token ids.
        initial_state: what a biLM starts each text from: `"zero"` (default), `"warm"` or `"carry"`.
        scheme: how the tags of a published tagger write spans, see `tfreps.text.tags`; `"none"` for
            tags without spans, where its files do not say that it is a tagger.
        num_layers: int. The first blocks of a BERT without a head; None for all.

    Returns:
        `TextTagger`, `TextClassifier`, `TextBiLM` or `TextBert`.

    Raises:
        ValueError: there is nothing that can be loaded, it is damaged or does not fit together, or
            an option is given that is not about such a model.

    Example:
    >>> import tfreps
    >>> tfreps.models.BiLM(filters=[[1, 8]], units=8, projection_dim=4).save_pretrained("elmo_mine")
    >>> tfreps.load("elmo_mine", initial_state="warm")("I have a dog")
    TextVectors(tokens=['I', 'have', 'a', 'dog'], vectors=float32 [3, 4, 8])
    """
    path = pathlib.Path(path)
    options = {
        "weights_file": weights_file,
        "vocabulary": vocabulary,
        "initial_state": initial_state,
        "scheme": scheme,
        "num_layers": num_layers,
    }
    given = {name: value for name, value in options.items() if value is not None}
    for place in PLACES:
        if place.is_here(path):
            return place.open(path, given)
    reason = "holds no model that can be loaded" if path.exists() else "does not exist"
    expected = ", ".join(place.name for place in PLACES)
    raise ValueError(f"{path} {reason}. Expected one of: {expected}.")


def load_as(kind: type[LoadedModel], path: str | os.PathLike, **options) -> LoadedModel:
    """`load`, for a caller who needs one kind of model.

    Args:
        kind: the class that is expected, such as `TextTagger`.
        path, **options: as of `load`.

    Raises:
        ValueError: it is another kind, or what `load` raises.
    """
    found = load(path, **options)
    if not isinstance(found, kind):
        name = type(found.model).__name__
        raise ValueError(f"{path} holds {found.kind} ({name}); expected {kind.kind}.")
    return found


# What kinds of places there are.


def _is_run(path):
    return (path / OPTIONS).is_file() and not _is_of_bilm_tf(path / OPTIONS)


def _is_training_folder(path):
    return is_training_folder(path) and _is_of_bilm_tf(path / OPTIONS)


def _is_published_bilm(path):
    is_file = path.is_file() and (path.suffix == ".json" or _is_of_bilm_tf(path))
    return is_file or any(_is_of_bilm_tf(file) for file in path.glob(f"*{OPTIONS}"))


def _is_of_bilm_tf(options_file):
    """Whether an options.json is bilm-tf's; a run folder has one, too."""
    try:
        return "lstm" in read_json(options_file)
    except ValueError:
        return False


# How each is opened: functions of the path and of the options that were given.


def _open_run(path, given):
    run = RunFolder.open(path)
    model = run.load_model()
    for kinds, open_model in MODELS.items():
        if isinstance(model, kinds):
            return open_model(run, model, given)
    expected = ", ".join(kind.__name__ for kinds in MODELS for kind in kinds)
    raise ValueError(f"{path} holds a {type(model).__name__}; expected one of {expected}.")


def _open_training_folder(path, given):
    _check_options(path, "a training folder of bilm-tf", given, "vocabulary", "initial_state")
    if "vocabulary" not in given:
        raise ValueError(f"`vocabulary` is missing: the tokens that {path} was trained on.")
    vocabulary = _vocabulary(given["vocabulary"])
    model, _ = continue_checkpoint(path, vocabulary)
    return TextBiLM(model, vocabulary, given.get("initial_state", "zero"), path)


def _open_published_bilm(path, given):
    names = "weights_file", "vocabulary", "initial_state"
    _check_options(path, "a published biLM", given, *names)
    options_file, weights_file = find_files(path, given.get("weights_file"))
    vocabulary, beside = given.get("vocabulary"), path / "vocabulary.txt"
    if vocabulary is None and beside.is_file() and "char_cnn" not in read_json(options_file):
        vocabulary = beside  # of words, in a folder
    vocabulary = None if vocabulary is None else _vocabulary(vocabulary)
    state = given.get("initial_state", "zero")
    bilm = load_published_bilm(options_file, weights_file, vocabulary, state)
    return TextBiLM(bilm, vocabulary, None, path)


def _open_checkpoint(path, given):
    if has_head(path):
        _check_options(path, "a BERT with a head over labels", given, "scheme")
        model, tokenizer = load_with_head(path, given.get("scheme"))
        longest = max_length(model.find(BertEncoder), tokenizer)
        if isinstance(model, Classifier):
            return TextClassifier(model, PieceIndexer(tokenizer), "bert", longest, path)
        return TextTagger(model, PieceIndexer(tokenizer, words=True), "bert", longest, path)
    _check_options(path, "a BERT without a head over labels", given, "num_layers")
    encoder = BertEncoder.from_pretrained(path, **given)
    tokenizer = published_tokenizer(path, encoder) if has_vocabulary(path) else None
    return TextBert(encoder, tokenizer, path)


# What becomes of the model of a run folder: functions of the run, its model, and the options.


def _tagger_of(run, model, given):
    _check_options(run.path, "a tagger", given)
    check_names(run.tags_path, model.tags, "tag")
    return TextTagger(model, *_reading(run, model, words=True))


def _classifier_of(run, model, given):
    _check_options(run.path, "a classifier", given)
    check_names(run.labels_path, model.labels, "label")
    return TextClassifier(model, *_reading(run, model, words=False))


def _bilm_of(run, model, given):
    _check_options(run.path, "a biLM and its own vocabulary", given, "initial_state")
    vocabulary = run.vocabulary() if run.vocabulary_path.exists() else None
    check_vocabulary(model, vocabulary, run.path)
    return TextBiLM(model, vocabulary, given.get("initial_state", "zero"), run.path)


def _bert_of(run, model, given):
    _check_options(run.path, "a BERT", given, "num_layers")
    if "num_layers" in given:
        model = changed_encoder(model.find(BertEncoder), run.path, given)
    return TextBert(model, run_tokenizer(run, model.find(BertEncoder)), run.path)


def _reading(run, model, words):
    """How a tagger or classifier reads text: its indexer, `tokens`, `max_length` and the run."""
    tokens, longest = run.options.get("tokens", "spaces"), run.options.get("max_length")
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
    """Raises a ValueError if an option was given that is not about what a place holds."""
    for name in given:
        if name not in known:
            raise ValueError(
                f"`{name}` is about {ABOUT[name]}, and {path} holds {what}: leave it out."
            )


ABOUT = {
    "weights_file": "an options.json of bilm-tf or AllenNLP",
    "vocabulary": "a biLM of bilm-tf or AllenNLP",
    "initial_state": "a biLM",
    "scheme": "a published BERT with a head over tags",
    "num_layers": "a BERT without a head over labels",
}
# In this order: the first whose test holds opens the path.
PLACES = (
    Place("a run folder of tfreps", _is_run, _open_run),
    Place("a training folder of bilm-tf", _is_training_folder, _open_training_folder),
    Place("the options.json of a published biLM", _is_published_bilm, _open_published_bilm),
    Place("a published BERT (Google, Hugging Face)", is_checkpoint, _open_checkpoint),
)
MODELS = {
    (Tagger, HMMTagger): _tagger_of,
    (Classifier,): _classifier_of,
    (BiLM, BiLMPretrainer, Elmo): _bilm_of,
    (BertEncoder, BertPretrainer): _bert_of,
}
