"""biLMs and their vocabularies in run folders and published files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tfreps._src.convert.bilm_tf import read_weights
from tfreps._src.convert.bilm_tf_checkpoint import Restored, read_training_folder
from tfreps._src.models.any_bilm import AnyBiLM
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.runs.vocabulary_checks import check_vocabulary, check_word_characters
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_ids import WordCharIndexer


def read_published_bilm(
    files: tuple[Path, Path], vocabulary: Vocabulary | None, initial_state: str = "zero"
) -> BiLM:
    """Reads a `BiLM` from its options file and weights file, and checks its vocabulary.

    `vocabulary` must be `None` for a biLM that reads characters. If it is `None` for a biLM that
    reads token ids, the ids of `<S>` and `</S>` are 1 and 2.
    """
    ends: dict[str, Any] = {} if vocabulary is None else boundary_options(vocabulary)
    bilm = read_weights(*files, initial_state=initial_state, **ends)
    if vocabulary is not None and bilm.vocabulary_size is None:
        raise ValueError(
            f"`vocabulary` does not apply to {files[0]}, which reads characters; got "
            f"{vocabulary.source}. Omit `vocabulary`."
        )
    check_vocabulary(bilm, vocabulary, files[1])
    return bilm


def run_word_characters(run: RunFolder, bilm: ManyLangsBiLM) -> WordCharIndexer:
    """Reads the `WordCharIndexer` of a run folder, and checks that it belongs to the biLM."""
    indexer = run.word_characters()
    check_word_characters(bilm, indexer, run.word_characters_path)
    return indexer


def run_vocabulary(run: RunFolder, model: AnyBiLM | BiLMPretrainer | Elmo) -> Vocabulary | None:
    """Reads the vocabulary of a run folder, and checks that it belongs to the model.

    Returns `None` if the folder has no vocabulary.
    """
    vocabulary = run.vocabulary() if run.vocabulary_path.exists() else None
    check_vocabulary(model, vocabulary, run.path)
    return vocabulary


def continue_training_folder(
    folder: Path,
    vocabulary: Vocabulary,
    bilm_options: Mapping[str, Any] | None = None,
    **pretrainer_options: Any,
) -> Restored:
    """Builds a pretrainer with the weights of a bilm-tf training folder.

    Returns a tuple of the pretrainer and a dict from paths of weights to Adagrad's accumulators.
    """
    changes = {**boundary_options(vocabulary), **(bilm_options or {})}
    restored = read_training_folder(folder, changes, **pretrainer_options)
    check_size(folder, restored.model.vocabulary_size, vocabulary)
    set_vocabulary(restored.model, vocabulary)
    return restored


def set_vocabulary(model: BiLMPretrainer, vocabulary: Vocabulary) -> None:
    """Sets the character table of a model that reads characters; does nothing for other models."""
    if model.character_table is not None:
        model.set_character_table(vocabulary.character_table(model.bilm.max_characters))


def word_options(vocabulary: Vocabulary) -> dict[str, int]:
    """Returns a dict of the options of a `BiLM` that reads the token ids of `vocabulary`."""
    return {"vocabulary_size": len(vocabulary), **boundary_options(vocabulary)}


def boundary_options(vocabulary: Vocabulary) -> dict[str, int]:
    """Returns a dict of the options of a `BiLM` for the token ids of `<S>` and `</S>`.

    These ids are greater by 1 than the ids in the vocabulary, because 0 is padding.
    """
    return {
        "sentence_start_id": vocabulary.start_id + 1,
        "sentence_end_id": vocabulary.end_id + 1,
    }


def check_size(source: Path, size: int, vocabulary: Vocabulary) -> None:
    if size != len(vocabulary):
        raise ValueError(
            f"{source} was trained with a vocabulary of {size} tokens, but {vocabulary.source} has "
            f"{len(vocabulary)} tokens. Use the vocabulary that the model was trained with."
        )
