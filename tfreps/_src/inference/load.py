"""load: opens a trained or published model for use on raw text."""

import logging
import os
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from tfreps._src.convert.bert_checkpoint import read_encoder
from tfreps._src.convert.bilm_files import find_bilm_files, find_weights
from tfreps._src.convert.many_langs import read_many_langs
from tfreps._src.convert.sentence_transformers import (
    SETTINGS,
    read_embedder,
    read_settings,
    transformer_folder,
)
from tfreps._src.files.json_files import read_json
from tfreps._src.inference.loaded_model import LoadedModel
from tfreps._src.inference.text_bert import TextBert
from tfreps._src.inference.text_bilm import TextBiLM
from tfreps._src.inference.text_classifier import TextClassifier
from tfreps._src.inference.text_embedder import TextEmbedder
from tfreps._src.inference.text_many_langs import TextManyLangs
from tfreps._src.inference.text_model import Tokenization
from tfreps._src.inference.text_tagger import TextTagger
from tfreps._src.models.any_bilm import AnyBiLM, InitialState
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.hmm import HMMTagger
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.models.precision import bfloat16_is_slow
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.models.tagger import Tagger
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.presets.sources import cached_path
from tfreps._src.runs.bert_loading import (
    changed_encoder,
    encoder_of,
    has_vocabulary,
    least,
    max_length,
    published_tokenizer,
    run_tokenizer,
)
from tfreps._src.runs.bert_publishing import has_head, read_with_head
from tfreps._src.runs.bilm_loading import (
    continue_training_folder,
    read_published_bilm,
    run_vocabulary,
    run_word_characters,
)
from tfreps._src.runs.locate import (
    BERT,
    BILM_FILES,
    KERAS_FILE,
    MANY_LANGS,
    RUN,
    SENTENCE_TRANSFORMERS,
    TRAINING_FOLDER,
    Location,
    locate,
)
from tfreps._src.runs.model_files import NO_COMMAND
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.runs.vocabulary_checks import check_class_names, check_token_table
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps._src.text.bert.wordpiece import WordPieceTokenizer
from tfreps._src.text.tags.tag_schemes import Scheme
from tfreps._src.text.token_indexer import TokenIndexer
from tfreps._src.text.vocabulary import Vocabulary

Given = Mapping[str, Any]  # the options of `load` that are not `None`
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
        loaded = OPENERS[found.kind](found, given)
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


# Functions that open each kind of files with the given options.


def _open_run(found: Location, given: Given) -> LoadedModel:
    run = found.open()
    model = run.load_model()
    if run.command == NO_COMMAND and not _has_text(run, model):
        _check_options(run.path, "a model without a vocabulary", given)
        return LoadedModel(model, run.path)
    for kinds, open_model in MODELS.items():
        if isinstance(model, kinds):
            loaded = open_model(run, model, given)
            loaded.run = run
            return loaded
    expected = ", ".join(kind.__name__ for kinds in MODELS for kind in kinds)
    raise ValueError(
        f"{run.path} contains a {type(model).__name__}; expected one of: {expected}. For the Keras "
        "model alone, use `tfreps.runs.RunFolder(path).load_model()`."
    )


def _has_text(run: RunFolder, model: Any) -> bool:
    """Returns True if a run folder contains the files that its model needs to read raw text."""
    if isinstance(model, WholeModel) and model._required("word_character_ids") is not None:
        if not run.word_characters_path.exists():
            return False
    if isinstance(model, AnyBiLM | BiLMPretrainer | Elmo):
        bilm: Any = model if isinstance(model, AnyBiLM) else model.bilm
        return bilm._ids_name != "token_ids" or run.vocabulary_path.exists()
    is_known = isinstance(model, tuple(kind for kinds in MODELS for kind in kinds))
    return is_known and (run.vocabulary_path.exists() or run.tokenizer_path.exists())


def _open_keras_file(found: Location, given: Given) -> LoadedModel:
    _check_options(found.path, "a model without a vocabulary", given)
    return LoadedModel(found.open(), found.path)


def _open_training_folder(found: Location, given: Given) -> LoadedModel:
    _check_options(found.path, "a bilm-tf checkpoint", given, "vocabulary", "initial_state")
    if "vocabulary" not in given:
        raise ValueError(
            "`vocabulary` is missing: a bilm-tf training folder requires it. Pass the vocabulary "
            f"that the model in {found.path} was trained with."
        )
    vocabulary = _vocabulary(given["vocabulary"])
    model, _ = continue_training_folder(found.path, vocabulary)
    return TextBiLM(model, vocabulary, given.get("initial_state", "zero"), found.path)


def _open_bilm_files(found: Location, given: Given) -> LoadedModel:
    names = "weights_file", "vocabulary", "initial_state"
    _check_options(found.path, "a published biLM", given, *names)
    files = find_bilm_files(found.path, given.get("weights_file"))
    vocabulary = given.get("vocabulary")
    own = found.path / "vocabulary.txt"
    if vocabulary is None and own.is_file() and "char_cnn" not in read_json(files[0]):
        vocabulary = own  # the folder contains a biLM that reads token ids, and its vocabulary
    vocabulary = None if vocabulary is None else _vocabulary(vocabulary)
    bilm = read_published_bilm(files, vocabulary, given.get("initial_state", "zero"))
    return TextBiLM(bilm, vocabulary, None, found.path)


def _open_many_langs(found: Location, given: Given) -> LoadedModel:
    _check_options(found.path, "a model of ELMoForManyLangs", given, "initial_state")
    return TextManyLangs(*read_many_langs(found.path, **given), source=found.path)


def _open_checkpoint(found: Location, given: Given) -> LoadedModel:
    checkpoint, path = found.open(), found.path
    if has_head(checkpoint):
        _check_options(path, "a BERT model with a label or tag head", given, "scheme")
        model, tokenizer = read_with_head(checkpoint, path, given.get("scheme"))
        longest = max_length(encoder_of(model, path), tokenizer)
        if isinstance(model, Classifier):
            return TextClassifier(model, PieceIndexer(tokenizer), "bert", longest, path)
        return TextTagger(model, PieceIndexer(tokenizer, words=True), "bert", longest, path)
    _check_options(path, "a BERT model without a label or tag head", given, "num_layers")
    encoder = read_encoder(checkpoint, **given)
    tokenizer = published_tokenizer(path, encoder) if has_vocabulary(path) else None
    return TextBert(encoder, tokenizer, path)


def _open_sentence_transformers(found: Location, given: Given) -> LoadedModel:
    path = found.path
    _check_options(path, "a model of sentence-transformers", given)
    model, settings = read_embedder(path), read_settings(path)
    tokenizer = published_tokenizer(transformer_folder(path), model.encoder)
    if settings.lowercase and isinstance(tokenizer, WordPieceTokenizer):
        if not tokenizer.lowercase:
            # The new tokenizer lowercases text, and removes accents only if the old one does.
            options = {"lowercase": True, "strip_accents": bool(tokenizer.strip_accents)}
            tokenizer = WordPieceTokenizer.from_config({**tokenizer.get_config(), **options})
    tokenizer.max_length = settings.max_length or tokenizer.max_length
    longest = max_length(model.encoder, tokenizer)
    if settings.max_length not in (None, longest):
        raise ValueError(
            f"{path} limits texts to {settings.max_length} pieces, but its model has only "
            f"{longest} positions, and sentence-transformers fails on longer texts. Write "
            f"{longest} as `max_seq_length` in {SETTINGS}."
        )
    prompts = settings.prompts, settings.default_prompt
    return TextEmbedder(model, PieceIndexer(tokenizer), "bert", longest, *prompts, path)


# Functions that wrap the model of a run folder, with the given options.


def _tagger_of(run: RunFolder, model: Tagger | HMMTagger, given: Given) -> TextTagger:
    _check_options(run.path, "a tagger", given)
    check_class_names(run.tags_path, model.tags, "tag")
    return TextTagger(model, *_reading(run, model, words=True))


def _classifier_of(run: RunFolder, model: Classifier, given: Given) -> TextClassifier:
    _check_options(run.path, "a classifier", given)
    check_class_names(run.labels_path, model.labels, "label")
    return TextClassifier(model, *_reading(run, model, words=False))


def _embedder_of(run: RunFolder, model: SentenceEmbedder, given: Given) -> TextEmbedder:
    _check_options(run.path, "a text embedder", given)
    indexer, tokens, longest, source = _reading(run, model, words=False)
    prompts, default = run.options.get("prompts"), run.options.get("default_prompt")
    return TextEmbedder(model, indexer, tokens, longest, prompts, default, source)


def _bilm_of(run: RunFolder, model: AnyBiLM | BiLMPretrainer | Elmo, given: Given) -> TextBiLM:
    _check_options(run.path, "a biLM with its own vocabulary", given, "initial_state")
    initial_state = given.get("initial_state", "zero")
    many_langs = model.find(ManyLangsBiLM)
    if many_langs is not None:
        indexer = run_word_characters(run, many_langs)
        return TextManyLangs(model, indexer, initial_state, run.path)
    return TextBiLM(model, run_vocabulary(run, model), initial_state, run.path)


def _bert_of(run: RunFolder, model: BertEncoder | BertPretrainer, given: Given) -> TextBert:
    _check_options(run.path, "a BERT model", given, "num_layers")
    if "num_layers" in given:
        model = changed_encoder(encoder_of(model, run.path), run.path, given)
    return TextBert(model, run_tokenizer(run, encoder_of(model, run.path)), run.path)


def _reading(
    run: RunFolder, model: WholeModel, words: bool
) -> tuple[TokenIndexer | PieceIndexer, Tokenization, int | None, pathlib.Path]:
    """Reads the tokenization of a model from its run folder.

    Returns the arguments `indexer`, `tokens`, `max_length` and `source` of a `TextModel`. For a
    BERT model, `indexer` is `PieceIndexer(tokenizer, words)`. For other models, `words` has no
    effect.
    """
    tokens: Tokenization = run.options.get("tokens", "spaces")
    longest = run.options.get("max_length")
    if run.tokenizer_path.exists():
        encoder = encoder_of(model, run.path)
        tokenizer = run_tokenizer(run, encoder)
        longest = least(longest, max_length(encoder, tokenizer))
        return PieceIndexer(tokenizer, words), tokens, longest, run.path
    vocabulary = run.vocabulary()
    check_token_table(run.vocabulary_path, vocabulary, model)
    many_langs = model.find(ManyLangsBiLM)
    indexer = TokenIndexer(
        vocabulary,
        lowercase=run.options.get("lowercase", False),
        digits_to_zero=run.options.get("digits_to_zero", False),
        lowercase_fallback=run.options.get("lowercase_fallback", False),
        max_characters=model._num_characters,
        word_characters=None if many_langs is None else run_word_characters(run, many_langs),
    )
    return indexer, tokens, longest, run.path


def _vocabulary(given: str | os.PathLike[str] | Vocabulary) -> Vocabulary:
    return given if isinstance(given, Vocabulary) else Vocabulary.read(given)


def _check_options(path: str | os.PathLike[str], what: str, given: Given, *known: str) -> None:
    """Raises a ValueError if an option in `given` is not one of `known`.

    `known` are the names of the options that apply to the model at `path`, and `what` describes
    this model in the error message.
    """
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
OPENERS = {
    RUN: _open_run,
    TRAINING_FOLDER: _open_training_folder,
    BILM_FILES: _open_bilm_files,
    KERAS_FILE: _open_keras_file,
    SENTENCE_TRANSFORMERS: _open_sentence_transformers,
    MANY_LANGS: _open_many_langs,
    **dict.fromkeys(BERT, _open_checkpoint),
}
MODELS = {
    (Tagger, HMMTagger): _tagger_of,
    (Classifier,): _classifier_of,
    (SentenceEmbedder,): _embedder_of,
    (AnyBiLM, BiLMPretrainer, Elmo): _bilm_of,
    (BertEncoder, BertPretrainer): _bert_of,
}
