"""Loads biLMs with their vocabularies, and continues their pre-training."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfreps._src.convert.bilm_files import HDF5
from tfreps._src.convert.bilm_tf import read_weights
from tfreps._src.convert.bilm_tf_checkpoint import Restored, read_training_folder, weights_of
from tfreps._src.models.any_bilm import AnyBiLM
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.optimizers.optimizer_variables import build_optimizer
from tfreps._src.optimizers.tf1_adagrad import TF1Adagrad
from tfreps._src.runs.locate import BILM, RUN, TRAINING_FOLDER, locate
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


def continue_pretraining(
    source: str | os.PathLike[str],
    vocabulary: Vocabulary,
    options_file: str | os.PathLike[str] | None = None,
    bilm_options: Mapping[str, Any] | None = None,
    **pretrainer_options: Any,
) -> Restored:
    """Builds a pretrainer for the tokens of `vocabulary` with the weights of an earlier model.

    Args:
        source: The path, name or address of one of the following:

            - HDF5 weights of bilm-tf or AllenNLP, their options.json, or the folder with both. The
              softmax is newly initialized.
            - A training folder of bilm-tf. The softmax and Adagrad's accumulators are restored.
            - A run folder of tfreps. The softmax is restored if the model is a `BiLMPretrainer` and
              the vocabulary is the same.

        vocabulary: The vocabulary of the new model. It may differ from the vocabulary of the source
            only if the model reads characters and the source is a run folder or HDF5 weights.
        options_file: Path of the options.json that belongs to HDF5 weights. If `None` (the
            default), it is expected in the folder of the weights.
        bilm_options: Options of `BiLM` that replace the options of the source. With HDF5 weights,
            `dropout` defaults to 0.1.
        **pretrainer_options: Options of `BiLMPretrainer`, except `tie_embeddings`, which depends on
            the source.

    Returns:
        Named tuple of the pretrainer, and a dict from paths of weights to Adagrad's accumulators.
        The dict is empty if the source has no accumulators.
    """
    changes = dict(bilm_options or {})
    with locate(source, RUN, *BILM) as found:
        if found.kind is TRAINING_FOLDER:
            return continue_training_folder(found.path, vocabulary, changes, **pretrainer_options)
        if found.kind is RUN:
            run = found.open()
            old = run.load_model()
            is_bilm = isinstance(old, BiLM | BiLMPretrainer | Elmo)
            if not is_bilm or old.find(ManyLangsBiLM) is not None:
                raise ValueError(
                    f"{run.path} contains a {type(old).__name__}; expected a biLM saved by `tfreps "
                    "pretrain-elmo`. Choose another run folder."
                )
            own = run_vocabulary(run, old)
        else:
            if options_file is not None and found.path.suffix in HDF5:
                old = read_weights(options_file, found.path)
            else:
                old = read_weights(*found.open())
            own, changes = None, {"dropout": 0.1, **changes}
        model = _from_bilm(old, own, found.path, vocabulary, changes, pretrainer_options)
    set_vocabulary(model, vocabulary)
    return Restored(model, {})


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
    _check_size(folder, restored.model.vocabulary_size, vocabulary)
    set_vocabulary(restored.model, vocabulary)
    return restored


def restore_accumulators(model: BiLMPretrainer, accumulators: Mapping[str, np.ndarray]) -> None:
    """Assigns accumulators to a compiled model's optimizer if the optimizer is a `TF1Adagrad`.

    `accumulators` maps the paths of weights to arrays.
    """
    # In float16, `LossScaleOptimizer` contains the optimizer.
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    if accumulators and isinstance(optimizer, TF1Adagrad):
        build_optimizer(model)
        named = zip(model.trainable_variables, optimizer._accumulators, strict=True)
        paths = {id(w): path for path, w in weights_of(model).items()}
        for weight, accumulator in named:
            accumulator.assign(accumulators[paths[id(weight)]])


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


def _from_bilm(
    old: BiLM | BiLMPretrainer | Elmo,
    own: Vocabulary | None,
    source: Path,
    vocabulary: Vocabulary,
    changes: Mapping[str, Any],
    pretrainer_options: Mapping[str, Any],
) -> BiLMPretrainer:
    """Returns a new pretrainer for `vocabulary` with the weights of `old`.

    `own` is the vocabulary of `old`, or `None` if it is not known.
    """
    theirs: BiLM = old if isinstance(old, BiLM) else old.bilm
    is_same = own is not None and own.tokens == vocabulary.tokens
    if theirs.vocabulary_size is not None:
        _check_size(source, theirs.vocabulary_size, vocabulary)
        if own is not None and not is_same:
            raise ValueError(
                f"{source} reads token ids of its own vocabulary, and {vocabulary.source} is a "
                "different vocabulary. Use the vocabulary of the earlier run, or train a new model."
            )
        changes = {**changes, **boundary_options(vocabulary)}
    config = {**theirs.get_config(), "initial_state": "zero", **changes}
    bilm = BiLM.from_config({**config, "trainable": True, "frozen": []})
    keeps_softmax = is_same and isinstance(old, BiLMPretrainer)
    tied = keeps_softmax and old.tie_embeddings
    model = BiLMPretrainer(bilm, len(vocabulary), tie_embeddings=tied, **pretrainer_options)
    copy_weights(bilm, theirs, ["token_encoder", "bilstm"])
    if keeps_softmax:  # the number of drawn samples is not copied and restarts at 0
        model.softmax.bias.assign(old.softmax.bias)
        if not tied:
            model.softmax.kernel.assign(old.softmax.kernel)
    return model


def _check_size(source: Path, size: int, vocabulary: Vocabulary) -> None:
    if size != len(vocabulary):
        raise ValueError(
            f"{source} was trained with a vocabulary of {size} tokens, but {vocabulary.source} has "
            f"{len(vocabulary)} tokens. Use the vocabulary that the model was trained with."
        )
