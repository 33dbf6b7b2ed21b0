"""write_preset: writes a model and the files for reading raw text to a folder for publication."""

import os
import pathlib
from collections.abc import Callable, Mapping

from tfreps.convert.model_cards import write_model_card
from tfreps.convert.preset_model import is_hugging_face, write_preset_model
from tfreps.files.atomic_files import replacing, write_text
from tfreps.models import Classifier, HMMTagger, Tagger
from tfreps.runs.run_card import run_card, shared_options
from tfreps.runs.run_folder import LABELS, TAGS, TOKENIZER, VOCABULARY, RunFolder
from tfreps.text.bert import write_checkpoint_tokenizer, write_tokenizer

PROGRAM = "save_preset"  # in place of the program, for models that no program trained


def write_preset(
    model,
    folder: str | os.PathLike,
    run: RunFolder | None = None,
    options: Mapping | None = None,
    vocabulary=None,
    tokenizer=None,
) -> None:
    """Writes a preset folder, which `tfreps.load` and the programs open like a run folder.

        options.json            how the model was trained and how it reads text
        config.json             the model, also for transformers if it can represent it
        model.safetensors       the weights
        vocabulary.txt          the vocabulary, or tfreps_tokenizer.json for a BERT model (with
                                vocab.txt and tokenizer_config.json for transformers)
        tags.txt or labels.txt  the tags or labels
        assets.json             sizes and hashes of the vocabulary, tokenizer, tag and label files
        README.md               the model card

    The folder is written under a temporary name and renamed when it is complete.

    Args:
        model: Model of tfreps that has been built.
        folder: str or path-like. Folder that does not exist yet, or an empty one.
        run: `RunFolder` of the run that trained the model. If `None`, the model card has no facts
            about the training. Defaults to `None`.
        options: dict. Options that say how text is read, such as `tokens`. They are added to those
            of `run` and replace options of the same name. If `None`, none are added. Defaults to
            `None`.
        vocabulary: `tfreps.text.Vocabulary` of the model. If `None`, no vocabulary is written.
            Defaults to `None`.
        tokenizer: Tokenizer of a BERT model. If `None`, no tokenizer is written. Defaults to
            `None`.

    Raises:
        ValueError: If `folder` exists and is not an empty folder, or the model cannot be stored.
        OSError: If the folder cannot be written.
    """
    folder = pathlib.Path(folder)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ValueError(
            f"{folder} already exists and is not an empty folder. Choose a new folder."
        )
    shared = {} if run is None else shared_options(run)
    program = PROGRAM if run is None else run.program
    with replacing(folder, parents=True) as path:
        path.mkdir()
        copy = RunFolder(path, program, {**shared, **(options or {})}, run and run.unused)
        copy.write_options()
        for name, write in _assets(model, vocabulary, tokenizer).items():
            copy.keep(path / name, write)
        write_preset_model(model, path, next_label=shared.get("next_label", 0))
        if tokenizer is not None and is_hugging_face(model):
            write_checkpoint_tokenizer(tokenizer, path)
        known = {} if run is None else run_card(run)
        write_model_card(model, path, folder.name, known, preset=True)


def _assets(model, vocabulary, tokenizer) -> dict[str, Callable]:
    """Returns a dict from the names of text files to the functions that write them."""
    found = {}
    if vocabulary is not None:
        found[VOCABULARY] = vocabulary.write
    if tokenizer is not None:
        found[TOKENIZER] = lambda path: write_tokenizer(tokenizer, path)
    if isinstance(model, Tagger | HMMTagger):
        found[TAGS] = lambda path: write_text(path, _lines(model.tags))
    if isinstance(model, Classifier):
        found[LABELS] = lambda path: write_text(path, _lines(model.labels))
    return found


def _lines(names) -> str:
    return "".join(f"{name}\n" for name in names)
