"""Loads trained biLMs from run folders or files and checks their vocabularies."""

import os
from typing import Any, NamedTuple

import numpy as np

from tfreps.models import BiLM, BiLMPretrainer, Elmo
from tfreps.runs.run_folder import RunFolder


class PretrainedBiLM(NamedTuple):
    """Result of `load_bilm`: a trained biLM and its vocabulary.

    Attributes:
        bilm: `BiLM`. The biLM inside `model`, or a copy of it if another initial state was
            requested.
        model: `BiLMPretrainer`, `Elmo` or `BiLM`. The model in the run folder.
        vocabulary: `tfreps.text.Vocabulary` of the run, or `None` if it has none.
    """

    bilm: Any
    model: Any
    vocabulary: Any


def load_bilm(run: str | os.PathLike, initial_state: str = "zero") -> PretrainedBiLM:
    """Loads a trained biLM and its vocabulary from a run folder.

    Args:
        run: str or path-like. Run folder of a tfreps program.
        initial_state: str. LSTM state at the start of each batch: `"zero"`, `"warm"` (the state
            after one fixed sentence) or `"carry"` (the final state of the previous batch); see
            `BiLM`. Defaults to `"zero"`.

    Returns:
        `PretrainedBiLM`.

    Raises:
        ValueError: If the run folder cannot be read, its model is not a `BiLM`, `BiLMPretrainer` or
            `Elmo`, its vocabulary is that of another model, or `initial_state` is invalid.
    """
    folder = RunFolder.open(run)
    model = folder.load_model()
    if not isinstance(model, BiLM | BiLMPretrainer | Elmo):
        raise ValueError(
            f"{run} contains a {type(model).__name__}; expected a biLM saved by `tfreps "
            "pretrain-elmo`."
        )
    bilm = model.find(BiLM)
    if bilm.initial_state != initial_state:
        bilm = bilm.with_initial_state(initial_state)
    vocabulary = folder.vocabulary() if folder.vocabulary_path.exists() else None
    check_vocabulary(model, vocabulary, folder.path)
    return PretrainedBiLM(bilm, model, vocabulary)


def check_vocabulary(model, vocabulary, source: str | os.PathLike = "The model") -> None:
    """Checks that a vocabulary matches the data that a model stores about its own vocabulary.

    Args:
        model: `BiLM`, `BiLMPretrainer` or `Elmo`.
        vocabulary: `tfreps.text.Vocabulary`. If `None`, nothing is checked.
        source: str or path-like. Name of the model in error messages: its file or folder. Defaults
            to `"The model"`.

    Raises:
        ValueError: If the vocabulary differs from the model's in its size, in the lines of `<S>`
            and `</S>`, or in the spelling of a token (which the character table of a
            `BiLMPretrainer` stores).

    Example:
    >>> from tfreps.models import BiLM
    >>> from tfreps.text import Vocabulary
    >>> bilm = BiLM(units=8, projection_dim=4, vocabulary_size=4)
    >>> check_vocabulary(bilm, Vocabulary(["<S>", "</S>", "<UNK>", "the"]))
    """
    if vocabulary is None:
        return

    bilm = model.find(BiLM)
    pretrainer = model.find(BiLMPretrainer)
    theirs = vocabulary.source
    for part in (bilm, pretrainer):
        size = None if part is None else part.vocabulary_size
        if size not in (None, len(vocabulary)):
            raise ValueError(
                f"{source} has {size} tokens, but {theirs} has {len(vocabulary)}, so it is "
                "the vocabulary of another model. Use the vocabulary that the model was trained "
                "with."
            )
    places = vocabulary.start_id + 1, vocabulary.end_id + 1
    if bilm.vocabulary_size is not None:
        expected = bilm.sentence_start_id, bilm.sentence_end_id
        if places != expected:
            raise ValueError(
                f"{source} has <S> and </S> on lines {expected[0]} and {expected[1]} of its "
                f"vocabulary, but {theirs} has them on lines {places[0]} and {places[1]}, so "
                "it is the vocabulary of another model. Use the vocabulary that the model was "
                "trained with."
            )
    table = None if pretrainer is None else pretrainer.character_table
    if table is None or not np.any(table := table.numpy()):  # none, or not set yet
        return
    other = (table != vocabulary.character_table(table.shape[1])).any(axis=1)
    if other.any():
        line = int(other.argmax()) + 1
        raise ValueError(
            f"{theirs} has {vocabulary.tokens[line - 1]!r} on line {line}, where {source} has a "
            "different token, so it is the vocabulary of another model. Use the vocabulary that "
            "the model was trained with."
        )


def load_published_bilm(
    source: str | os.PathLike,
    weights_file: str | os.PathLike | None = None,
    vocabulary=None,
    initial_state: str = "zero",
):
    """Loads a `BiLM` from files of bilm-tf or AllenNLP.

    Args:
        source: str or path-like. `options.json`, a folder with it and its weights, or a training
            folder of bilm-tf.
        weights_file: str or path-like. HDF5 weights. If `None`, they are expected next to the
            options. Defaults to `None`.
        vocabulary: `tfreps.text.Vocabulary`. Vocabulary of a biLM that reads token ids. If `None`,
            the vocabulary is not checked, and the ids of `<S>` and `</S>` are 1 and 2. Defaults to
            `None`.
        initial_state: str. LSTM state at the start of each batch: `"zero"`, `"warm"` (the state
            after one fixed sentence) or `"carry"` (the final state of the previous batch); see
            `BiLM`. Defaults to `"zero"`.

    Returns:
        `BiLM`.

    Raises:
        ValueError: If a file is missing, damaged or not from bilm-tf or AllenNLP, the vocabulary is
            that of another model, a vocabulary is given for a biLM that reads characters, or
            `initial_state` is invalid.
    """
    ends = {}
    if vocabulary is not None:
        ends["sentence_start_id"] = vocabulary.start_id + 1
        ends["sentence_end_id"] = vocabulary.end_id + 1
    bilm = BiLM.from_pretrained(source, weights_file, initial_state, **ends)
    if vocabulary is not None and bilm.vocabulary_size is None:
        raise ValueError(
            f"`vocabulary` does not apply to {source}, which reads characters; got "
            f"{vocabulary.source}. Omit `vocabulary`."
        )
    check_vocabulary(bilm, vocabulary, weights_file or source)
    return bilm
