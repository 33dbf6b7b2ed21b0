"""Opens models of every kind with what they need to read raw text."""

import pathlib
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from tfreps._src.convert.bert_checkpoint import (
    Checkpoint,
    read_classifier,
    read_encoder,
    read_tagger,
)
from tfreps._src.convert.bert_table import has, label_rows
from tfreps._src.convert.bilm_files import find_bilm_files
from tfreps._src.convert.hugging_face import TAG_TASK
from tfreps._src.convert.lac import read_lac
from tfreps._src.convert.many_langs import read_many_langs
from tfreps._src.convert.sentence_transformers import (
    SETTINGS,
    read_embedder,
    read_settings,
    transformer_folder,
)
from tfreps._src.convert.similarity_names import Similarity
from tfreps._src.files.argument_checks import check_choice
from tfreps._src.files.json_files import read_json
from tfreps._src.models.any_bilm import AnyBiLM, InitialState
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.hmm import HMMTagger
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.models.piece_encoder import PieceEncoder
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.models.tagger import Tagger
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.runs.bert_parts import (
    changed_encoder,
    encoder_of,
    has_vocabulary,
    least,
    max_length,
    published_tokenizer,
    run_tokenizer,
)
from tfreps._src.runs.bilm_parts import (
    continue_training_folder,
    read_published_bilm,
    run_vocabulary,
    run_word_characters,
)
from tfreps._src.runs.model_archive import load_archive
from tfreps._src.runs.run_folder import NO_COMMAND, RunFolder
from tfreps._src.runs.vocabulary_checks import check_class_names, check_token_table
from tfreps._src.text.bert.json_tokenizer import JsonTokenizer
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.bert.wordpiece import WordPieceTokenizer
from tfreps._src.text.tags.tag_schemes import Scheme
from tfreps._src.text.tokenizers import TOKENIZERS
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_ids import WordCharIndexer

Given = Mapping[str, Any]  # the options of `tfreps.load` that are not `None`
TAGGERS, CLASSIFIERS, EMBEDDERS = (Tagger, HMMTagger), (Classifier,), (SentenceEmbedder,)
BILMS, BERTS = (AnyBiLM, BiLMPretrainer, Elmo), (BertEncoder, BertPretrainer)
# What a run folder contains, in error messages, and the options of `tfreps.load` that apply to it.
OF_RUNS: dict[tuple[type, ...], tuple[str, ...]] = {
    TAGGERS: ("a tagger",),
    CLASSIFIERS: ("a classifier",),
    EMBEDDERS: ("a text embedder",),
    BILMS: ("a biLM with its own vocabulary", "initial_state"),
    BERTS: ("a BERT model", "num_layers"),
}
NORMALIZATION = "lowercase", "digits_to_zero", "lowercase_fallback"
ABOUT = {
    "weights_file": "an options.json from bilm-tf or AllenNLP",
    "vocabulary": "a biLM from bilm-tf or AllenNLP",
    "initial_state": "a biLM",
    "scheme": "a published tagger",
    "tokens": "a published BERT tagger",
    "num_layers": "a BERT model without a label or tag head",
}


class Reading(NamedTuple):
    """Description of how a model reads raw text.

    Attributes:
        vocabulary: `Vocabulary`, or `None` for a model that reads pieces or only characters.
        tokenizer: Tokenizer of a BERT model, or `None` for other models.
        word_characters: `WordCharIndexer` of a model of ELMoForManyLangs, or `None`.
        tokens: str. Tokenization of raw text, as in `TextTagger`.
        max_length: int. Maximum number of tokens or pieces of a text; `None` if unlimited.
        normalization: dict. Options of `TokenIndexer`, such as `lowercase`.
        prompts: dict from names to texts that can be put in front of a text.
        default_prompt: str. Name of the prompt that is used by default, or `None`.
        similarity_fn_name: str. Similarity of the vectors of texts, as in `TextEmbedder`.
        initial_state: str. LSTM state that a biLM starts from; `None` for that of the model.
    """

    vocabulary: Vocabulary | None = None
    tokenizer: PieceTokenizer | None = None
    word_characters: WordCharIndexer | None = None
    tokens: Any = "spaces"
    max_length: int | None = None
    normalization: Mapping[str, bool] = {}
    prompts: Mapping[str, str] | None = None
    default_prompt: str | None = None
    similarity_fn_name: Similarity = "cosine"
    initial_state: InitialState | None = None


class Opened(NamedTuple):
    """Model with a description of how it reads raw text.

    `reading` is `None` if the files that the model needs to read text are missing. `run` is the
    `RunFolder` of a model in a run folder, otherwise `None`.
    """

    model: Any
    path: pathlib.Path
    reading: Reading | None
    run: RunFolder | None = None


# Functions that open the files of each kind, with options of `tfreps.load`.


def open_run(run: RunFolder, path: pathlib.Path, given: Given) -> Opened:
    model = run.load_model()
    if run.command == NO_COMMAND and not _has_text(run, model):
        _check_options(path, given, "a model without a vocabulary")
        return Opened(model, path, None)
    what = next((row for kinds, row in OF_RUNS.items() if isinstance(model, kinds)), None)
    if what is None:
        expected = ", ".join(kind.__name__ for kinds in OF_RUNS for kind in kinds)
        raise ValueError(
            f"{path} contains a {type(model).__name__}; expected one of: {expected}. For the Keras "
            "model alone, use `tfreps.runs.RunFolder(path).load_model()`."
        )
    _check_options(path, given, *what)
    if "num_layers" in given:
        model = changed_encoder(encoder_of(model, path), path, given)
    return Opened(model, path, _reading_of_run(run, model, given), run)


def open_keras_file(file: pathlib.Path, path: pathlib.Path, given: Given) -> Opened:
    _check_options(path, given, "a model without a vocabulary")
    return Opened(load_archive(file), path, None)


def open_training_folder(folder: pathlib.Path, path: pathlib.Path, given: Given) -> Opened:
    _check_options(path, given, "a bilm-tf checkpoint", "vocabulary", "initial_state")
    if "vocabulary" not in given:
        raise ValueError(
            "`vocabulary` is missing: a bilm-tf training folder requires it. Pass the vocabulary "
            f"that the model in {path} was trained with."
        )
    vocabulary = _vocabulary(given["vocabulary"])
    model, _ = continue_training_folder(folder, vocabulary)
    state = given.get("initial_state", "zero")
    return Opened(model, path, Reading(vocabulary, initial_state=state))


def open_bilm_files(source: pathlib.Path, path: pathlib.Path, given: Given) -> Opened:
    names = "weights_file", "vocabulary", "initial_state"
    _check_options(path, given, "a published biLM", *names)
    files = find_bilm_files(source, given.get("weights_file"))
    vocabulary, own = given.get("vocabulary"), source / "vocabulary.txt"
    if vocabulary is None and own.is_file() and "char_cnn" not in read_json(files[0]):
        vocabulary = own  # the folder contains a biLM that reads token ids, and its vocabulary
    vocabulary = None if vocabulary is None else _vocabulary(vocabulary)
    bilm = read_published_bilm(files, vocabulary, given.get("initial_state", "zero"))
    return Opened(bilm, path, Reading(vocabulary))


def open_many_langs(folder: pathlib.Path, path: pathlib.Path, given: Given) -> Opened:
    _check_options(path, given, "a model of ELMoForManyLangs", "initial_state")
    model, word_characters = read_many_langs(folder, **given)
    return Opened(model, path, Reading(word_characters=word_characters))


def open_checkpoint(checkpoint: Checkpoint, path: pathlib.Path, given: Given) -> Opened:
    if has(label_rows(checkpoint.names, checkpoint.options, 1), checkpoint.arrays.shapes):
        _check_options(path, given, "a BERT model with a label or tag head", "scheme", "tokens")
        model, tokenizer = _read_with_head(checkpoint, path, given.get("scheme"))
        reading = _pieces(tokenizer, encoder_of(model, path))
        if "tokens" in given:
            if not isinstance(model, Tagger):
                raise ValueError(
                    f"`tokens` applies only to a tagger, but {path} is read as a classifier. Omit "
                    "`tokens`, or pass a `scheme` if its head predicts tags."
                )
            check_choice((*TOKENIZERS, "bert"), tokens=given["tokens"])
            reading = reading._replace(tokens=given["tokens"])
        return Opened(model, path, reading)
    _check_options(path, given, "a BERT model without a label or tag head", "num_layers")
    encoder = read_encoder(checkpoint, **given)
    tokenizer = published_tokenizer(path, encoder) if has_vocabulary(path) else None
    return Opened(encoder, path, Reading(tokenizer=tokenizer))


def open_lac(folder: pathlib.Path, path: pathlib.Path, given: Given) -> Opened:
    _check_options(path, given, "LAC", "scheme")
    model, vocabulary = read_lac(folder, **given)
    return Opened(model, path, Reading(vocabulary, tokens="all_characters"))


def open_sentence_transformers(folder: pathlib.Path, path: pathlib.Path, given: Given) -> Opened:
    _check_options(path, given, "a model of sentence-transformers")
    model, settings = read_embedder(folder), read_settings(folder)
    tokenizer = published_tokenizer(transformer_folder(folder), model.encoder)
    if settings.lowercase and isinstance(tokenizer, WordPieceTokenizer):
        if not tokenizer.lowercase:
            # The new tokenizer lowercases text, and removes accents only if the old one does.
            options = {"lowercase": True, "strip_accents": bool(tokenizer.strip_accents)}
            tokenizer = WordPieceTokenizer.from_config({**tokenizer.get_config(), **options})
    if settings.lowercase and isinstance(tokenizer, JsonTokenizer):
        tokenizer = tokenizer.lowercased()
    tokenizer.max_length = settings.max_length or tokenizer.max_length
    reading = _pieces(tokenizer, model.encoder)
    if settings.max_length not in (None, reading.max_length):
        raise ValueError(
            f"{path} limits texts to {settings.max_length} pieces, but its model has only "
            f"{reading.max_length} positions, and sentence-transformers fails on longer texts. "
            f"Write {reading.max_length} as `max_seq_length` in {SETTINGS}."
        )
    names = "prompts", "default_prompt", "similarity_fn_name"
    known = {name: getattr(settings, name) for name in names}
    return Opened(model, path, reading._replace(**known))


def _has_text(run: RunFolder, model: Any) -> bool:
    """Returns True if a run folder contains the files that its model needs to read raw text."""
    if isinstance(model, WholeModel) and model._required("word_character_ids") is not None:
        if not run.word_characters_path.exists():
            return False
    if isinstance(model, BILMS):
        bilm: Any = model if isinstance(model, AnyBiLM) else model.bilm
        return bilm._ids_name != "token_ids" or run.vocabulary_path.exists()
    is_known = isinstance(model, tuple(kind for kinds in OF_RUNS for kind in kinds))
    return is_known and (run.vocabulary_path.exists() or run.tokenizer_path.exists())


def _reading_of_run(run: RunFolder, model: Any, given: Given) -> Reading:
    """Reads how a model reads text from its run folder, and checks that the files belong to it."""
    if isinstance(model, TAGGERS):
        check_class_names(run.tags_path, model.tags, "tag")
    if isinstance(model, CLASSIFIERS):
        check_class_names(run.labels_path, model.labels, "label")
    bilm = model.find(ManyLangsBiLM)
    if isinstance(model, BILMS):
        state = given.get("initial_state", "zero")
        if bilm is None:
            return Reading(run_vocabulary(run, model), initial_state=state)
        return Reading(word_characters=run_word_characters(run, bilm), initial_state=state)
    known = run.options
    if isinstance(model, BERTS) or run.tokenizer_path.exists():
        encoder = encoder_of(model, run.path)
        reading = _pieces(run_tokenizer(run, encoder), encoder, known.get("max_length"))
    else:
        vocabulary = run.vocabulary()
        check_token_table(run.vocabulary_path, vocabulary, model)
        characters = None if bilm is None else run_word_characters(run, bilm)
        normalization = {name: known.get(name, False) for name in NORMALIZATION}
        reading = Reading(
            vocabulary,
            word_characters=characters,
            max_length=known.get("max_length"),
            normalization=normalization,
        )
    return reading._replace(
        tokens=known.get("tokens", "spaces"),
        prompts=known.get("prompts"),
        default_prompt=known.get("default_prompt"),
        similarity_fn_name=known.get("similarity_fn_name", "cosine"),
    )


def _pieces(tokenizer: PieceTokenizer, encoder: BertEncoder, longest: int | None = None) -> Reading:
    """Returns how a BERT model reads pieces, of which there are at most `longest` in a text."""
    longest = least(longest, max_length(encoder, tokenizer))
    return Reading(tokenizer=tokenizer, tokens="bert", max_length=longest)


def _read_with_head(
    checkpoint: Checkpoint, path: pathlib.Path, scheme: Scheme | Literal["none"] | None = None
) -> tuple[Classifier | Tagger, PieceTokenizer]:
    """Returns the published tagger or classifier at a path, and its tokenizer.

    The model is a tagger if its `architectures` include a class such as
    `BertForTokenClassification`, or if it has no `architectures` and a scheme is given. A tagger
    predicts one tag per word from the word's first piece (see `PieceEncoder`). If the scheme is
    `None`, it is detected from the names of the tags; with `"none"`, the tags have no spans.
    """
    kinds = checkpoint.config.get("architectures") or ()
    has_tags = any(str(kind).endswith(TAG_TASK) for kind in kinds)
    is_tagger = has_tags or not kinds and scheme is not None
    if not is_tagger and scheme is not None:
        raise ValueError(
            f"`scheme` cannot be used here: {path} is a classifier, which has no tag scheme; got "
            f"{scheme!r}. Omit `scheme`."
        )
    found = read_tagger(checkpoint, scheme=scheme) if is_tagger else read_classifier(checkpoint)
    tokenizer = published_tokenizer(path, found.encoder)
    if not isinstance(found, Tagger):
        return found, tokenizer
    words = PieceEncoder(found.encoder, tokenizer.start_id, tokenizer.separator_id, name="words")
    options = {"use_crf": False, "dropout": found.dropout}
    tagger = Tagger(words, found.tags, found.scheme, **options, name="tagger")
    copy_weights(tagger, found, parts=["kernel", "bias"])
    return tagger, tokenizer


def _vocabulary(given: Any) -> Vocabulary:
    return given if isinstance(given, Vocabulary) else Vocabulary.read(given)


def _check_options(path: pathlib.Path, given: Given, what: str, *known: str) -> None:
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
