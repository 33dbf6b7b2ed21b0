"""Reads and writes the files of models: presets, published weights, uploads to the Hub."""

import os
import pathlib
import tempfile
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfreps._src.convert import hugging_face
from tfreps._src.convert.bilm_files import write_bilm
from tfreps._src.convert.model_cards import write_model_card
from tfreps._src.convert.peft_adapters import load_adapter, save_adapter
from tfreps._src.convert.preset_model import is_hugging_face, write_preset_model
from tfreps._src.convert.sentence_transformers import write_embedder
from tfreps._src.files.atomic_files import is_free, replacing, write_text
from tfreps._src.models.any_bilm import AnyBiLM
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.hmm import HMMTagger
from tfreps._src.models.preset_methods import FILES
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.models.tagger import Tagger
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.presets import hub_repositories
from tfreps._src.runs.kinds import OWN, kinds_of, locate
from tfreps._src.runs.new_heads import asks_for_new_head, with_new_head
from tfreps._src.runs.run_card import run_card, shared_options
from tfreps._src.runs.run_folder import (
    LABELS,
    NO_COMMAND,
    TAGS,
    TOKENIZER,
    VOCABULARY,
    WORD_CHARACTERS,
    RunFolder,
)
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.bert.tokenizer_files import write_checkpoint_tokenizer, write_tokenizer
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_ids import WordCharIndexer


def from_preset(cls: Any, source: str | os.PathLike[str], **options: Any) -> Any:
    """Loads an instance of the class `cls` from a source.

    `source` and `options` are the arguments of `cls.from_preset`.

    Returns:
        The model in the source or, if this is not an instance of `cls`, the first part of the model
        that is an instance of `cls`.
    """
    if asks_for_new_head(cls, options):
        return with_new_head(cls, source, options)
    with locate(source, *OWN, *kinds_of(cls)) as found:
        if found.kind in OWN or issubclass(cls, Elmo):
            return _part(cls, found.read(cls), source, options)
        return cls.from_pretrained(found.path, **options)  # its options may be `None`


def from_pretrained(cls: type, source: str | os.PathLike[str], **options: Any) -> Any:
    """Returns a model of the class `cls` with the published weights that a source contains.

    `source` and `options` are the arguments of `cls.from_pretrained`.
    """
    with locate(source, *kinds_of(cls)) as found:
        return found.read(cls, **options)


def save_pretrained(model: Any, folder: str | os.PathLike[str], *args: Any) -> None:
    """Writes a model to a folder in the format of its published weights, with a model card.

    `args` are the further arguments of `save_pretrained` of the class.
    """
    kinds = {BiLM: write_bilm, SentenceEmbedder: write_embedder}
    found = (write for kind, write in kinds.items() if isinstance(model, kind))
    next(found, hugging_face.write_model)(model, folder, *args)
    write_model_card(model, folder)


def save_to_preset(
    model: Any,
    folder: str | os.PathLike[str],
    run: RunFolder | None = None,
    options: Mapping[str, Any] | None = None,
    vocabulary: Vocabulary | None = None,
    tokenizer: PieceTokenizer | None = None,
    word_characters: WordCharIndexer | None = None,
) -> None:
    """Writes a preset folder, which `tfreps.load` and the commands open like a run folder.

        options.json            how the model was trained and how it reads text
        config.json             the model, also for transformers if it can represent it
        model.safetensors       the weights
        vocabulary.txt          the vocabulary, or tfreps_tokenizer.json for a BERT model (with
                                vocab.txt and tokenizer_config.json for transformers)
        word_characters.json    the words and characters of a biLM of ELMoForManyLangs
        tags.txt or labels.txt  the tags or labels
        manifest.json           sizes and hashes of options.json, the vocabulary or tokenizer,
                                word_characters.json, and the tags or labels
        README.md               the model card

    The folder is written under a temporary name and renamed when it is complete. `run` is the
    `RunFolder` of the run that trained the model, if any; `options`, such as `tokens`, say how text
    is read, and replace options of the run. Raises a ValueError if the folder is not empty.
    """
    folder = pathlib.Path(folder)
    if not is_free(folder):
        raise ValueError(
            f"{folder} already exists and is not an empty folder. Choose a new folder."
        )
    shared = {} if run is None else shared_options(run)
    command = NO_COMMAND if run is None else run.command
    with replacing(folder, parents=True) as path:
        path.mkdir()
        copy = RunFolder(path, command, {**shared, **(options or {})}, run and run.unused)
        copy.write_options()
        assets = asset_writers(model, vocabulary, tokenizer, word_characters)
        for name, write in assets.items():
            copy.write_asset(path / name, write)
        write_preset_model(model, path, next_label=shared.get("next_label", 0))
        if tokenizer is not None and is_hugging_face(model):
            write_checkpoint_tokenizer(tokenizer, path)
        known = {} if run is None else run_card(run)
        write_model_card(model, path, folder.name, known, preset=True)


def upload_preset(model: Any, address: str, message: str, private: bool | None) -> str:
    """Uploads a model to the Hugging Face Hub, and returns the URL of the commit.

    `WholeModel.upload_preset` describes the arguments.
    """
    repository = hub_repositories.parse(address)
    name = (repository.folder or repository.name).rsplit("/", 1)[-1]
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent, name)
        model.save_to_preset(folder)
        return hub_repositories.upload_folder(folder, address, message, private)


def asset_writers(
    model: object,
    vocabulary: Vocabulary | None = None,
    tokenizer: PieceTokenizer | None = None,
    word_characters: WordCharIndexer | None = None,
) -> dict[str, Callable[[pathlib.Path], None]]:
    """Returns a dict from names of files in a run folder to functions that write these files."""
    found: dict[str, Callable[[pathlib.Path], None]] = {}
    if vocabulary is not None:
        found[VOCABULARY] = vocabulary.write
    if tokenizer is not None:
        found[TOKENIZER] = lambda path: write_tokenizer(tokenizer, path)
    if word_characters is not None:
        found[WORD_CHARACTERS] = word_characters.write
    if isinstance(model, Tagger | HMMTagger):
        found[TAGS] = lambda path: _write_lines(path, model.tags)
    if isinstance(model, Classifier):
        found[LABELS] = lambda path: _write_lines(path, model.labels)
    return found


def _write_lines(path: pathlib.Path, names: Iterable[str]) -> None:
    write_text(path, "".join(f"{name}\n" for name in names))


def _part(cls: type, model: Any, source: str | os.PathLike[str], options: Mapping[str, Any]) -> Any:
    """Returns the first part of a model that is an instance of `cls`.

    If `cls` is `Elmo` and the model contains a biLM but no `Elmo`, the result is a new `Elmo` with
    the options `options`, whose biLM is not trainable.
    """
    find = model.find if isinstance(model, WholeModel) else lambda cls: None
    found = find(cls)
    if found is None and cls is Elmo and (bilm := find(AnyBiLM)) is not None:
        bilm.trainable = False
        return Elmo(bilm, **options)
    if found is None:
        raise ValueError(
            f"{source} must contain a model of the class {cls.__name__}; got a "
            f"{type(model).__name__}. Call `from_preset` of the class {type(model).__name__}, "
            "or pass another model."
        )
    if options:
        raise ValueError(
            f"`{next(iter(options))}` cannot be changed: {source} contains a complete "
            f"{type(model).__name__}. Omit the option."
        )
    return found


FILES.update(
    load_adapter=load_adapter,
    save_adapter=save_adapter,
    from_preset=from_preset,
    from_pretrained=from_pretrained,
    save_pretrained=save_pretrained,
    save_to_preset=save_to_preset,
    upload_preset=upload_preset,
)
